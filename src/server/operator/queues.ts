import type { App } from '../../access/context.ts';
import { listLiveQueues } from '../../events/live-queues.ts';
import { NotFoundError } from '../../platform/errors.ts';

/** Selects the event queues of an organization, or of one of its users. */
interface QueueOwner {
  readonly organizationId: number;
  /** Id of the user whose queues are listed. If absent, the queues of all users of the organization are listed. */
  readonly userId?: number;
}

/** Returns the live event queues of an organization, or of one of its users, in the form in which commands print them. */
export async function shownQueues(app: App, owner: QueueOwner): Promise<object[]> {
  const queues = await listLiveQueues(app, owner);
  return queues.map(({ id, userId, clientName, behind, lastActiveAt, expiresAt }) => ({
    queue_id: id,
    user_id: userId,
    client: clientName,
    behind,
    last_active: lastActiveAt.toISOString(),
    expires: expiresAt.toISOString(),
  }));
}

/**
 * Ends an event queue, as the client of the queue can. The reader of the queue is notified, even if it is connected to another
 * node.
 *
 * @throws NotFoundError if there is no such live queue.
 */
export async function endQueue(app: App, { organizationId }: QueueOwner, queueId: string): Promise<object> {
  const queue = (await listLiveQueues(app, { organizationId })).find(({ id }) => id === queueId);
  if (queue === undefined) throw new NotFoundError(`There is no live queue ${queueId}`);
  const { userId, clientName } = queue;
  await app.queues.delete({ viewer: { id: userId, organization: { id: organizationId }, clientName } }, queueId);
  return { queue_id: queueId, user_id: userId, ended: true };
}

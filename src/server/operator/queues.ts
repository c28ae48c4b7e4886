import type { App } from '../../access/context.ts';
import { listLiveQueues } from '../../events/live-queues.ts';
import { BadRequestError } from '../../platform/errors.ts';

interface Place {
  readonly realmId: number;
  /** If absent, the queues of all users of the organization are listed. */
  readonly userId?: number;
}

/** Returns the live event queues of an organization or user, in the form in which commands print them. */
export async function shownQueues(app: App, place: Place): Promise<object[]> {
  const queues = await listLiveQueues(app, place);
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
 * Ends a queue, in the same way as its owner's client would. The reader of the queue is notified, whatever node it is connected
 * to.
 *
 * @throws BadRequestError if there is no such live queue.
 */
export async function endQueue(app: App, { realmId }: Place, queueId: string): Promise<object> {
  const queue = (await listLiveQueues(app, { realmId })).find(({ id }) => id === queueId);
  if (queue === undefined) throw new BadRequestError(`There is no live queue ${queueId}`);
  const { userId, clientName } = queue;
  await app.queues.delete({ viewer: { id: userId, realm: { id: realmId }, clientName } }, queueId);
  return { queue_id: queueId, user_id: userId, ended: true };
}

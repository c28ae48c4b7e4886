import type { App } from '../../access/context.ts';
import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ChatError, RequestTimeoutError } from '../../platform/errors.ts';
import { lockAttachments } from '../attachments/queries.ts';
import { senderFor } from '../sender.ts';
import { fenceFor } from '../sending/links.ts';
import { notify } from '../sending/notices.ts';
import { emitMessage, prepareMessage, setPoliciesOf } from '../sending/send.ts';
import { scheduledMessageRemoved, scheduledMessageUpdated } from './events.ts';
import { LATENESS_MS } from './lateness.ts';
import { type Claimed, claim, type Due } from './queue.ts';
import { reminderAtDelivery } from './reminder-content.ts';
import { reminderAdded, reminderRemoved } from './reminder-events.ts';
import { destinationOf } from './service.ts';

const TOO_LATE = 'Message could not be sent at the scheduled time.';
const UNEXPECTED = 'Internal server error';

/** A transaction in progress, with the function that adds events to it. */
interface Change {
  readonly tx: Tx;
  readonly emit: Emit;
  readonly app: App;
}

/** State of the delivery queue at the time of one delivery. */
export interface QueueState {
  /** Ids of messages that failed recently and will be retried later. They are skipped and do not block other messages. */
  readonly passedOver: readonly number[];
  /**
   * Start of the current backlog: at every time since then, at least one message was due. A message counts as late only if it
   * was already late at this time. So no message fails because of the backlog.
   */
  readonly busySince: Date;
}

/**
 * Delivers due messages of one owner in order, or marks them as failed. Claims and sends them in one transaction, so each
 * message is sent once or not at all, even if the node is killed.
 *
 * @returns Number of messages delivered or marked as failed. The remaining messages are locked by another node, are no longer
 *   scheduled, or wait for an earlier message of the owner.
 * @throws RequestTimeoutError if the database is unavailable. All messages remain scheduled.
 */
export async function deliverInOrder(app: App, due: readonly Due[], queueState: QueueState): Promise<number> {
  const [first] = due;
  if (first === undefined) return 0;
  return transact({ work: app.work, organizationId: first.organizationId }, async (tx, emit) => {
    const taken: number[] = [];
    for (const one of due) {
      const claimed = await claim(tx, app, one, [...queueState.passedOver, ...taken]);
      if (claimed === undefined) break;
      await deliver({ tx, emit, app }, claimed, queueState);
      taken.push(one.id);
    }
    return taken.length;
  });
}

/**
 * Marks a message as failed after an unexpected error, and notifies the owner. If the notification cannot be sent, it is
 * omitted.
 *
 * @throws RequestTimeoutError if the database is unavailable.
 */
export async function giveUp(app: App, due: Due, passedOver: readonly number[]): Promise<void> {
  const attempt = (notice: boolean) =>
    transact({ work: app.work, organizationId: due.organizationId }, async (tx, emit) => {
      const claimed = await claim(tx, app, due, passedOver);
      if (claimed !== undefined) await fail({ tx, emit, app }, claimed, UNEXPECTED, { notice });
    });
  try {
    await attempt(true);
  } catch (error) {
    if (error instanceof RequestTimeoutError) throw error;
    await attempt(false);
  }
}

async function deliver(change: Change, claimed: Claimed, { busySince }: QueueState): Promise<void> {
  const { row, owner, organization, now } = claimed;
  const isReminder = row.kind === 'reminder';
  if (organization.deactivatedAt !== null || !owner.isActive) {
    // The owner is not notified, because the owner or the organization is deactivated.
    const { message } =
      organization.deactivatedAt === null ? new UserDeactivatedError() : new OrganizationDeactivatedError();
    await markFailed(change.tx, row, message);
    return;
  }
  const couldBeSentAt = Math.min(now.getTime(), busySince.getTime());
  if (!isReminder && couldBeSentAt - row.scheduledAt.getTime() > LATENESS_MS) {
    return fail(change, claimed, TOO_LATE, { notice: true });
  }
  try {
    await (isReminder ? remind(change, claimed) : send(change, claimed));
  } catch (error) {
    // An error that refuses the message is thrown before any write, so the transaction can continue after it.
    if (!isRefusal(error)) throw error;
    await fail(change, claimed, error.message, { notice: true });
  }
}

const isRefusal = (error: unknown): error is ChatError =>
  error instanceof ChatError && !(error instanceof RequestTimeoutError);

/** Sends a message as if its owner sent it now: with the owner's current permissions, and with current names and mentions. */
async function send({ tx, emit, app }: Change, { row, owner, organization }: Claimed): Promise<void> {
  const { topic, content, readBySender } = row;
  const sender = senderFor(organization, owner, row.clientName);
  const prepared = await prepareMessage(tx, app, sender, { to: destinationOf(row), topic, content, readBySender });
  await lockAttachments(tx, organization.id, prepared.content.attachmentIds);
  emitMessage(emit, prepared, (messageId) => markDelivered(tx, row, messageId));
  await setPoliciesOf(tx, emit, prepared);
  emit(scheduledMessageRemoved(row.id), users([owner.id]));
}

async function remind({ tx, emit, app }: Change, { row, owner, organization }: Claimed): Promise<void> {
  const content = await reminderAtDelivery(tx, app, row, { owner, organization });
  const to = { userIds: [owner.id] };
  await notify(tx, emit, { app, organization }, to, content, (messageId) => markDelivered(tx, row, messageId));
  emit(reminderRemoved(row.id), users([owner.id]));
}

/**
 * Marks a message as delivered. Uses raw SQL for speed, because other senders in the organization wait until this statement
 * ends.
 */
const markDelivered = (tx: Tx, { organizationId, id }: ScheduledMessage, messageId: number) =>
  tx.$executeRaw`
    UPDATE scheduled_message SET state = 'delivered', delivered_message_id = ${messageId} WHERE realm_id = ${organizationId} AND id = ${id}`;

const markFailed = (tx: Tx, { organizationId, id }: ScheduledMessage, failureMessage: string) =>
  tx.scheduledMessage.update({
    where: { organizationId_id: { organizationId, id } },
    data: { state: 'failed', failureMessage },
  });

async function fail(
  { tx, emit, app }: Change,
  { row, owner, organization }: Claimed,
  reason: string,
  { notice }: { readonly notice: boolean },
): Promise<void> {
  const failed = await markFailed(tx, row, reason);
  const audience = users([owner.id]);
  if (row.kind === 'reminder') {
    // There is no update event for reminders. Instead, clients receive the removal of the reminder, and then the failed
    // reminder as a new one.
    emit(reminderRemoved(row.id), audience);
    emit(reminderAdded(failed), audience);
  } else emit(scheduledMessageUpdated(failed, organization), audience);
  if (!notice) return;
  try {
    await notify(tx, emit, { app, organization }, { userIds: [owner.id] }, noticeOf(row, reason));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    app.log.warn({ err: error, scheduledMessage: row.id }, 'failure notice for scheduled message could not be sent');
  }
}

function noticeOf({ kind, scheduledAt }: ScheduledMessage, reason: string): string {
  const time = `<time:${scheduledAt.toISOString()}>`;
  const fence = fenceFor(reason);
  const [what, list] =
    kind === 'reminder'
      ? [`The reminder you asked for at ${time} could not be delivered`, '[Your reminders](#reminders)']
      : [`The message you scheduled for ${time} could not be sent`, '[Your scheduled messages](#scheduled)'];
  return [`${what}:`, `${fence}quote`, reason, fence, list].join('\n');
}

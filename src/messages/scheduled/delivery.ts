import type { App } from '../../access/context.ts';
import { RealmDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ChatError, RequestTimeoutError } from '../../platform/errors.ts';
import { senderFor } from '../sender.ts';
import { fenceFor } from '../sending/links.ts';
import { notify } from '../sending/notices.ts';
import { emitMessage, prepareMessage } from '../sending/send.ts';
import { setAutomaticPolicy } from '../topic-policies/service.ts';
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
export interface Turn {
  /** Ids of messages that failed recently and will be retried later. They are skipped and do not block other messages. */
  readonly passedOver: readonly number[];
  /**
   * Start of the current period in which at least one message was always due. A message that was not too late at this time is
   * not too late because of the backlog.
   */
  readonly busySince: Date;
}

/**
 * Delivers due messages of one owner in order, or marks them as failed. Claims and sends them in one transaction, so each
 * message is sent once or not at all, even if the node is killed.
 *
 * @returns Number of messages delivered or marked as failed. The remaining ones are claimed by another node, or wait for an
 * earlier message of the owner.
 * @throws RequestTimeoutError if the database is unavailable. All messages remain scheduled.
 */
export async function deliverInOrder(app: App, due: readonly Due[], turn: Turn): Promise<number> {
  const [first] = due;
  if (first === undefined) return 0;
  return transact({ app, realmId: first.realmId }, async (tx, emit) => {
    const taken: number[] = [];
    for (const { id } of due) {
      const claimed = await claim(tx, app, id, [...turn.passedOver, ...taken]);
      if (claimed === undefined) break;
      await deliver({ tx, emit, app }, claimed, turn);
      taken.push(id);
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
export async function giveUp(app: App, { id, realmId }: Due, passedOver: readonly number[]): Promise<void> {
  const attempt = (notice: boolean) =>
    transact({ app, realmId }, async (tx, emit) => {
      const claimed = await claim(tx, app, id, passedOver);
      if (claimed !== undefined) await fail({ tx, emit, app }, claimed, UNEXPECTED, { notice });
    });
  try {
    await attempt(true);
  } catch (error) {
    if (error instanceof RequestTimeoutError) throw error;
    await attempt(false);
  }
}

async function deliver(change: Change, claimed: Claimed, { busySince }: Turn): Promise<void> {
  const { row, owner, realm, now } = claimed;
  const isReminder = row.kind === 'reminder';
  if (realm.deactivatedAt !== null || !owner.isActive) {
    // The owner is not notified, because the owner or the organization is deactivated.
    const { message } = realm.deactivatedAt === null ? new UserDeactivatedError() : new RealmDeactivatedError();
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
    // Errors that refuse the message are thrown before any write, so the transaction can continue.
    if (!isRefusal(error)) throw error;
    await fail(change, claimed, error.message, { notice: true });
  }
}

const isRefusal = (error: unknown): error is ChatError =>
  error instanceof ChatError && !(error instanceof RequestTimeoutError);

/** Sends a message as if its owner sent it now: with the owner's current permissions, and with current names and mentions. */
async function send({ tx, emit, app }: Change, { row, owner, realm }: Claimed): Promise<void> {
  const { topic, content, readBySender } = row;
  const sender = senderFor(realm, owner, row.clientName);
  const prepared = await prepareMessage(tx, app, sender, { to: destinationOf(row), topic, content, readBySender });
  const { newPolicy: policy, target, sentAt } = prepared;
  emitMessage(emit, prepared, (messageId) => markDelivered(tx, row, messageId));
  if (policy !== undefined && target !== null) {
    const place = { realm, userId: owner.id, now: sentAt };
    await setAutomaticPolicy(tx, emit, place, { channelId: target.channel.id, topic: target.topic, policy });
  }
  emit(scheduledMessageRemoved(row.id), users([owner.id]));
}

async function remind({ tx, emit, app }: Change, { row, owner, realm }: Claimed): Promise<void> {
  const content = await reminderAtDelivery(tx, app, row, { owner, realm });
  const to = { userIds: [owner.id] };
  await notify(tx, emit, { app, realm }, to, content, (messageId) => markDelivered(tx, row, messageId));
  emit(reminderRemoved(row.id), users([owner.id]));
}

/** Marks a message as delivered. Uses raw SQL for speed, because all senders in the organization wait for this statement. */
const markDelivered = (tx: Tx, { realmId, id }: ScheduledMessage, messageId: number) =>
  tx.$executeRaw`
    UPDATE scheduled_message SET state = 'delivered', delivered_message_id = ${messageId} WHERE realm_id = ${realmId} AND id = ${id}`;

const markFailed = (tx: Tx, { realmId, id }: ScheduledMessage, failureMessage: string) =>
  tx.scheduledMessage.update({ where: { realmId_id: { realmId, id } }, data: { state: 'failed', failureMessage } });

async function fail(
  { tx, emit, app }: Change,
  { row, owner, realm }: Claimed,
  reason: string,
  { notice }: { readonly notice: boolean },
): Promise<void> {
  const failed = await markFailed(tx, row, reason);
  const audience = users([owner.id]);
  if (row.kind === 'reminder') {
    // There is no update event for reminders: clients remove the old one and add the failed one.
    emit(reminderRemoved(row.id), audience);
    emit(reminderAdded(failed), audience);
  } else emit(scheduledMessageUpdated(failed, realm), audience);
  if (!notice) return;
  try {
    await notify(tx, emit, { app, realm }, { userIds: [owner.id] }, noticeOf(row, reason));
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

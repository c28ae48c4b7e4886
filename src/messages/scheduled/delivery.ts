import type { App } from '../../access/context.ts';
import { RealmDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ChatError, RequestTimeoutError } from '../../platform/errors.ts';
import { reminderAtDelivery } from '../reminders/content.ts';
import { reminderAdded, reminderRemoved } from '../reminders/events.ts';
import { fenceFor } from '../sending/links.ts';
import { notify } from '../sending/notices.ts';
import { emitMessage, prepareMessage } from '../sending/send.ts';
import { senderFor } from '../sending/sender.ts';
import { setAutomaticPolicy } from '../topic-policies/service.ts';
import { scheduledMessageRemoved, scheduledMessageUpdated } from './events.ts';
import { LATENESS_MS } from './lateness.ts';
import { type Claimed, claim, type Due } from './queue.ts';
import { destinationOf } from './service.ts';

const TOO_LATE = 'Message could not be sent at the scheduled time.';
const UNEXPECTED = 'Internal server error';

/** A change under way. */
interface Change {
  readonly tx: Tx;
  readonly emit: Emit;
  readonly app: App;
}

/** When what is due is delivered. */
export interface Turn {
  /** Ids of what is to wait, and holds up nothing. */
  readonly passedOver: readonly number[];
  /** Since when there has always been something due. What was in time then is not late because its turn comes later. */
  readonly busySince: Date;
}

/**
 * Delivers what is due of one owner, in its order, or notes why it cannot be: in the one change that claims it, so that
 * each is sent once or not at all, whoever dies when.
 *
 * @returns How many; those after them are in somebody else's hands, or have to wait for an earlier one of the owner's.
 * @throws RequestTimeoutError when the database could not take it; all are still to be delivered.
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
 * Notes that a delivery failed in a way nobody expected. The owner is told; when telling is what fails, that is left out.
 *
 * @throws RequestTimeoutError when the database could not take it.
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
    // There is nobody to tell.
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
    // A refusal comes before anything is written, so that the change can go on.
    if (!isRefusal(error)) throw error;
    await fail(change, claimed, error.message, { notice: true });
  }
}

const isRefusal = (error: unknown): error is ChatError =>
  error instanceof ChatError && !(error instanceof RequestTimeoutError);

/** Sends a message as its owner would now: with the rights, names and mentions of this moment. */
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

/** Raw, because everybody who sends to the organisation waits for it. */
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
    // Reminders have no event of a change: clients drop the one they have, and take the one that failed.
    emit(reminderRemoved(row.id), audience);
    emit(reminderAdded(failed), audience);
  } else emit(scheduledMessageUpdated(failed, realm), audience);
  if (!notice) return;
  try {
    await notify(tx, emit, { app, realm }, { userIds: [owner.id] }, noticeOf(row, reason));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    app.log.warn({ err: error, scheduledMessage: row.id }, 'nobody could be told that a message was not sent');
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

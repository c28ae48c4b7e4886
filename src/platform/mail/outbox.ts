import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Db, Tx } from '../db/client.ts';

// The table is the queue. Any number of nodes read it; who has put off a row's next attempt makes this one.

/** What sending mail needs of a running service. */
export interface MailContext {
  readonly config: Config;
  readonly db: Db;
  readonly log: Logger;
  /** The time. */
  now(): Date;
}

/** A plain-text mail to one person. */
export interface Mail {
  readonly realmId: number;
  /** The address alone, as `requireAddress` takes it. */
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

/** A mail that this node is to send. */
export interface ClaimedMail {
  readonly id: bigint;
  readonly realmId: number;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly createdAt: Date;
  /** This one included. */
  readonly attempts: number;
}

/** What would end one header and begin another, or make one address two. */
const UNSAFE_IN_ADDRESS = /[\p{Cc}\s<>,;:()[\]\\"]/u;

/** A text as it may stand in a sentence of a mail: a name with line breaks would write lines of its own. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/**
 * Queues a mail in the change's own transaction: it is sent when the change is committed, and never when it is not.
 *
 * @throws Error when `to` is no address; it is for the caller to know.
 */
export async function queueMail(tx: Tx, { realmId, to, subject, body }: Mail): Promise<void> {
  if (UNSAFE_IN_ADDRESS.test(to) || !to.includes('@')) throw new Error('A mail goes to one address');
  const line = oneLine(subject);
  await tx.$executeRaw`
    INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at)
    VALUES (${realmId}, ${to}, ${line.toWellFormed()}, ${body.replaceAll('\0', '').toWellFormed()}, CURRENT_TIMESTAMP)`;
}

/**
 * Our choice: after so long a mail that a node took and never came back to is another's. Longer than an attempt may take,
 * so that no two are made at once.
 */
const LEASE_MS = 300_000;
/** Our choices, as mail servers have them: soon at first, then twice as long each time, for some days. */
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * 3_600_000;
const GIVE_UP_MS = 4 * 86_400_000;
/** Our choice: long enough to answer who was sent what. */
const KEPT_MS = 30 * 86_400_000;

/** Takes the mail that is due for longest, and that no other node has in hand. */
export async function claimMail({ db, now }: MailContext): Promise<ClaimedMail | undefined> {
  const time = now();
  const [mail] = await db.$queryRaw<ClaimedMail[]>`
    UPDATE outgoing_mail SET attempts = attempts + 1, next_attempt_at = ${new Date(time.getTime() + LEASE_MS)}
    WHERE (realm_id, id) = (SELECT realm_id, id FROM outgoing_mail WHERE next_attempt_at <= ${time}
                ORDER BY next_attempt_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, realm_id AS "realmId", recipient, subject, body, created_at AS "createdAt", attempts`;
  return mail;
}

/** Whether a mail waits to be sent. */
export async function isMailDue({ db, now }: MailContext): Promise<boolean> {
  return (await db.outgoingMail.findFirst({ where: { nextAttemptAt: { lte: now() } }, select: { id: true } })) !== null;
}

/** Notes that the mail server has taken a mail. */
export async function noteSent({ db, now }: MailContext, { id, realmId }: ClaimedMail): Promise<void> {
  await db.outgoingMail.update({
    where: { realmId_id: { realmId, id } },
    data: { sentAt: now(), nextAttemptAt: null, lastError: null },
  });
}

/**
 * Notes that a mail could not be sent.
 *
 * @param isFinal Whether the mail server will not take it at any time.
 * @returns When it is tried again; null when it is given up.
 */
export async function noteFailure(
  { db, now }: MailContext,
  { id, realmId, attempts, createdAt }: ClaimedMail,
  { reason, isFinal }: { reason: string; isFinal: boolean },
): Promise<Date | null> {
  const time = now().getTime();
  const wait = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
  const isOver = isFinal || time + wait > createdAt.getTime() + GIVE_UP_MS;
  const nextAttemptAt = isOver ? null : new Date(time + wait);
  const lastError = reason.replaceAll('\0', '').toWellFormed();
  // Not when another node has taken it in the meantime.
  await db.outgoingMail.updateMany({
    where: { realmId, id, attempts, sentAt: null },
    data: { nextAttemptAt, lastError },
  });
  return nextAttemptAt;
}

/** Forgets mail that was sent, or given up, some weeks ago. */
export async function purgeMail({ db, now }: MailContext): Promise<void> {
  const limit = new Date(now().getTime() - KEPT_MS);
  await db.$executeRaw`
    DELETE FROM outgoing_mail WHERE next_attempt_at IS NULL AND COALESCE(sent_at, created_at) < ${limit}`;
}

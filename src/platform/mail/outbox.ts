import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Db, Tx } from '../db/client.ts';

// The table `outgoing_mail` is the queue, which any number of nodes read. A node claims an email by postponing the email's next
// attempt, and then makes the current attempt.

/** Parts of a running service that are needed to send emails. */
export interface MailContext {
  readonly config: Config;
  readonly db: Db;
  readonly log: Logger;
  /** Returns the current time. */
  now(): Date;
}

/** A plain-text email to one person. */
export interface Mail {
  readonly organizationId: number;
  /** The email address without a name, in a form that `requireAddress` accepts. */
  readonly to: string;
  readonly subject: string;
  readonly body: string;
  /** User whose name is in the text, if the user's address is not. The erasure of the user deletes the email. */
  readonly namedUserId?: number | undefined;
}

/** An email that this node has claimed for sending. */
export interface ClaimedMail {
  readonly id: bigint;
  readonly organizationId: number;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly createdAt: Date;
  /** Number of attempts to send the email, including the current attempt. */
  readonly attempts: number;
}

/** Maximum length of a stored error message of a mail server, in UTF-16 code units. Longer messages are cut. */
const MAX_ERROR_LENGTH = 10_000;

/** Characters that would end a mail header and begin another, or turn one email address into two. */
const UNSAFE_IN_ADDRESS = /[\p{Cc}\s<>,;:()[\]\\"]/u;

/**
 * Replaces line breaks and control characters by spaces. A name with line breaks could otherwise add lines to an email.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/**
 * Queues an email inside a transaction. The email is sent only if the transaction is committed.
 *
 * @throws Error if `to` is not an email address. Callers must check this before.
 */
export async function queueMail(tx: Tx, { organizationId, to, subject, body, namedUserId }: Mail): Promise<void> {
  if (UNSAFE_IN_ADDRESS.test(to) || !to.includes('@')) throw new Error('An email must have exactly one valid address');
  const line = oneLine(subject);
  await tx.$executeRaw`
    INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, named_user_id)
    VALUES (${organizationId}, ${to}, ${line.toWellFormed()}, ${body.replaceAll('\0', '').toWellFormed()}, CURRENT_TIMESTAMP,
      ${namedUserId ?? null}::int)`;
}

/**
 * Lease of a claimed email, in milliseconds. If the node that claimed it stores no result in this time, another node can claim
 * the email. Longer than an attempt, so that two attempts never overlap.
 */
const LEASE_MS = 300_000;
/**
 * Delay before the second attempt to send an email, in milliseconds. This and the later delays are similar to those of mail
 * servers.
 */
const FIRST_RETRY_MS = 60_000;
/**
 * Maximum delay before an email is sent again, in milliseconds. Each delay is twice as long as the previous delay, up to this.
 */
const LONGEST_RETRY_MS = 6 * 3_600_000;
/** Age of an email, in milliseconds, after which no further attempt is made to send the email. */
const GIVE_UP_MS = 4 * 86_400_000;
/**
 * Time, in milliseconds, after which an email that was sent, or that will not be sent, is deleted. Until then, the operator can
 * look it up.
 */
const KEPT_MS = 30 * 86_400_000;

/**
 * Claims the email that has been due the longest and that no other node has claimed. Undefined if there is none. Ignores
 * organizations that are in another database.
 */
export async function claimMail({ db, now }: MailContext): Promise<ClaimedMail | undefined> {
  const time = now();
  const [mail] = await db.$queryRaw<ClaimedMail[]>`
    UPDATE outgoing_mail SET attempts = attempts + 1, next_attempt_at = ${new Date(time.getTime() + LEASE_MS)}
    WHERE (realm_id, id) = (SELECT m.realm_id, m.id FROM outgoing_mail m WHERE m.next_attempt_at <= ${time}
                AND EXISTS (SELECT FROM realm r WHERE r.id = m.realm_id)
                ORDER BY m.next_attempt_at, m.id LIMIT 1 FOR UPDATE OF m SKIP LOCKED)
    RETURNING id, realm_id AS "organizationId", recipient, subject, body, created_at AS "createdAt", attempts`;
  return mail;
}

/** Returns whether any queued email is due to be sent. */
export async function isMailDue({ db, now }: MailContext): Promise<boolean> {
  return (await db.outgoingMail.findFirst({ where: { nextAttemptAt: { lte: now() } }, select: { id: true } })) !== null;
}

/** Returns whether the organization of an email is in this database. It can have moved to another one. */
export async function isHere({ db }: MailContext, { organizationId }: ClaimedMail): Promise<boolean> {
  return (await db.organization.findUnique({ where: { id: organizationId }, select: { id: true } })) !== null;
}

/** Records that the mail server accepted an email. */
export async function noteSent({ db, now }: MailContext, { id, organizationId }: ClaimedMail): Promise<void> {
  // Changes nothing if the email was erased meanwhile.
  await db.outgoingMail.updateMany({
    where: { organizationId, id },
    data: { sentAt: now(), nextAttemptAt: null, lastError: null },
  });
}

/**
 * Records that an email could not be sent.
 *
 * @param isFinal Whether the mail server will never accept the email.
 * @returns Time of the next attempt. Null if there is none.
 */
export async function noteFailure(
  { db, now }: MailContext,
  { id, organizationId, attempts, createdAt }: ClaimedMail,
  { reason, isFinal }: { reason: string; isFinal: boolean },
): Promise<Date | null> {
  const time = now().getTime();
  const wait = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
  const isOver = isFinal || time + wait > createdAt.getTime() + GIVE_UP_MS;
  const nextAttemptAt = isOver ? null : new Date(time + wait);
  const lastError = reason.slice(0, MAX_ERROR_LENGTH).replaceAll('\0', '').toWellFormed();
  // Changes nothing if another node has claimed the email meanwhile.
  await db.outgoingMail.updateMany({
    where: { organizationId, id, attempts, sentAt: null },
    data: { nextAttemptAt, lastError },
  });
  return nextAttemptAt;
}

/**
 * Deletes emails that were sent more than 30 days ago. Also deletes emails that were created more than 30 days ago and have no
 * next attempt.
 */
export async function purgeMail({ db, now }: MailContext): Promise<void> {
  const limit = new Date(now().getTime() - KEPT_MS);
  await db.$executeRaw`
    DELETE FROM outgoing_mail WHERE next_attempt_at IS NULL AND COALESCE(sent_at, created_at) < ${limit}`;
}

/** Deletes all emails, sent or not, that were queued with a user as `namedUserId`. */
export async function eraseMailNaming(
  tx: Tx,
  { organizationId, id }: { organizationId: number; id: number },
): Promise<void> {
  await tx.outgoingMail.deleteMany({ where: { organizationId, namedUserId: id } });
}

/** Deletes all emails, sent or not, whose recipient, subject or text contains one of the email addresses. */
export async function eraseMail(tx: Tx, organizationId: number, addresses: readonly string[]): Promise<void> {
  const needles = addresses.map((address) => address.toLowerCase());
  const found = await tx.$queryRaw<{ id: bigint; recipient: string; subject: string; body: string }[]>`
    SELECT id, recipient, subject, body FROM outgoing_mail WHERE realm_id = ${organizationId} AND EXISTS (
      SELECT FROM unnest(${needles}::text[]) AS needle WHERE strpos(lower(concat_ws(' ', recipient, subject, body)), needle) > 0)`;
  const ids = found
    .filter(({ recipient, subject, body }) => needles.some((one) => mentions(`${recipient}\n${subject}\n${body}`, one)))
    .map(({ id }) => id);
  await tx.outgoingMail.deleteMany({ where: { organizationId, id: { in: ids } } });
}

/**
 * Characters that can belong to an email address. If one precedes or follows a match, the match is only a part of a longer
 * address.
 */
const BEFORE = /[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]$/u;
const AFTER = /^(?:[\p{L}\p{N}-]|\.[\p{L}\p{N}])/u;

/**
 * Returns whether a text contains the whole email address, not only as a part of a longer address. @param address In lower
 * case.
 */
export function mentions(text: string, address: string): boolean {
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(address); at >= 0; at = lower.indexOf(address, at + 1)) {
    const before = lower.slice(Math.max(0, at - 2), at);
    const after = lower.slice(at + address.length, at + address.length + 3);
    if (!BEFORE.test(before) && !AFTER.test(after)) return true;
  }
  return false;
}

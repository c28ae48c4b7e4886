import type { Logger } from 'pino';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Config } from '../config.ts';
import type { Db, RunSql, Tx } from '../db/client.ts';
import { listOf } from '../db/lists.ts';

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
  /** User other than the recipient whose name is in the text. If the user is erased, the email is deleted. */
  readonly namedUserId?: number | undefined;
  /**
   * URL to which a POST request unsubscribes the recipient from emails of this kind. Such emails contain messages, so their
   * text is erased once they were sent.
   *
   * @see RFC 8058
   */
  readonly unsubscribeUrl?: string | undefined;
  /** Ids of the messages that the text contains, at most 500. The text is written again from them when the email is sent. */
  readonly missedMessageIds?: readonly bigint[];
}

/** A digest that is to be sent. Its text is written when it is sent. */
export interface QueuedDigest {
  readonly organizationId: number;
  readonly to: string;
  /** Beginning of its period, which ends at `dueAt`. */
  readonly since: Date;
  /** Time at which the digest is to be sent. It is also the date of the email. */
  readonly dueAt: Date;
}

/** An email that this node has claimed for sending. */
export interface ClaimedMail {
  readonly id: bigint;
  readonly organizationId: number;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly unsubscribeUrl: string | null;
  readonly missedMessageIds: readonly bigint[];
  /** Beginning of the period of a digest, which ends at `createdAt`. Null for other emails. */
  readonly digestSince: Date | null;
  readonly createdAt: Date;
  /** Number of attempts to send the email, including the current attempt. */
  readonly attempts: number;
}

/** The parts of an email that are written when it is sent. */
export type MailText = Pick<ClaimedMail, 'subject' | 'body' | 'unsubscribeUrl'>;

/** End of the domains to which no email can be sent. @see RFC 2606 2 */
export const UNREACHABLE = '.invalid';

/**
 * Replaces the token of each link in a text. The tokens have 43 characters (`newLinkToken`), and end the link. They are secrets,
 * so they are kept only until the email is sent.
 */
const WITHOUT_TOKENS = Prisma.sql`
  regexp_replace(body, '(http[^[:space:]]*[/=])[A-Za-z0-9_-]{43}([^A-Za-z0-9_-]|$)', '\\1…\\2', 'g')`;

/**
 * SQL expression for the text that is kept of a sent email: without the tokens of its links, or empty for emails with messages.
 */
const KEPT_BODY = Prisma.sql`CASE WHEN unsubscribe_url IS NULL THEN ${WITHOUT_TOKENS} ELSE '' END`;

/** Maximum length of a stored error message of a mail server, in UTF-16 code units. Longer messages are cut. */
const MAX_ERROR_LENGTH = 10_000;

/** Matches characters that would end a mail header and begin another, or turn one email address into two. */
const UNSAFE_IN_ADDRESS = /[\p{Cc}\s<>,;:()[\]\\"]/u;

/**
 * Replaces line breaks and control characters by spaces. A name with line breaks could otherwise add lines to an email.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/** Returns a text without line breaks in its subject, and without characters that cannot be stored. */
export const sendable = <T extends Pick<MailText, 'subject' | 'body'>>(text: T): T => ({
  ...text,
  subject: oneLine(text.subject).toWellFormed(),
  body: text.body.replaceAll('\0', '').toWellFormed(),
});

/** Returns whether an email can be addressed to a text: whether it is exactly one email address, without a name. */
export const isMailAddress = (to: string): boolean => !UNSAFE_IN_ADDRESS.test(to) && to.includes('@');

/**
 * Queues an email inside a transaction. The email is sent only if the transaction is committed. Does nothing for addresses that
 * the service has created for people whose address it could not confirm.
 *
 * @throws Error if `to` is not an email address. Callers must check this before.
 */
export async function queueMail(
  tx: Tx,
  { organizationId, to, subject, body, namedUserId, unsubscribeUrl, missedMessageIds = [] }: Mail,
): Promise<void> {
  if (!isReachable(to)) return;
  const text = sendable({ subject, body });
  await tx.$executeRaw`
    INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, named_user_id, unsubscribe_url,
      missed_message_ids)
    VALUES (${organizationId}, ${to}, ${text.subject}, ${text.body}, CURRENT_TIMESTAMP, ${namedUserId ?? null}::int,
      ${unsubscribeUrl ?? null}::text, ${listOf('bigint', missedMessageIds)})`;
}

/**
 * Queues a digest inside a transaction, like `queueMail`. Nodes of version 0.2.0 do not send it: they would not check whether its
 * recipient still gets digests.
 */
export async function queueDigest(tx: Tx, { organizationId, to, since, dueAt }: QueuedDigest): Promise<void> {
  if (!isReachable(to)) return;
  await tx.$executeRaw`
    INSERT INTO outgoing_mail (realm_id, recipient, subject, body, created_at, digest_since, next_digest_attempt_at)
    VALUES (${organizationId}, ${to}, 'Weekly digest', '', ${dueAt}, ${since}, ${dueAt})`;
}

/**
 * Returns whether an address is not one that the service has created for a person whose address it could not confirm.
 *
 * @throws Error if the text is not exactly one email address.
 */
function isReachable(to: string): boolean {
  if (!isMailAddress(to)) throw new Error('An email must have exactly one valid address');
  return !to.toLowerCase().endsWith(UNREACHABLE);
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
 * Claims the email that has been due the longest and that no other node has claimed. Undefined if there is none. Emails about
 * missed messages follow others, so that they do not delay them, such as links to reset a password. Digests come last. Skips
 * emails of organizations that have moved to another database, or are about to (`isSendingMail`).
 */
export async function claimMail({ db, now }: MailContext): Promise<ClaimedMail | undefined> {
  const time = now();
  const leaseEnd = new Date(time.getTime() + LEASE_MS);
  // Each condition on `unsubscribe_url` or the column is that of a partial index, which has the due emails in this order.
  const first = (column: Prisma.Sql, condition: Prisma.Sql) => Prisma.sql`
    SELECT m.realm_id, m.id FROM outgoing_mail m WHERE ${column} <= ${time} AND ${condition}
      AND EXISTS (SELECT FROM realm r WHERE r.id = m.realm_id OFFSET 0)
      AND NOT EXISTS (SELECT FROM realm_move v WHERE v.realm_id = m.realm_id AND v.records_changes OFFSET 0)
    ORDER BY ${column}, m.id LIMIT 1 FOR UPDATE OF m SKIP LOCKED`;
  const next = Prisma.sql`m.next_attempt_at`;
  const nextDigest = Prisma.sql`m.next_digest_attempt_at`;
  const noOther = Prisma.sql`NOT EXISTS (SELECT FROM other)`;
  const [mail] = await db.$queryRaw<ClaimedMail[]>`
    WITH other AS MATERIALIZED (${first(next, Prisma.sql`m.unsubscribe_url IS NULL`)}),
      missed AS MATERIALIZED (${first(next, Prisma.sql`m.unsubscribe_url IS NOT NULL AND ${noOther}`)}),
      digest AS MATERIALIZED (${first(nextDigest, Prisma.sql`${noOther} AND NOT EXISTS (SELECT FROM missed)`)})
    UPDATE outgoing_mail c SET attempts = c.attempts + 1, last_error = NULL,
      next_attempt_at = CASE WHEN c.next_digest_attempt_at IS NULL THEN ${leaseEnd}::timestamptz END,
      next_digest_attempt_at = CASE WHEN c.next_digest_attempt_at IS NOT NULL THEN ${leaseEnd}::timestamptz END
    FROM (SELECT realm_id, id FROM other UNION ALL SELECT realm_id, id FROM missed
      UNION ALL SELECT realm_id, id FROM digest) AS due
    WHERE c.realm_id = due.realm_id AND c.id = due.id
    RETURNING c.id, c.realm_id AS "organizationId", c.recipient, c.subject, c.body, c.unsubscribe_url AS "unsubscribeUrl",
      c.missed_message_ids AS "missedMessageIds", c.digest_since AS "digestSince", c.created_at AS "createdAt", c.attempts`;
  return mail;
}

/**
 * Returns whether an email of an organization is being sent: it was claimed, and has no result yet. Organizations that are being
 * compared for a move claim no further emails, so that none is sent by both databases.
 */
export async function isSendingMail(run: RunSql, organizationId: number): Promise<boolean> {
  const [row] = await run<{ isSending: boolean }>(
    `SELECT EXISTS (SELECT FROM outgoing_mail WHERE realm_id = $1::int AND attempts > 0 AND sent_at IS NULL
       AND COALESCE(next_digest_attempt_at, next_attempt_at) > now() AND last_error IS NULL) AS "isSending"`,
    [organizationId],
  );
  return row?.isSending === true;
}

/** Returns whether any queued email is due to be sent. */
export async function isMailDue({ db, now }: MailContext): Promise<boolean> {
  const due = { lte: now() };
  const where = { OR: [{ nextAttemptAt: due }, { nextDigestAttemptAt: due }] };
  return (await db.outgoingMail.findFirst({ where, select: { id: true } })) !== null;
}

/** Returns whether the organization of an email is in this database. It can have moved to another one. */
export async function isHere({ db }: MailContext, { organizationId }: ClaimedMail): Promise<boolean> {
  return (await db.organization.findUnique({ where: { id: organizationId }, select: { id: true } })) !== null;
}

/** Deletes a claimed email that is no longer needed. Does nothing if another node has claimed the email meanwhile. */
export async function dropMail({ db }: MailContext, { id, organizationId, attempts }: ClaimedMail): Promise<void> {
  await db.outgoingMail.deleteMany({ where: { organizationId, id, attempts, sentAt: null } });
}

/** Records that the mail server accepted an email. Erases the tokens of the links in its text. */
export async function noteSent({ db, now }: MailContext, { id, organizationId }: ClaimedMail): Promise<void> {
  // Changes nothing if the email was erased meanwhile.
  await db.$executeRaw`
    UPDATE outgoing_mail SET sent_at = ${now()}, next_attempt_at = NULL, next_digest_attempt_at = NULL, last_error = NULL,
      body = ${KEPT_BODY}, unsubscribe_url = NULL, missed_message_ids = '{}'
    WHERE realm_id = ${organizationId} AND id = ${id}`;
}

/**
 * Records that an email could not be sent. If there is no next attempt, erases the tokens of the links in its text.
 *
 * @param isFinal Whether the mail server will never accept the email.
 * @returns Time of the next attempt. Null if there is none.
 */
export async function noteFailure(
  { db, now }: MailContext,
  { id, organizationId, attempts, digestSince, createdAt }: ClaimedMail,
  { reason, isFinal }: { reason: string; isFinal: boolean },
): Promise<Date | null> {
  const time = now().getTime();
  const wait = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
  const isOver = isFinal || time + wait > createdAt.getTime() + GIVE_UP_MS;
  const nextAttemptAt = isOver ? null : new Date(time + wait);
  // Never empty: an email that was claimed and has no error is being sent.
  const lastError = (reason.slice(0, MAX_ERROR_LENGTH).replaceAll('\0', '') || 'unknown').toWellFormed();
  // Changes nothing if another node has claimed the email meanwhile.
  const body = isOver ? KEPT_BODY : Prisma.sql`body`;
  const unsubscribeUrl = isOver ? Prisma.sql`NULL` : Prisma.sql`unsubscribe_url`;
  const missed = isOver ? Prisma.sql`'{}'` : Prisma.sql`missed_message_ids`;
  const isDigest = digestSince !== null;
  await db.$executeRaw`
    UPDATE outgoing_mail SET next_attempt_at = ${isDigest ? null : nextAttemptAt}::timestamptz,
      next_digest_attempt_at = ${isDigest ? nextAttemptAt : null}::timestamptz, last_error = ${lastError}, body = ${body},
      unsubscribe_url = ${unsubscribeUrl}, missed_message_ids = ${missed}
    WHERE realm_id = ${organizationId} AND id = ${id} AND attempts = ${attempts} AND sent_at IS NULL`;
  return nextAttemptAt;
}

/**
 * Deletes emails that were sent more than 30 days ago. Also deletes emails that were created more than 30 days ago and have no
 * next attempt. Erases the text of emails about missed messages that need not be sent again.
 */
export async function purgeMail({ db, now }: MailContext): Promise<void> {
  const limit = new Date(now().getTime() - KEPT_MS);
  await db.$executeRaw`
    DELETE FROM outgoing_mail WHERE next_attempt_at IS NULL AND COALESCE(sent_at, created_at) < ${limit}`;
  // A node of the previous version keeps the text of an email about missed messages that it has sent.
  await db.$executeRaw`
    UPDATE outgoing_mail SET body = ${KEPT_BODY}, unsubscribe_url = NULL, missed_message_ids = '{}'
    WHERE next_attempt_at IS NULL AND unsubscribe_url IS NOT NULL`;
}

/** Emails that users can turn off without signing in: those about missed messages, and digests. */
export type UnsubscribableKind = 'missed' | 'digest';

/** SQL conditions that the email `m` is of a kind. */
const OF_KIND: Readonly<Record<UnsubscribableKind, Prisma.Sql>> = {
  missed: Prisma.sql`m.unsubscribe_url IS NOT NULL`,
  digest: Prisma.sql`m.digest_since IS NOT NULL`,
};

/** Deletes the emails of a kind to a user that were not sent yet. */
export async function eraseUnsentMail(
  tx: Tx,
  kind: UnsubscribableKind,
  { organizationId, email }: { organizationId: number; email: string },
): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM outgoing_mail m WHERE m.realm_id = ${organizationId} AND lower(m.recipient) = lower(${email})
      AND ${OF_KIND[kind]} AND m.sent_at IS NULL`;
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
 * `BEFORE` matches at the end, and `AFTER` at the start, of a text a character that can belong to an email address. If such a
 * character precedes or follows a match, the match is only a part of a longer address.
 */
const BEFORE = /[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]$/u;
const AFTER = /^(?:[\p{L}\p{N}-]|\.[\p{L}\p{N}])/u;

/**
 * Returns whether a text contains the whole email address, not only as a part of a longer address.
 *
 * @param address In lower case.
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

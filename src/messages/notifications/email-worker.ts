import type { App } from '../../access/context.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { committing, type Trace } from '../../events/commit.ts';
import { type Organization, Prisma } from '../../generated/prisma/client.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isHere } from '../../platform/db/organization-moves.ts';
import { readRows } from '../../platform/db/rows.ts';
import { type ClaimedMail, type MailText, queueMail } from '../../platform/mail/outbox.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { namedUsers } from './content.ts';
import type { NotificationApp } from './decide.ts';
import { missedMail } from './email.ts';
import { nameSuffix, type UnsubscribableText } from './mail-parts.ts';
import { type ValidNotification, validNotifications } from './valid-notifications.ts';

/** Time between two runs, in milliseconds. An email can be this late. One indexed query if none is due. */
const EVERY_MS = 2_000;
/** Number of notifications of one user that one transaction reads. Further ones are in the next email. */
const AT_ONCE = 500;
/** Delay, in milliseconds, before the second attempt to write the emails of a user. Each further delay is twice as long. */
const FIRST_RETRY_MS = 60_000;
/** Maximum number of attempts to write the emails of a user. */
const MAX_ATTEMPTS = 8;

/** The parts of the service that write emails about missed messages. */
type EmailApp = NotificationApp & Pick<App, 'config'>;

/** A notification by email of a locked row. */
interface PendingEmail {
  readonly id: bigint;
  readonly userId: number;
  readonly messageId: bigint;
  readonly transport: 'email';
  readonly isDue: boolean;
}

/** The outcome of one transaction. */
interface Written {
  /** Absent: if the outcome of the commit is unknown, the notifications are read again. */
  readonly trace?: Trace;
}

/**
 * Writes the emails about missed messages that are due, in all organizations. Emails and the notifications that they contain are
 * changed in one transaction, so each message is in one email. If the emails of a user cannot be written, they are postponed, and
 * those of other users follow.
 *
 * @param isOver Returns whether to stop. Called before each transaction.
 */
export async function writeDueEmails(app: EmailApp, isOver: () => boolean = () => false): Promise<void> {
  for (let due = await nextDue(app); due !== undefined && !isOver(); due = await nextDue(app)) {
    const { organizationId, userId } = due;
    try {
      await committing<Written>({ app, organizationId }, async (tx) => {
        await writeEmailsOf(tx, app, organizationId, userId);
        return {};
      });
    } catch (err) {
      app.log.warn({ err, organization: organizationId, user: userId }, 'missed-message email failed, postponed');
      const count = await postpone(app, organizationId, userId);
      if (count > 0) {
        app.log.warn(
          { organization: organizationId, user: userId, count },
          'missed-message email given up after too many attempts',
        );
      }
    }
  }
}

/**
 * Postpones the due notifications by email of a user. After `MAX_ATTEMPTS` attempts, no further attempt follows.
 *
 * @returns The number of notifications that are not attempted again.
 */
async function postpone({ db, now }: EmailApp, organizationId: number, userId: number): Promise<number> {
  const time = now();
  const rows = await readRows<{ isGivenUp: boolean }>(
    db,
    Prisma.sql`
    UPDATE notification n SET attempts = n.attempts + 1, next_attempt_at = CASE WHEN n.attempts + 1 < ${MAX_ATTEMPTS}
      THEN ${time}::timestamptz + make_interval(secs => ${FIRST_RETRY_MS / 1000} * 2 ^ n.attempts) END
    WHERE n.realm_id = ${organizationId} AND n.user_id = ${userId} AND n.transport = 'email'
      AND n.next_attempt_at <= ${time}::timestamptz
    RETURNING n.next_attempt_at IS NULL AS "isGivenUp"`,
  );
  return rows.filter(({ isGivenUp }) => isGivenUp).length;
}

/** Returns the worker that writes emails about missed messages. Any number of nodes can run it on one database. */
export const emailWorker = (app: EmailApp): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    everyMs: EVERY_MS,
    failure: 'emails about missed messages could not be written, retrying',
    run: (isOver) => writeDueEmails(app, isOver),
  });

/** Returns the user whose notification by email has been due the longest, and is not locked. */
async function nextDue({
  db,
  now,
}: EmailApp): Promise<{ readonly organizationId: number; readonly userId: number } | undefined> {
  const [row] = await readRows<{ organizationId: number; userId: number }>(
    db,
    Prisma.sql`
    SELECT n.realm_id AS "organizationId", n.user_id AS "userId" FROM notification n
    WHERE n.transport = 'email' AND n.next_attempt_at <= ${now()}::timestamptz AND ${isHere(Prisma.sql`n.realm_id`)}
    ORDER BY n.next_attempt_at LIMIT 1 FOR UPDATE OF n SKIP LOCKED`,
  );
  return row;
}

/**
 * Writes one email for each topic and direct conversation in which a notification of the user is due. The email also contains
 * the messages of this topic or conversation that are not due yet.
 */
async function writeEmailsOf(tx: Tx, app: EmailApp, organizationId: number, userId: number): Promise<void> {
  const pending = await readRows<PendingEmail>(
    tx,
    Prisma.sql`
    SELECT n.id, n.user_id AS "userId", n.message_id AS "messageId", n.transport, n.next_attempt_at <= ${app.now()}::timestamptz AS "isDue"
    FROM notification n
    WHERE n.realm_id = ${organizationId} AND n.user_id = ${userId} AND n.transport = 'email' AND n.next_attempt_at IS NOT NULL
    ORDER BY n.next_attempt_at, n.id LIMIT ${AT_ONCE} FOR UPDATE OF n SKIP LOCKED`,
  );
  if (pending.length === 0) return;
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  const valid = await validNotifications(tx, app, organization, pending);
  const done: bigint[] = pending.flatMap(({ id }, i) => (valid[i] === undefined ? [id] : []));
  const shown = pending.flatMap((one, i) => {
    const found = valid[i];
    return found === undefined ? [] : [{ ...one, ...found }];
  });
  for (const ofPlace of Map.groupBy(shown, placeKey).values()) {
    if (!ofPlace.some(({ isDue }) => isDue)) continue;
    await writeEmail(tx, app, organization, ofPlace);
    done.push(...ofPlace.map(({ id }) => id));
  }
  await tx.notification.deleteMany({ where: { organizationId, id: { in: done } } });
}

const placeKey = ({ message: { channelId, conversationId, topic } }: ValidNotification): string =>
  channelId === null ? `direct ${conversationId}` : `${channelId} ${topicKey(topic)}`;

async function writeEmail(
  tx: Tx,
  app: EmailApp,
  organization: Organization,
  some: readonly ValidNotification[],
): Promise<void> {
  const [first] = some;
  if (first === undefined) return;
  // Nodes of version 0.2.0 send this text. Others write it again when the email is sent: see `currentMissedMail`.
  const { unsubscribeUrl, ...mail } = await textOf(tx, app, organization, some);
  await queueMail(tx, {
    ...{ organizationId: organization.id, to: first.user.email, ...mail, unsubscribeUrl },
    missedMessageIds: some.map(({ message }) => message.id),
  });
}

/**
 * Returns the current text of a queued email about missed messages: without messages that the user has read or can no longer
 * read, and without those about which settings no longer permit an email. Undefined if no message is left, or the user's
 * address has changed.
 */
export async function currentMissedMail(
  app: EmailApp,
  { organizationId, recipient, missedMessageIds }: ClaimedMail,
): Promise<MailText | undefined> {
  const { db } = app;
  const organization = await db.organization.findUniqueOrThrow({ where: { id: organizationId } });
  const user = await findUserByEmail(db, organizationId, recipient);
  if (user === null) return undefined;
  const keys = missedMessageIds.map((messageId) => ({ userId: user.id, messageId, transport: 'email' as const }));
  const valid = await validNotifications(db, app, organization, keys);
  const shown = valid.filter((one) => one !== undefined);
  return shown.length === 0 ? undefined : textOf(db, app, organization, shown);
}

/** Returns the text of the email about notifications of one user. */
async function textOf(
  db: Pick<Tx, 'user' | '$queryRaw'>,
  app: EmailApp,
  organization: Organization,
  some: readonly ValidNotification[],
): Promise<UnsubscribableText> {
  const [first, ...others] = some.toSorted((a, b) => Number(a.message.id - b.message.id));
  if (first === undefined) throw new Error('An email about missed messages needs a message');
  const { user, message } = first;
  const messages = [message, ...others.map((other) => other.message)] as const;
  const people = await db.user.findMany({
    where: { organizationId: organization.id, id: { in: namedUsers(messages) } },
  });
  return missedMail(app, {
    ...{ user, organization, messages },
    reasons: some.map(({ reason }) => reason),
    names: new Map(people.map((person) => [person.id, person])),
    suffix: await nameSuffix(db, organization, user),
  });
}

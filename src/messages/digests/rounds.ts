import type { App } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import { committing, type Trace } from '../../events/commit.ts';
import { type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isHere } from '../../platform/db/organization-moves.ts';
import { readRows } from '../../platform/db/rows.ts';
import { isMailAddress, queueDigest } from '../../platform/mail/outbox.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { IS_PERSON } from '../notifications/candidates.ts';
import { isAbsent, lastActiveAt } from './absence.ts';
import { canBegin, daysBefore, digestTime, roundDay, weekdayOf } from './calendar.ts';

/** Time between two runs, in milliseconds. One query of the organizations that send digests, if no round is due. */
const EVERY_MS = 60_000;
/** Number of users that one transaction reads. */
const AT_ONCE = 200;
/** Minimum number of days between two rounds, also if the day of the week was changed. */
const MIN_DAYS = 7;
/**
 * Maximum number of days between two rounds of which the second has the messages since the first. Otherwise digests have those
 * of the last `PERIOD_DAYS` days, for example in the first round.
 */
const MAX_DAYS = 14;
const PERIOD_DAYS = 7;

/** The parts of the service that queue and write digests. */
export type DigestApp = Pick<App, 'config' | 'database' | 'db' | 'keys' | 'log' | 'now'>;

/** The outcome of one transaction. */
interface Queued {
  readonly isComplete: boolean;
  /** Absent: if the outcome of the commit is unknown, the position is read again. */
  readonly trace?: Trace;
}

/** A round of digests, and whether it can begin. If not, it can only continue. */
interface Round {
  readonly day: string;
  readonly canBegin: boolean;
}

/**
 * Queues the digests of the current day, in all organizations. Each email is due at 8:00 in the time zone of its recipient. Its
 * text is written when it is sent: see `currentDigest`.
 *
 * The position in the list of users is stored in the transaction that queues the emails, under the lock of its row. So each
 * digest is queued once, by whichever node, even if a process is killed.
 *
 * @param isOver Returns whether to stop. Called before each transaction.
 */
export async function queueDigests(app: DigestApp, isOver: () => boolean = () => false): Promise<void> {
  if (app.config.smtpUrl === undefined) return;
  const day = roundDay(app.now());
  const round = { day, canBegin: canBegin(day, app.now()) };
  for (const organizationId of await organizationsDue(app, round)) {
    try {
      for (let isComplete = false; !isComplete && !isOver(); ) {
        const queued = await committing<Queued>({ app, organizationId }, (tx) => queueNext(tx, organizationId, round));
        isComplete = queued.isComplete;
      }
    } catch (err) {
      app.log.warn({ err, organization: organizationId }, 'digests of an organization could not be queued, retrying');
    }
  }
}

/** Returns the worker that queues digests. Any number of nodes can run it on one database. */
export const digestWorker = (app: DigestApp): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    everyMs: EVERY_MS,
    failure: 'digests could not be queued, retrying',
    run: (isOver) => queueDigests(app, isOver),
  });

/** Returns whether an organization sends digests on a day. */
const sendsOn = (organization: Organization, day: string): boolean =>
  organization.deactivatedAt === null &&
  organizationSetting(organization, 'digest_emails_enabled') &&
  organizationSetting(organization, 'digest_weekday') === weekdayOf(day);

/** Day of the week on which organizations send digests that have not chosen one. */
const DEFAULT_WEEKDAY = organizationSetting({ settings: {} }, 'digest_weekday');

/**
 * Returns the organizations that send digests on the day of a round, and in which it can begin or continue. The first conditions
 * are those of the index `realm_with_digests`.
 */
async function organizationsDue({ db }: DigestApp, { day, canBegin: begins }: Round): Promise<number[]> {
  const weekday = weekdayOf(day);
  const chosen = Prisma.sql`r.settings->>'digest_weekday' = ${String(weekday)}`;
  const onDay = weekday === DEFAULT_WEEKDAY ? Prisma.sql`(${chosen} OR r.settings->>'digest_weekday' IS NULL)` : chosen;
  const isBegun = Prisma.sql`(p.day = ${day}::text::date AND NOT p.is_complete)`;
  const isDue = begins
    ? Prisma.sql`(${isBegun} OR p.day IS NULL OR p.day <= ${daysBefore(day, MIN_DAYS)}::text::date)`
    : isBegun;
  const rows = await readRows<{ id: number }>(
    db,
    Prisma.sql`
    SELECT r.id FROM realm r LEFT JOIN digest_progress p ON p.realm_id = r.id
    WHERE r.settings->>'digest_emails_enabled' = 'true' AND r.deactivated_at IS NULL AND ${onDay} AND ${isDue}
      AND ${isHere(Prisma.sql`r.id`)}`,
  );
  return rows.map(({ id }) => id);
}

/** Queues the digests of the next users of an organization. */
async function queueNext(tx: Tx, organizationId: number, round: Round): Promise<Queued> {
  const { day } = round;
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  if (!sendsOn(organization, day)) return { isComplete: true };
  const progress = await lockProgress(tx, organizationId, round);
  if (progress === undefined || progress.isComplete) return { isComplete: true };
  const { sinceDay, throughUserId } = progress;
  const users = await readRows<Pick<User, 'id' | 'email' | 'settings'> & { readonly lastActiveAt: Date }>(
    tx,
    Prisma.sql`
    SELECT u.id, u.email, u.settings, ${lastActiveAt(organization)} AS "lastActiveAt" FROM user_account u
    WHERE u.realm_id = ${organizationId} AND u.id > ${throughUserId} AND ${IS_PERSON} ORDER BY u.id LIMIT ${AT_ONCE}`,
  );
  for (const user of users) {
    const dueAt = digestTime(day, user);
    const isWanted = userSetting(user, 'enable_digest_emails') && isMailAddress(user.email);
    if (!isWanted || !isAbsent(user.lastActiveAt, dueAt)) continue;
    const previous = digestTime(sinceDay, user);
    // A user who was not absent then got no digest.
    const since = isAbsent(user.lastActiveAt, previous) ? previous : user.lastActiveAt;
    await queueDigest(tx, { organizationId, to: user.email, since, dueAt });
  }
  const last = users.at(-1)?.id ?? throughUserId;
  const isLast = users.length < AT_ONCE;
  await tx.digestProgress.update({ where: { organizationId }, data: { throughUserId: last, isComplete: isLast } });
  return { isComplete: isLast };
}

interface ProgressRow {
  readonly isOfDay: boolean;
  /** Day on which the period of the digests begins. */
  readonly sinceDay: string;
  readonly throughUserId: number;
  readonly isComplete: boolean;
}

/**
 * Locks the position of a round. Begins the round if it can begin and no node has begun it. Its period begins with the last round
 * that was complete.
 *
 * @returns Undefined if the round has not begun.
 */
async function lockProgress(
  tx: Tx,
  organizationId: number,
  { day, canBegin: begins }: Round,
): Promise<ProgressRow | undefined> {
  // The row is locked even if it is not changed.
  if (begins)
    await tx.$executeRaw`
      INSERT INTO digest_progress AS p (realm_id, day, since_day)
      VALUES (${organizationId}, ${day}::text::date, ${daysBefore(day, PERIOD_DAYS)}::text::date)
      ON CONFLICT (realm_id) DO UPDATE SET day = EXCLUDED.day, through_user_id = 0, is_complete = false,
        since_day = CASE WHEN p.is_complete AND p.day >= ${daysBefore(day, MAX_DAYS)}::text::date THEN p.day
          WHEN NOT p.is_complete AND p.since_day >= ${daysBefore(day, MAX_DAYS)}::text::date THEN p.since_day
          ELSE EXCLUDED.since_day END
      WHERE p.day <= ${daysBefore(day, MIN_DAYS)}::text::date`;
  const [row] = await readRows<ProgressRow>(
    tx,
    Prisma.sql`
    SELECT p.day = ${day}::text::date AS "isOfDay", p.since_day::text AS "sinceDay", p.through_user_id AS "throughUserId",
      p.is_complete AS "isComplete"
    FROM digest_progress p WHERE p.realm_id = ${organizationId} FOR UPDATE`,
  );
  return row?.isOfDay === true ? row : undefined;
}

import type { App } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import { committing, type Trace } from '../../events/commit.ts';
import { type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isHere } from '../../platform/db/organization-moves.ts';
import { readRows } from '../../platform/db/rows.ts';
import { isMailAddress, queueMail } from '../../platform/mail/outbox.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { IS_PERSON } from '../notifications/candidates.ts';
import { isAbsent, lastActiveAt } from './absence.ts';
import { daysBefore, digestTime, roundDay, weekdayOf } from './calendar.ts';
import { emptyDigest } from './email.ts';

/** Time between two runs, in milliseconds. One query of the organizations that send digests, if no round is due. */
const EVERY_MS = 60_000;
/** Number of users that one transaction reads. */
const AT_ONCE = 200;
/** Minimum number of days between two rounds, if the day of the week was changed. */
const MIN_DAYS = 5;
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
  for (const organizationId of await organizationsDue(app, day)) {
    try {
      for (let isComplete = false; !isComplete && !isOver(); ) {
        const queued = await committing<Queued>({ app, organizationId }, (tx) =>
          queueNext(tx, app, organizationId, day),
        );
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

/** Returns the organizations that send digests, and that have begun no round in the last days or not completed that of the day. */
async function organizationsDue({ db }: DigestApp, day: string): Promise<number[]> {
  const rows = await readRows<{ id: number }>(
    db,
    Prisma.sql`
    SELECT r.id FROM realm r LEFT JOIN digest_progress p ON p.realm_id = r.id
    WHERE r.settings->>'digest_emails_enabled' = 'true' AND r.deactivated_at IS NULL AND ${isHere(Prisma.sql`r.id`)}
      AND (p.day IS NULL OR p.day <= ${daysBefore(day, MIN_DAYS)}::text::date OR (p.day = ${day}::text::date AND NOT p.is_complete))`,
  );
  return rows.map(({ id }) => id);
}

/** Queues the digests of the next users of an organization. */
async function queueNext(tx: Tx, app: DigestApp, organizationId: number, day: string): Promise<Queued> {
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  if (!sendsOn(organization, day)) return { isComplete: true };
  const { sinceDay, throughUserId, isComplete } = await lockProgress(tx, organizationId, day);
  if (isComplete) return { isComplete };
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
    await queueMail(tx, {
      ...{ organizationId, to: user.email, ...emptyDigest(app, organization, user), dueAt },
      digestSince: new Date(Math.max(digestTime(sinceDay, user).getTime(), user.lastActiveAt.getTime())),
    });
  }
  const last = users.at(-1)?.id ?? throughUserId;
  const isLast = users.length < AT_ONCE;
  await tx.digestProgress.update({ where: { organizationId }, data: { throughUserId: last, isComplete: isLast } });
  return { isComplete: isLast };
}

interface ProgressRow {
  /** Day on which the period of the digests begins. */
  readonly sinceDay: string;
  readonly throughUserId: number;
  readonly isComplete: boolean;
}

/** Locks the position of the round of a day. Begins the round, unless another node has. */
async function lockProgress(tx: Tx, organizationId: number, day: string): Promise<ProgressRow> {
  // The row is locked even if it is not changed.
  await tx.$executeRaw`
    INSERT INTO digest_progress AS p (realm_id, day, since_day)
    VALUES (${organizationId}, ${day}::text::date, ${daysBefore(day, PERIOD_DAYS)}::text::date)
    ON CONFLICT (realm_id) DO UPDATE SET day = EXCLUDED.day, through_user_id = 0, is_complete = false,
      since_day = CASE WHEN p.day >= ${daysBefore(day, MAX_DAYS)}::text::date THEN p.day ELSE EXCLUDED.since_day END
    WHERE p.day < EXCLUDED.day`;
  const [row] = await readRows<ProgressRow>(
    tx,
    Prisma.sql`
    SELECT p.since_day::text AS "sinceDay", p.through_user_id AS "throughUserId", p.is_complete AS "isComplete"
    FROM digest_progress p WHERE p.realm_id = ${organizationId} FOR UPDATE`,
  );
  if (row === undefined) throw new Error('A round of digests has no row');
  return row;
}

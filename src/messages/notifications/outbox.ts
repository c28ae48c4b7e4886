import { Prisma } from '../../generated/prisma/client.ts';
import type { Db } from '../../platform/db/client.ts';
import { isHere } from '../../platform/db/organization-moves.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { NotificationApp } from './decide.ts';

// The table `notification` is the queue, which any number of nodes read. A node claims notifications by postponing their next
// attempt, and then makes the current attempt.

/** Number of notifications of one user that are claimed together. */
export const CLAIMED_AT_ONCE = 50;
/** Maximum duration of an attempt, in milliseconds. */
export const ATTEMPT_MS = 10_000;
/**
 * Lease of claimed notifications, in milliseconds. If the node that claimed them stores no result in this time, another node can
 * claim them. Longer than an attempt and the storing of its result.
 */
const LEASE_MS = 20_000;
/** Maximum number of attempts to deliver a notification. */
const MAX_ATTEMPTS = 8;
/** Delay before the second attempt, in milliseconds. Each further delay is three times as long: the last is an hour. */
const FIRST_RETRY_MS = 5_000;
/** Age of a notification, in milliseconds, after which no further attempt is made. */
const GIVE_UP_MS = 86_400_000;
/** Time, in milliseconds, after which delivered notifications are forgotten: they are then no longer removed from devices. */
const KEPT_MS = 7 * 86_400_000;
/** Time, in milliseconds, after which due notifications that no worker delivers are deleted. */
const OVERDUE_MS = 86_400_000;
/** Number of rows that one statement purges. */
const PURGED_AT_ONCE = 2_000;

/** A notification that this node has claimed. All notifications of one claim belong to one user. */
export interface Claimed {
  readonly id: bigint;
  readonly organizationId: number;
  readonly userId: number;
  readonly messageId: bigint;
  readonly reason: string;
  readonly attempts: number;
  readonly deviceIds: readonly number[];
  readonly isRemoval: boolean;
  readonly createdAt: Date;
}

/** A user of an organization. */
export interface NotifiedUser {
  readonly organizationId: number;
  readonly userId: number;
}

const IS_HERE = isHere(Prisma.sql`n.realm_id`);

/**
 * Claims the push notifications of the user whose notification has been due the longest, at most `CLAIMED_AT_ONCE`. Empty if
 * none is due.
 *
 * @param passedOver Users whose notifications are not claimed.
 */
export async function claimPushes(
  { db, now }: Pick<NotificationApp, 'db' | 'now'>,
  passedOver: readonly NotifiedUser[] = [],
): Promise<Claimed[]> {
  const passed = JSON.stringify(passedOver.map(({ organizationId, userId }) => `${organizationId} ${userId}`));
  const time = now();
  const claimed = await readRows<Claimed>(
    db,
    Prisma.sql`
    WITH first AS (
      SELECT n.realm_id, n.user_id FROM notification n
      WHERE n.transport = 'push' AND n.next_attempt_at <= ${time}::timestamptz AND ${IS_HERE}
        AND NOT ${passed}::jsonb ? (n.realm_id || ' ' || n.user_id)
      ORDER BY n.next_attempt_at LIMIT 1 FOR UPDATE OF n SKIP LOCKED
    ), due AS (
      SELECT n.realm_id, n.id FROM notification n JOIN first f ON f.realm_id = n.realm_id AND f.user_id = n.user_id
      WHERE n.transport = 'push' AND n.next_attempt_at <= ${time}::timestamptz
      ORDER BY n.id LIMIT ${CLAIMED_AT_ONCE} FOR UPDATE OF n SKIP LOCKED
    )
    UPDATE notification c SET attempts = c.attempts + 1, next_attempt_at = ${new Date(time.getTime() + LEASE_MS)}::timestamptz
    FROM due d WHERE c.realm_id = d.realm_id AND c.id = d.id
    RETURNING c.id, c.realm_id AS "organizationId", c.user_id AS "userId", c.message_id AS "messageId", c.reason, c.attempts,
      c.device_ids AS "deviceIds", c.is_removal AS "isRemoval", c.created_at AS "createdAt"`,
  );
  return claimed.toSorted((a, b) => Number(a.id - b.id));
}

/** Result of an attempt to deliver a claimed notification. */
export interface Result {
  readonly claimed: Claimed;
  /** Devices that have received the current state of the notification. */
  readonly deviceIds: readonly number[];
  /**
   * "done": all devices have it. "obsolete": the message was read, or cannot be read any more. "failed": another attempt follows,
   * unless there were too many. "postponed": no device was attempted, so the attempt does not count.
   */
  readonly state: 'done' | 'obsolete' | 'failed' | 'postponed';
  /** Minimum delay before the next attempt, in seconds. */
  readonly afterSeconds?: number;
}

/**
 * Stores the results of attempts. If a notification was withdrawn during the attempt, its next attempt removes it from the
 * devices that received it.
 *
 * @returns The number of notifications that are not attempted again although a device has not received them.
 */
export async function storeResults(
  { db, now }: Pick<NotificationApp, 'db' | 'now'>,
  results: readonly Result[],
): Promise<number> {
  const [first] = results;
  if (first === undefined) return 0;
  const time = now();
  const rows = results.map(({ claimed, deviceIds, state, afterSeconds = 0 }) => {
    const isPostponed = state === 'postponed';
    const isOld = !claimed.isRemoval && time.getTime() - claimed.createdAt.getTime() > GIVE_UP_MS;
    const isOver = isOld || (!isPostponed && (state !== 'failed' || claimed.attempts >= MAX_ATTEMPTS));
    const backoff = isPostponed ? FIRST_RETRY_MS : FIRST_RETRY_MS * 3 ** (claimed.attempts - 1);
    const wait = Math.max(backoff, afterSeconds * 1000);
    // An earlier attempt may have reached a device even if this was not stored, because the process was killed.
    const becomesRemoval = state === 'obsolete' && !claimed.isRemoval && claimed.attempts > 1;
    // No device has it, or it was removed from all of them.
    const isForgotten = isOver && !becomesRemoval && (claimed.isRemoval || deviceIds.length === 0);
    const isGivenUp = isOver && (isPostponed || state === 'failed');
    return {
      is_given_up: isGivenUp,
      id: String(claimed.id),
      attempts: claimed.attempts,
      counted: isPostponed ? claimed.attempts - 1 : claimed.attempts,
      was_removal: claimed.isRemoval,
      device_ids: deviceIds,
      becomes_removal: becomesRemoval,
      is_forgotten: isForgotten,
      next_attempt_at: isOver ? null : new Date(time.getTime() + wait),
    };
  });
  const { organizationId } = first.claimed;
  const given = Prisma.sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS g(
    id bigint, attempts int, counted int, was_removal boolean, device_ids int[], becomes_removal boolean, is_forgotten boolean,
    next_attempt_at timestamptz)`;
  // If the process is killed between the statements, the other rows are attempted again after their lease.
  await db.$executeRaw`
    DELETE FROM notification n USING ${given}
    WHERE n.realm_id = ${organizationId} AND n.id = g.id AND n.attempts = g.attempts AND n.is_removal = g.was_removal
      AND g.is_forgotten`;
  await db.$executeRaw`
    UPDATE notification n SET
      attempts = g.counted,
      is_removal = n.is_removal OR g.becomes_removal,
      device_ids = CASE WHEN g.becomes_removal OR n.is_removal <> g.was_removal THEN '{}' ELSE g.device_ids END,
      next_attempt_at = CASE WHEN g.becomes_removal OR n.is_removal <> g.was_removal THEN ${time}::timestamptz
        ELSE g.next_attempt_at END
    FROM ${given}
    WHERE n.realm_id = ${organizationId} AND n.id = g.id AND n.attempts = g.attempts
      AND NOT (g.is_forgotten AND n.is_removal = g.was_removal)`;
  return rows.filter((row) => row.is_given_up).length;
}

/**
 * Ends the leases of all claimed notifications. Call it at the start of the only process that uses the database: attempts of the
 * previous process have ended.
 */
export async function endLeases({ db, now }: Pick<NotificationApp, 'db' | 'now'>): Promise<void> {
  await db.$executeRaw`
    UPDATE notification SET next_attempt_at = ${now()}::timestamptz
    WHERE transport = 'push' AND attempts > 0 AND next_attempt_at > ${now()}::timestamptz`;
}

/** Number of notifications of an organization that were deleted although they had been due. */
interface Overdue {
  readonly organizationId: number;
  readonly transport: string;
  readonly count: number;
}

/**
 * Deletes notifications that are older than `KEPT_MS`, unless they are still to be delivered: emails can wait for a week. Those
 * that have been due for `OVERDUE_MS` are deleted as well. Also deletes devices whose session or API key
 * has ended.
 *
 * @returns The numbers of the deleted notifications that had been due.
 */
export async function purgeNotifications(db: Db, before: Date, isSignedIn: Prisma.Sql): Promise<Overdue[]> {
  const counts = new Map<string, Overdue>();
  const limit = new Date(before.getTime() - KEPT_MS);
  const overdue = new Date(before.getTime() - OVERDUE_MS);
  for (let total = PURGED_AT_ONCE; total === PURGED_AT_ONCE; ) {
    const purged = await readRows<Overdue & { readonly total: number }>(
      db,
      Prisma.sql`
      WITH purged AS (
        DELETE FROM notification WHERE (realm_id, id) IN (
          SELECT n.realm_id, n.id FROM notification n WHERE n.created_at < ${limit}::timestamptz AND ${IS_HERE}
            AND (n.next_attempt_at IS NULL OR n.next_attempt_at < ${overdue}::timestamptz)
          LIMIT ${PURGED_AT_ONCE} FOR UPDATE SKIP LOCKED)
        RETURNING realm_id, transport, next_attempt_at
      )
      SELECT realm_id AS "organizationId", transport, count(next_attempt_at)::int AS count, count(*)::int AS total
      FROM purged GROUP BY realm_id, transport`,
    );
    total = 0;
    for (const { organizationId, transport, count, total: more } of purged) {
      total += more;
      const key = `${organizationId} ${transport}`;
      const sum = count + (counts.get(key)?.count ?? 0);
      if (count > 0) counts.set(key, { organizationId, transport, count: sum });
    }
  }
  await db.$executeRaw`
    DELETE FROM push_device d WHERE NOT d.is_client_device AND NOT ${isSignedIn}
      AND NOT EXISTS (SELECT FROM realm_move v WHERE v.realm_id = d.realm_id OFFSET 0)`;
  return [...counts.values()];
}

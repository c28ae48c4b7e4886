import type { SqlClient, Tx } from '../../platform/db/client.ts';

interface PresenceOwner {
  readonly userId: number;
  readonly organizationId: number;
}

/**
 * Records in one statement that an online user was seen. The statement first locks the counter of presence changes until the
 * commit, so that the ids of changes increase in commit order.
 *
 * @param isActive Whether the user was active. False: the user was idle.
 * @param times `offlineAt`: a user is online if they were seen after this time. `freshAt`: nothing is written if the user was
 *   seen at or after this time.
 * @returns Whether the user is online. If false, nothing was written. The UPDATE checks again on the locked row that the
 *   user is online, so a user who has just hidden their presence does not appear online.
 */
export async function noteSeenOnline(
  db: SqlClient,
  { userId, organizationId }: PresenceOwner,
  isActive: boolean,
  { now, offlineAt, freshAt }: { readonly now: Date; readonly offlineAt: Date; readonly freshAt: Date },
): Promise<boolean> {
  const [row] = await db.$queryRaw<{ isOnline: boolean }[]>`
    WITH known AS MATERIALIZED (
      SELECT CASE WHEN ${isActive} THEN active_at ELSE idle_at END AS seen_at
      FROM presence WHERE realm_id = ${organizationId} AND user_id = ${userId} AND idle_at > ${offlineAt}
    ), counter AS (
      UPDATE presence_counter c SET last_id = c.last_id + 1
      FROM known WHERE c.realm_id = ${organizationId} AND (seen_at IS NULL OR seen_at < ${freshAt})
      RETURNING c.last_id
    ), kept AS (
      UPDATE presence p
      SET idle_at = GREATEST(p.idle_at, ${now}), update_id = counter.last_id,
          active_at = CASE WHEN ${isActive} THEN GREATEST(p.active_at, ${now}) ELSE p.active_at END
      FROM counter WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.idle_at > ${offlineAt}
    )
    SELECT EXISTS (SELECT FROM known) AS "isOnline"`;
  return row?.isOnline === true;
}

/**
 * Records that a user was seen, whether or not they were online.
 *
 * @param activeAt Time at which the user was active. Null if the user was idle.
 * @returns Whether the user was online before: seen after `offlineAt`.
 */
export async function noteSeen(
  tx: Tx,
  { userId, organizationId }: PresenceOwner,
  activeAt: Date | null,
  { now, offlineAt }: { readonly now: Date; readonly offlineAt: Date },
): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ wasOnline: boolean }[]>`
    WITH known AS MATERIALIZED (
      SELECT FROM presence WHERE realm_id = ${organizationId} AND user_id = ${userId} AND idle_at > ${offlineAt}
    ), counter AS (
      INSERT INTO presence_counter AS c (realm_id, last_id) VALUES (${organizationId}, 1)
      ON CONFLICT (realm_id) DO UPDATE SET last_id = c.last_id + 1 RETURNING c.last_id
    ), kept AS (
      INSERT INTO presence AS p (user_id, realm_id, active_at, idle_at, update_id)
      SELECT ${userId}, ${organizationId}, ${activeAt}::timestamptz, ${now}, last_id FROM counter
      ON CONFLICT (realm_id, user_id) DO UPDATE
      SET active_at = GREATEST(p.active_at, excluded.active_at), idle_at = GREATEST(p.idle_at, excluded.idle_at),
          update_id = excluded.update_id
    )
    SELECT EXISTS (SELECT FROM known) AS "wasOnline"`;
  return row?.wasOnline === true;
}

/**
 * If a user was last seen after `offlineAt`, sets the time at which the user was last seen to `offlineAt`. Does the same with
 * the time at which the user was last active.
 *
 * @returns Whether the user was ever seen.
 */
export async function hideSeen(tx: Tx, { userId, organizationId }: PresenceOwner, offlineAt: Date): Promise<boolean> {
  const hidden = await tx.$executeRaw`
    WITH counter AS (
      UPDATE presence_counter c SET last_id = c.last_id + 1 FROM presence p
      WHERE c.realm_id = ${organizationId} AND p.realm_id = ${organizationId} AND p.user_id = ${userId} RETURNING c.last_id
    )
    UPDATE presence p
    SET idle_at = LEAST(p.idle_at, ${offlineAt}), active_at = LEAST(p.active_at, ${offlineAt}), update_id = counter.last_id
    FROM counter WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId}`;
  return hidden > 0;
}

/** Returns whether the organization has more than `count` active users. */
export async function hasMoreUsersThan(db: SqlClient, organizationId: number, count: number): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>`
    SELECT 1 AS one FROM user_account WHERE realm_id = ${organizationId} AND is_active LIMIT ${count + 1}`;
  return rows.length > count;
}

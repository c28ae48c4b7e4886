import type { SqlClient, Tx } from '../../platform/db/client.ts';

interface PresenceOwner {
  readonly userId: number;
  readonly realmId: number;
}

/**
 * Records that an online user was seen, in one statement. The counter of presence changes is locked first and until the commit,
 * so that its ids increase in commit order.
 *
 * @param times `offlineAt`: a user who was seen after it is online. `freshAt`: a user who was seen since then is not updated
 *   again.
 * @returns False if the user is not online; then nothing was written. The condition is checked on the locked row, so a ping
 *   cannot show a user who was just hidden.
 */
export async function noteSeenOnline(
  db: SqlClient,
  { userId, realmId }: PresenceOwner,
  isActive: boolean,
  { now, offlineAt, freshAt }: { readonly now: Date; readonly offlineAt: Date; readonly freshAt: Date },
): Promise<boolean> {
  const [row] = await db.$queryRaw<{ isOnline: boolean }[]>`
    WITH known AS (
      SELECT CASE WHEN ${isActive} THEN active_at ELSE idle_at END AS seen_at
      FROM presence WHERE realm_id = ${realmId} AND user_id = ${userId} AND idle_at > ${offlineAt}
    ), counter AS (
      UPDATE presence_counter c SET last_id = c.last_id + 1
      FROM known WHERE c.realm_id = ${realmId} AND (seen_at IS NULL OR seen_at < ${freshAt})
      RETURNING c.last_id
    ), kept AS (
      UPDATE presence p
      SET idle_at = GREATEST(p.idle_at, ${now}), update_id = counter.last_id,
          active_at = CASE WHEN ${isActive} THEN GREATEST(p.active_at, ${now}) ELSE p.active_at END
      FROM counter WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND p.idle_at > ${offlineAt}
    )
    SELECT EXISTS (SELECT FROM known) AS "isOnline"`;
  return row?.isOnline === true;
}

/**
 * Records that a user was seen, whether or not they were online.
 *
 * @param activeAt Null if the user was idle.
 * @returns Whether the user was online before: seen after `offlineAt`.
 */
export async function noteSeen(
  tx: Tx,
  { userId, realmId }: PresenceOwner,
  activeAt: Date | null,
  { now, offlineAt }: { readonly now: Date; readonly offlineAt: Date },
): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ wasOnline: boolean }[]>`
    WITH counter AS (
      INSERT INTO presence_counter AS c (realm_id, last_id) VALUES (${realmId}, 1)
      ON CONFLICT (realm_id) DO UPDATE SET last_id = c.last_id + 1 RETURNING c.last_id
    ), kept AS (
      INSERT INTO presence AS p (user_id, realm_id, active_at, idle_at, update_id)
      SELECT ${userId}, ${realmId}, ${activeAt}::timestamptz, ${now}, last_id FROM counter
      ON CONFLICT (realm_id, user_id) DO UPDATE
      SET active_at = GREATEST(p.active_at, excluded.active_at), idle_at = GREATEST(p.idle_at, excluded.idle_at),
          update_id = excluded.update_id
    )
    SELECT EXISTS (SELECT FROM presence WHERE realm_id = ${realmId} AND user_id = ${userId} AND idle_at > ${offlineAt}) AS "wasOnline"`;
  return row?.wasOnline === true;
}

/**
 * Moves the time at which a user was last seen back to `offlineAt`, if it is later.
 *
 * @returns Whether the user was ever seen.
 */
export async function hideSeen(tx: Tx, { userId, realmId }: PresenceOwner, offlineAt: Date): Promise<boolean> {
  const hidden = await tx.$executeRaw`
    WITH counter AS (
      UPDATE presence_counter c SET last_id = c.last_id + 1 FROM presence p
      WHERE c.realm_id = ${realmId} AND p.realm_id = ${realmId} AND p.user_id = ${userId} RETURNING c.last_id
    )
    UPDATE presence p
    SET idle_at = LEAST(p.idle_at, ${offlineAt}), active_at = LEAST(p.active_at, ${offlineAt}), update_id = counter.last_id
    FROM counter WHERE p.realm_id = ${realmId} AND p.user_id = ${userId}`;
  return hidden > 0;
}

/** Returns whether the organization has more than `count` active users. */
export async function hasMoreUsersThan(db: SqlClient, realmId: number, count: number): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>`
    SELECT 1 AS one FROM user_account WHERE realm_id = ${realmId} AND is_active LIMIT ${count + 1}`;
  return rows.length > count;
}

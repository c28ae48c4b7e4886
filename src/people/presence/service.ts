import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import { everyone } from '../../events/audience.ts';
import { inTurn } from '../../events/commit.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { PRESENCE_SECONDS } from '../../platform/limits.ts';
import { lockUser } from '../locks.ts';
import { toFacts } from '../wire.ts';
import { presenceChanged } from './events.ts';
import { PRESENCE_PINGS, type PresencePing } from './wire.ts';

/** In an organisation with more active users nobody is told who comes online. */
const MAX_USERS_TOLD = 100;

/**
 * Our choice: who was seen in the last so many seconds is not written down again, so that several clients of one person
 * cost what one does. Less than the interval of pings, so that each ping of a single client counts.
 */
const FRESH_SECONDS = 55;

const secondsBefore = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000);

/** Everyone seen since then is online. */
const onlineSince = (now: Date) => secondsBefore(now, PRESENCE_SECONDS.offlineThreshold);

/**
 * Records that the viewer is there, and tells everyone when they were not before. Of those who show no presence, and in
 * organisations that want none, nothing is kept.
 *
 * @throws BadRequestError for a bot, and when `status` is neither "active" nor "idle".
 */
export async function recordPresence(ctx: Ctx, status: string): Promise<void> {
  const { user, realm } = ctx.viewer;
  if (user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  const ping = PRESENCE_PINGS.find((known) => known === status);
  if (ping === undefined) throw new BadRequestError(`Invalid status: ${status}`);
  if (realmSetting(realm, 'presence_disabled') || !userSetting(user, 'presence_enabled')) return;
  // In turn, because one who comes online may hold their counter for as long as they wait for the log's.
  if (!(await inTurn(ctx, () => stayOnline(ctx, ping)))) await comeOnline(ctx, ping);
}

/**
 * The ping of who is online already: one statement, and no event. The counter is locked first and until the commit, so
 * that its ids rise in the order of commits.
 *
 * @returns False, having done nothing, when they are not online: the condition holds of the row as it is when it is
 *   locked, so that a ping cannot show somebody who has just been hidden.
 */
async function stayOnline({ app, viewer }: Ctx, ping: PresencePing): Promise<boolean> {
  const now = app.now();
  const [offlineAt, isActive] = [onlineSince(now), ping === 'active'];
  const freshAt = secondsBefore(now, FRESH_SECONDS);
  const [row] = await app.db.$queryRaw<{ isOnline: boolean }[]>`
    WITH known AS (
      SELECT CASE WHEN ${isActive} THEN active_at ELSE idle_at END AS seen_at
      FROM presence WHERE user_id = ${viewer.id} AND idle_at > ${offlineAt}
    ), counter AS (
      UPDATE presence_counter c SET last_id = c.last_id + 1
      FROM known WHERE c.realm_id = ${viewer.realm.id} AND (seen_at IS NULL OR seen_at < ${freshAt})
      RETURNING c.last_id
    ), kept AS (
      UPDATE presence p
      SET idle_at = GREATEST(p.idle_at, ${now}), update_id = counter.last_id,
          active_at = CASE WHEN ${isActive} THEN GREATEST(p.active_at, ${now}) ELSE p.active_at END
      FROM counter WHERE p.user_id = ${viewer.id} AND p.idle_at > ${offlineAt}
    )
    SELECT EXISTS (SELECT FROM known) AS "isOnline"`;
  return row?.isOnline === true;
}

/** The first ping after a while. The user's row is held, so that two of them tell it once. */
async function comeOnline({ app, realmId, viewer }: Ctx, ping: PresencePing): Promise<void> {
  const now = app.now();
  const activeAt = ping === 'active' ? now : null;
  await transact({ app, realmId }, async (tx, emit) => {
    await lockUser(tx, viewer);
    const user = await tx.user.findUniqueOrThrow({ where: { id: viewer.id } });
    if (!userSetting(user, 'presence_enabled')) return;
    const [row] = await tx.$queryRaw<{ wasOnline: boolean }[]>`
      WITH counter AS (
        INSERT INTO presence_counter AS c (realm_id, last_id) VALUES (${realmId}, 1)
        ON CONFLICT (realm_id) DO UPDATE SET last_id = c.last_id + 1 RETURNING c.last_id
      ), kept AS (
        INSERT INTO presence AS p (user_id, realm_id, active_at, idle_at, update_id)
        SELECT ${viewer.id}, ${realmId}, ${activeAt}::timestamptz, ${now}, last_id FROM counter
        ON CONFLICT (user_id) DO UPDATE
        SET active_at = GREATEST(p.active_at, excluded.active_at), idle_at = GREATEST(p.idle_at, excluded.idle_at),
            update_id = excluded.update_id
      )
      SELECT EXISTS (SELECT FROM presence WHERE user_id = ${viewer.id} AND idle_at > ${onlineSince(now)}) AS "wasOnline"`;
    if (row?.wasOnline !== true) await tell(tx, emit, user, now);
  });
}

/**
 * What follows when a user whose row is locked has switched their presence off or on, inside the change: who hides is
 * seen as offline at once, and was not seen later than that.
 */
export async function presenceSwitched(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  if (userSetting(user, 'presence_enabled')) return tell(tx, emit, user, now);
  // A second beyond, because clients count in whole seconds.
  const offlineAt = secondsBefore(onlineSince(now), 1);
  const hidden = await tx.$executeRaw`
    WITH counter AS (
      UPDATE presence_counter c SET last_id = c.last_id + 1 FROM presence p
      WHERE c.realm_id = ${user.realmId} AND p.user_id = ${user.id} RETURNING c.last_id
    )
    UPDATE presence p
    SET idle_at = LEAST(p.idle_at, ${offlineAt}), active_at = LEAST(p.active_at, ${offlineAt}), update_id = counter.last_id
    FROM counter WHERE p.user_id = ${user.id}`;
  if (hidden > 0) await tell(tx, emit, user, now);
}

/** Tells everyone when the user was seen, in an organisation that wants it told and is small enough for it. */
async function tell(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  const row = await tx.presence.findUnique({ where: { userId: user.id } });
  if (row === null || (await tellsNobody(tx, user.realmId))) return;
  const { activeAt, idleAt, updateId } = row;
  const seen = { activeAt: activeAt ?? user.joinedAt, idleAt: idleAt ?? user.joinedAt, updateId: Number(updateId) };
  emit(presenceChanged({ user: toFacts(user), ...seen }, now), everyone());
}

async function tellsNobody(tx: Tx, realmId: number): Promise<boolean> {
  const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
  if (realmSetting(realm, 'presence_disabled')) return true;
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 AS one FROM user_account WHERE realm_id = ${realmId} AND is_active LIMIT ${MAX_USERS_TOLD + 1}`;
  return rows.length > MAX_USERS_TOLD;
}

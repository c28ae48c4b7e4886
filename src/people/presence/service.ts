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
import { toSnapshot } from '../wire.ts';
import { presenceChanged } from './events.ts';
import { hasMoreUsersThan, hideSeen, noteSeen, noteSeenOnline } from './queries.ts';
import { PRESENCE_PINGS, type PresencePing } from './wire.ts';

/** Largest number of active users in an organization that publishes presence events. */
const MAX_USERS_TOLD = 100;

/**
 * A user who was seen within this many seconds is not recorded again, so that several clients of a user cause no more writes
 * than one. It is less than the interval of pings, so that each ping of a single client is recorded.
 */
const FRESH_SECONDS = 55;

const secondsBefore = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000);

/** Returns the start of the period in which a user must have been seen, in order to count as online. */
const onlineSince = (now: Date) => secondsBefore(now, PRESENCE_SECONDS.offlineThreshold);

/**
 * Records that the viewer is present, and notifies all users if the viewer was offline. Nothing is stored for users who
 * hide their presence, and in organizations that disable presence.
 *
 * @throws BadRequestError for a bot, and if `status` is neither "active" nor "idle".
 */
export async function recordPresence(ctx: Ctx, status: string): Promise<void> {
  const { user, realm } = ctx.viewer;
  if (user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  const ping = PRESENCE_PINGS.find((known) => known === status);
  if (ping === undefined) throw new BadRequestError(`Invalid status: ${status}`);
  if (realmSetting(realm, 'presence_disabled') || !userSetting(user, 'presence_enabled')) return;
  // Waits for a permit of the organization: a user who comes online may hold the presence counter while waiting for the log's
  // counter.
  if (!(await inTurn(ctx, () => stayOnline(ctx, ping)))) await comeOnline(ctx, ping);
}

/**
 * Records a ping of a user who is already online, without an event.
 *
 * @returns False if the user is not online; then nothing was written.
 */
function stayOnline({ app, viewer }: Ctx, ping: PresencePing): Promise<boolean> {
  const now = app.now();
  return noteSeenOnline(app.db, { userId: viewer.id, realmId: viewer.realm.id }, ping === 'active', {
    now,
    offlineAt: onlineSince(now),
    freshAt: secondsBefore(now, FRESH_SECONDS),
  });
}

/**
 * Records the first ping after an absence. The lock on the user's row lets only one of two concurrent pings publish the event.
 */
async function comeOnline({ app, realmId, viewer }: Ctx, ping: PresencePing): Promise<void> {
  const now = app.now();
  const activeAt = ping === 'active' ? now : null;
  await transact({ app, realmId }, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const user = await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId, id: viewer.id } } });
    if (!userSetting(user, 'presence_enabled')) return;
    const wasOnline = await noteSeen(tx, { userId: viewer.id, realmId }, activeAt, {
      now,
      offlineAt: onlineSince(now),
    });
    if (!wasOnline) await tell(tx, emit, user, now);
  });
}

/**
 * Publishes that a user switched their presence off or on, within the transaction that locked the user's row. A user
 * who hides their presence immediately appears offline: the time at which they were last seen is moved back.
 */
export async function presenceSwitched(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  if (userSetting(user, 'presence_enabled')) return tell(tx, emit, user, now);
  // One second more, because clients count in whole seconds.
  const offlineAt = secondsBefore(onlineSince(now), 1);
  if (await hideSeen(tx, { userId: user.id, realmId: user.realmId }, offlineAt)) await tell(tx, emit, user, now);
}

/** Publishes when the user was last seen, unless the organization disables presence or has too many users. */
async function tell(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  const row = await tx.presence.findUnique({ where: { realmId_userId: { realmId: user.realmId, userId: user.id } } });
  if (row === null || (await tellsNobody(tx, user.realmId))) return;
  const { activeAt, idleAt, updateId } = row;
  const seen = { activeAt: activeAt ?? user.joinedAt, idleAt: idleAt ?? user.joinedAt, updateId: Number(updateId) };
  emit(presenceChanged({ user: toSnapshot(user), ...seen }, now), everyone());
}

async function tellsNobody(tx: Tx, realmId: number): Promise<boolean> {
  const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
  if (realmSetting(realm, 'presence_disabled')) return true;
  return hasMoreUsersThan(tx, realmId, MAX_USERS_TOLD);
}

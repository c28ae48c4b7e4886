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
import { hasMoreUsersThan, hideSeen, noteSeen, noteSeenOnline } from './queries.ts';
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

/** The ping of who is online already: no event. @returns False, having done nothing, when they are not online. */
function stayOnline({ app, viewer }: Ctx, ping: PresencePing): Promise<boolean> {
  const now = app.now();
  return noteSeenOnline(app.db, { userId: viewer.id, realmId: viewer.realm.id }, ping === 'active', {
    now,
    offlineAt: onlineSince(now),
    freshAt: secondsBefore(now, FRESH_SECONDS),
  });
}

/** The first ping after a while. The user's row is held, so that two of them tell it once. */
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
 * What follows when a user whose row is locked has switched their presence off or on, inside the change: who hides is
 * seen as offline at once, and was not seen later than that.
 */
export async function presenceSwitched(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  if (userSetting(user, 'presence_enabled')) return tell(tx, emit, user, now);
  // A second beyond, because clients count in whole seconds.
  const offlineAt = secondsBefore(onlineSince(now), 1);
  if (await hideSeen(tx, { userId: user.id, realmId: user.realmId }, offlineAt)) await tell(tx, emit, user, now);
}

/** Tells everyone when the user was seen, in an organisation that wants it told and is small enough for it. */
async function tell(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  const row = await tx.presence.findUnique({ where: { realmId_userId: { realmId: user.realmId, userId: user.id } } });
  if (row === null || (await tellsNobody(tx, user.realmId))) return;
  const { activeAt, idleAt, updateId } = row;
  const seen = { activeAt: activeAt ?? user.joinedAt, idleAt: idleAt ?? user.joinedAt, updateId: Number(updateId) };
  emit(presenceChanged({ user: toFacts(user), ...seen }, now), everyone());
}

async function tellsNobody(tx: Tx, realmId: number): Promise<boolean> {
  const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
  if (realmSetting(realm, 'presence_disabled')) return true;
  return hasMoreUsersThan(tx, realmId, MAX_USERS_TOLD);
}

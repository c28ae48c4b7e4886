import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { requirePerson } from '../../access/roles.ts';
import { userSetting } from '../../access/user-settings.ts';
import { everyone } from '../../events/audience.ts';
import { inTurn } from '../../events/commit.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ValidationError } from '../../platform/errors.ts';
import { PRESENCE_SECONDS } from '../../platform/limits.ts';
import { shortValue } from '../../platform/validation.ts';
import { lockUser } from '../locks.ts';
import { toSnapshot } from '../wire.ts';
import { presenceChanged } from './events.ts';
import { hasMoreUsersThan, hideSeen, noteSeen, noteSeenOnline } from './queries.ts';
import { PRESENCE_PINGS, type PresencePing } from './wire.ts';

/**
 * Maximum number of active users in an organization that publishes presence events. In larger organizations, clients receive
 * the presence of other users only in responses to their own requests.
 */
const MAX_USERS = 100;

/**
 * A user who was seen within this many seconds is not recorded again. So several clients of a user cause no more writes than
 * one client. The value is less than the interval of pings, so that each ping of a single client is recorded.
 */
const FRESH_SECONDS = 55;

const secondsBefore = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000);

/** Returns the time after which a user must have been seen to count as online. */
const onlineSince = (now: Date) => secondsBefore(now, PRESENCE_SECONDS.offlineThreshold);

/**
 * Records that the viewer is present, and notifies all users if the viewer was offline. Nothing is stored for users who
 * hide their presence, and in organizations that disable presence.
 *
 * @throws ForbiddenError for a bot.
 * @throws ValidationError if `status` is neither "active" nor "idle".
 */
export async function recordPresence(ctx: Ctx, status: string): Promise<void> {
  const { user, organization } = ctx.viewer;
  requirePerson(ctx);
  const ping = PRESENCE_PINGS.find((known) => known === status);
  if (ping === undefined) {
    throw new ValidationError(`Invalid status: ${status}`, { parameter: 'status', value: shortValue(status) });
  }
  if (organizationSetting(organization, 'presence_disabled') || !userSetting(user, 'presence_enabled')) return;
  // Runs under a permit of the organization's fair limiter, because the statement can wait long: a transaction in `comeOnline`
  // holds the lock of the presence counter while it waits for the event counter.
  if (!(await inTurn(ctx, () => stayOnline(ctx, ping)))) await comeOnline(ctx, ping);
}

/**
 * Records a ping of a user who is already online, without an event.
 *
 * @returns False if the user is not online. Then nothing was written.
 */
function stayOnline({ app, work, viewer }: Ctx, ping: PresencePing): Promise<boolean> {
  const now = app.now();
  return noteSeenOnline(work.db, { userId: viewer.id, organizationId: viewer.organization.id }, ping === 'active', {
    now,
    offlineAt: onlineSince(now),
    freshAt: secondsBefore(now, FRESH_SECONDS),
  });
}

/**
 * Records the first ping of a user who was offline. The lock on the user's row lets only one of two concurrent pings publish
 * the event.
 */
async function comeOnline({ app, work, organizationId, viewer }: Ctx, ping: PresencePing): Promise<void> {
  const now = app.now();
  const activeAt = ping === 'active' ? now : null;
  await transact({ work, organizationId }, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const user = await tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id: viewer.id } } });
    if (!userSetting(user, 'presence_enabled')) return;
    const wasOnline = await noteSeen(tx, { userId: viewer.id, organizationId }, activeAt, {
      now,
      offlineAt: onlineSince(now),
    });
    if (!wasOnline) await publish(tx, emit, user, now);
  });
}

/**
 * Publishes that a user switched their presence off or on, within the transaction that locked the user's row. If the presence
 * was switched off, moves back the time at which the user was last seen, so that the user appears offline immediately.
 */
export async function presenceSwitched(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  if (userSetting(user, 'presence_enabled')) return publish(tx, emit, user, now);
  // The user gets a time that is one second earlier than necessary, because clients compare whole seconds.
  const offlineAt = secondsBefore(onlineSince(now), 1);
  if (await hideSeen(tx, { userId: user.id, organizationId: user.organizationId }, offlineAt))
    await publish(tx, emit, user, now);
}

/**
 * Publishes the time at which the user was last seen, unless the organization disables presence or has more than `MAX_USERS`
 * active users.
 */
async function publish(tx: Tx, emit: Emit, user: User, now: Date): Promise<void> {
  const row = await tx.presence.findUnique({
    where: { organizationId_userId: { organizationId: user.organizationId, userId: user.id } },
  });
  if (row === null || (await publishesNothing(tx, user.organizationId))) return;
  const { activeAt, idleAt, updateId } = row;
  const seen = { activeAt: activeAt ?? user.joinedAt, idleAt: idleAt ?? user.joinedAt, updateId: Number(updateId) };
  emit(presenceChanged({ user: toSnapshot(user), ...seen }, now), everyone());
}

async function publishesNothing(tx: Tx, organizationId: number): Promise<boolean> {
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  if (organizationSetting(organization, 'presence_disabled')) return true;
  return hasMoreUsersThan(tx, organizationId, MAX_USERS);
}

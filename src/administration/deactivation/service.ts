import type { Ctx } from '../../access/context.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { lockChannels } from '../../channels/locks.ts';
import { changing } from '../../events/act.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { deleteMessages } from '../../messages/edits/delete.ts';
import { lockRealm } from '../../people/locks.ts';
import { tellStatusAgain } from '../../people/status/clear.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, type ChatError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isAdministrator, isOwner, OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { giveBotTo, requireMayReactivateBot, requireRoomForBot } from '../bots/owners.ts';
import { rejoinGroups } from '../user-groups/role-groups.ts';
import { requireUniqueName } from '../users/new-user.ts';
import { deactivate, reactivate } from './activity.ts';
import { type Erasure, eraseProfile, messagesToErase } from './erase.ts';
import { CannotDeactivateLastUserError } from './errors.ts';
import { mailDeactivation } from './notice.ts';

const MAX_COMMENT_LENGTH = 2000;

/**
 * Our choice: how many messages are deleted in one change. Some people have sent hundreds of thousands, and others must
 * not wait for all of them.
 */
const BATCH = 200;

/** How a user is deactivated. */
export interface Deactivation {
  readonly erasure?: Erasure | undefined;
  /** They are told by mail, with this text when it is not empty; null and absent: they are not told. */
  readonly comment?: string | null | undefined;
}

/**
 * Deactivates somebody, and before them the bots they own.
 *
 * What is to be deleted of many messages is deleted in changes of their own before. Should that be cut short, a
 * repetition goes on with it.
 *
 * @returns The user as they are after it.
 * @throws BadRequestError when there is no such active person, unless the viewer is an administrator, when the user is
 *   the only owner, or when the comment is too long.
 * @throws UnauthorizedPrincipalError when the user is an owner and the viewer is not.
 * @throws UserDeactivatedError when the viewer was deactivated meanwhile.
 */
export async function deactivateUser(
  ctx: Ctx,
  userId: number,
  { erasure = {}, comment }: Deactivation = {},
): Promise<User> {
  const text =
    comment == null
      ? null
      : requireText('deactivation_notification_comment', comment, { strip: true, max: MAX_COMMENT_LENGTH });
  return leave(ctx, erasure, (tx, now) => requireDeactivatable(tx, now, userId), text);
}

/**
 * Deactivates the viewer, and before them the bots they own.
 *
 * @throws BadRequestError for a bot.
 * @throws CannotDeactivateLastUserError for the only active person, and for the only owner.
 */
export async function deactivateViewer(ctx: Ctx): Promise<User> {
  if (ctx.viewer.user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  return leave(ctx, {}, async (tx, { viewer: { user } }) => {
    if ((await countOthers(tx, user)) === 0) throw new CannotDeactivateLastUserError('user');
    if (isOwner(user.role) && (await countOthers(tx, user, OWNER)) === 0) {
      throw new CannotDeactivateLastUserError('organization owner');
    }
    return user;
  });
}

/**
 * Deactivates one bot. One that is deactivated stays so.
 *
 * @param access Gives the bot, or throws.
 */
export function deactivateBotOf(ctx: Ctx, access: Access): Promise<User> {
  return leave(ctx, {}, access);
}

async function requireDeactivatable(tx: Tx, { realmId, viewer }: Ctx, userId: number): Promise<User> {
  const where = { realmId, id: userId, botType: null, isSystem: false };
  const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
  if (user === null) throw new BadRequestError('No such user');
  const objection = objectionTo(viewer, user, isOwner(user.role) ? await countOthers(tx, user, OWNER) : 0);
  if (objection !== undefined) throw objection;
  return user;
}

/**
 * Why the viewer may not deactivate a person; undefined where they may.
 *
 * @param otherOwners How many other active owners there are; of no matter for who is no owner.
 */
export function objectionTo(
  viewer: Pick<Ctx['viewer'], 'role'>,
  user: Pick<User, 'isActive' | 'role'>,
  otherOwners: number,
): ChatError | undefined {
  if (!user.isActive) return new BadRequestError('User is deactivated');
  if (!isAdministrator(viewer.role)) return new BadRequestError('Insufficient permission');
  if (!isOwner(user.role)) return undefined;
  // First, because REST has one answer for it, whoever asks.
  if (otherOwners === 0) return new BadRequestError('Cannot deactivate the only organization owner');
  return isOwner(viewer.role) ? undefined : new UnauthorizedPrincipalError('an organization owner');
}

/** The active people of an organisation: all, or those with a role. */
const active = (realmId: number, role?: number) => ({
  ...{ realmId, isActive: true, botType: null, isSystem: false },
  ...(role && { role }),
});

/** How many other active people there are: all, or those with a role. */
const countOthers = (tx: Tx, { id, realmId }: User, role?: number): Promise<number> =>
  tx.user.count({ where: { ...active(realmId, role), id: { not: id } } });

/** How many active owners there are in the viewer's organisation. */
export const countOwners = ({ app, realmId }: Ctx): Promise<number> =>
  app.db.user.count({ where: active(realmId, OWNER) });

/** Gives who is to be deactivated, or throws: inside the change, with the organisation and the viewer as of then. */
type Access = (tx: Tx, now: Ctx) => Promise<User>;

/** @param comment Null when nobody is to be told by mail. */
const leave = (ctx: Ctx, erasure: Erasure, access: Access, comment: string | null = null): Promise<User> =>
  changing(() => leaveInSteps(ctx, erasure, access, comment));

async function leaveInSteps(ctx: Ctx, erasure: Erasure, access: Access, comment: string | null): Promise<User> {
  for (;;) {
    const { left, user } = await transact(ctx, async (tx, emit) => {
      await lockRealm(tx, ctx.realmId);
      const now = await asOfNow(tx, ctx);
      const user = await access(tx, now);
      if (!user.isActive) return { left: [], user };
      const leaving = [...(await botsOf(tx, user)), user];
      const doomed = await messagesOfAll(tx, leaving, erasure);
      if (doomed.length > BATCH) return { left: leaving, user };
      await lockPlaces(tx, leaving, doomed);
      for (const one of leaving) await leaveNow(tx, emit, now, one, erasure);
      if (comment !== null) await mailDeactivation(tx, ctx.app, now.viewer.realm, user, comment);
      return {
        left: [],
        user: await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId: user.realmId, id: user.id } } }),
      };
    });
    if (left.length === 0) return user;
    for (const one of left) while ((await eraseBatch(ctx, one, erasure)) === BATCH);
  }
}

const botsOf = (tx: Tx, { id, realmId }: User): Promise<User[]> =>
  tx.user.findMany({ where: { realmId, botOwnerId: id, isActive: true }, orderBy: { id: 'asc' } });

/** One more than a batch at most: enough to know that there are too many. */
async function messagesOfAll(tx: Tx, leaving: readonly User[], erasure: Erasure) {
  const doomed: Awaited<ReturnType<typeof messagesToErase>> = [];
  for (const one of leaving) {
    doomed.push(...(await messagesToErase(tx, one, erasure, BATCH + 1 - doomed.length)));
    if (doomed.length > BATCH) break;
  }
  return doomed;
}

/** Locks all channels the change touches, in the order of channels/locks.ts. */
async function lockPlaces(
  tx: Tx,
  leaving: readonly User[],
  doomed: readonly { readonly channelId: number | null }[],
): Promise<void> {
  const subscriptions = await tx.subscription.findMany({
    where: { realmId: leaving[0]?.realmId ?? 0, userId: { in: leaving.map(({ id }) => id) }, active: true },
    select: { channelId: true },
  });
  const channelIds = [...subscriptions, ...doomed].flatMap(({ channelId }) => channelId ?? []);
  await lockChannels(tx, leaving[0]?.realmId ?? 0, channelIds);
}

async function leaveNow(tx: Tx, emit: Emit, ctx: Ctx, user: User, erasure: Erasure): Promise<void> {
  const { app, viewer } = ctx;
  const place = { realm: viewer.realm, now: app.now() };
  if (erasure.profile) await eraseProfile(tx, emit, user);
  const doomed = await messagesToErase(tx, user, erasure, BATCH);
  await deleteMessages(
    tx,
    emit,
    { ...place, deleter: viewer },
    doomed.map(({ id }) => id),
  );
  await deactivate(tx, emit, place, user);
}

/** @returns How many messages were deleted. */
function eraseBatch({ app, realmId, viewer }: Ctx, user: User, erasure: Erasure): Promise<number> {
  return transact({ app, realmId }, async (tx, emit) => {
    const doomed = await messagesToErase(tx, user, erasure, BATCH);
    const place = { realm: viewer.realm, now: app.now(), deleter: viewer };
    return deleteMessages(
      tx,
      emit,
      place,
      doomed.map(({ id }) => id),
    );
  });
}

/**
 * Makes a deactivated user active again, a person or a bot. Who is active already stays so.
 *
 * A bot whose owner is deactivated, or that has none, becomes the viewer's.
 *
 * @returns The user as they are after it.
 * @throws BadRequestError when there is no such user, unless the viewer is an administrator, for a placeholder account,
 *   for a bot when the viewer may not create bots, and when an active user has the name where that must not be.
 * @throws UnauthorizedPrincipalError unless the viewer is an owner, for a bot with that role.
 * @throws TotalReachedError when the bot would be one more than the viewer may own.
 * @throws UserDeactivatedError when the viewer was deactivated meanwhile.
 */
export function reactivateUser(ctx: Ctx, userId: number): Promise<User> {
  const { app, realmId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    const where = { realmId, id: userId, isSystem: false };
    const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
    if (user === null) throw new BadRequestError('No such user');
    const now = await asOfNow(tx, ctx);
    const { viewer } = now;
    if (!isAdministrator(viewer.role)) throw new BadRequestError('Insufficient permission');
    if (user.isPlaceholder) {
      throw new BadRequestError('Cannot activate a placeholder account; ask the user to sign up, instead.');
    }
    if (user.isActive) return user;
    if (user.botType === null) await requireUniqueName(tx, viewer.realm, user.fullName, user.id);
    else await requireMayReactivateBot(tx, now, user);
    const place = { realm: viewer.realm, now: app.now() };
    await reactivate(tx, emit, place, user);
    if (user.botType !== null && !(await hasActiveOwner(tx, user))) {
      await requireRoomForBot(tx, viewer.user);
      await giveBotTo(tx, emit, user, viewer.user);
    }
    await rejoinGroups(tx, emit, user, place);
    await tellStatusAgain(tx, emit, user);
    return tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId: user.realmId, id: user.id } } });
  });
}

async function hasActiveOwner(tx: Tx, { realmId, botOwnerId }: User): Promise<boolean> {
  if (botOwnerId === null) return false;
  return (await tx.user.count({ where: { realmId, id: botOwnerId, isActive: true } })) > 0;
}

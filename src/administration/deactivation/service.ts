import type { Ctx } from '../../access/context.ts';
import { asOfNow, replaceKey } from '../../access/sign-in.ts';
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
import { eraseMail } from '../../platform/mail/outbox.ts';
import { isAdministrator, isOwner, OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { giveBotTo, requireMayReactivateBot, requireRoomForBot } from '../bot-owners.ts';
import { requireUniqueName } from '../new-user.ts';
import { rejoinGroups } from '../user-groups/role-groups.ts';
import { deactivate, reactivate } from './activity.ts';
import { type Erasure, eraseDeletedMessages, eraseProfile, messagesToErase } from './erase.ts';
import { CannotDeactivateLastUserError } from './errors.ts';
import { type FormerAddresses, readFormerAddresses } from './former-addresses.ts';
import { mailDeactivation } from './notice.ts';
import { type Scrubbed, scrubLog, scrubRest } from './scrub-log.ts';

const MAX_COMMENT_LENGTH = 2000;

/**
 * Maximum number of messages that are deleted in one transaction. Some users have sent hundreds of thousands, and other changes
 * must not wait for all of them.
 */
const BATCH = 200;

/** Options of a deactivation. */
export interface Deactivation {
  readonly erasure?: Erasure | undefined;
  /** Text of the email that notifies the user. If empty, the email has no comment. Null or absent: no email is sent. */
  readonly comment?: string | null | undefined;
}

/**
 * Deactivates a user, and before them the bots they own.
 *
 * If many messages are to be deleted, this happens in earlier transactions. If the deactivation is interrupted, a repetition of
 * the request continues it.
 *
 * @returns The user after the change.
 * @throws BadRequestError if there is no such active person, or the viewer is not an administrator.
 * @throws BadRequestError if the user is the only owner, or the comment is too long.
 * @throws UnauthorizedPrincipalError if the user is an owner and the viewer is not.
 * @throws UserDeactivatedError if the viewer was deactivated in the meantime.
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
 * @throws BadRequestError if the viewer is a bot.
 * @throws CannotDeactivateLastUserError if the viewer is the only active person or the only owner.
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
 * Deactivates one bot, and returns it. Does nothing if the bot is already deactivated.
 *
 * @param access Returns the bot, or throws if the viewer cannot deactivate it.
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
 * Returns the error if the viewer cannot deactivate a person. Undefined if the viewer can.
 *
 * @param otherOwners Number of other active owners. Used only if the person is an owner.
 */
export function objectionTo(
  viewer: Pick<Ctx['viewer'], 'role'>,
  user: Pick<User, 'isActive' | 'role'>,
  otherOwners: number,
): ChatError | undefined {
  if (!user.isActive) return new BadRequestError('User is deactivated');
  if (!isAdministrator(viewer.role)) return new BadRequestError('Insufficient permission');
  if (!isOwner(user.role)) return undefined;
  // Checked first, because the REST interface returns this error to every viewer.
  if (otherOwners === 0) return new BadRequestError('Cannot deactivate the only organization owner');
  return isOwner(viewer.role) ? undefined : new UnauthorizedPrincipalError('an organization owner');
}

/** Returns the filter for the active people of an organization: all, or those with a role. */
const active = (realmId: number, role?: number) => ({
  ...{ realmId, isActive: true, botType: null, isSystem: false },
  ...(role && { role }),
});

/** Counts the active people of the organization besides this user: all of them, or those with a role. */
const countOthers = (tx: Tx, { id, realmId }: User, role?: number): Promise<number> =>
  tx.user.count({ where: { ...active(realmId, role), id: { not: id } } });

/** Counts the active owners of the viewer's organization. */
export const countOwners = ({ app, realmId }: Ctx): Promise<number> =>
  app.db.user.count({ where: active(realmId, OWNER) });

/** A function that returns the user to deactivate, or throws. Called in the transaction, with the current viewer. */
type Access = (tx: Tx, now: Ctx) => Promise<User>;

/**
 * Deactivates the user that `access` returns, and their bots.
 *
 * @param comment Text of the email that notifies the user. Null: no email is sent.
 * @returns The user after the change.
 */
const leave = (ctx: Ctx, erasure: Erasure, access: Access, comment: string | null = null): Promise<User> =>
  changing(() => leaveInSteps(ctx, erasure, access, comment));

async function leaveInSteps(ctx: Ctx, erasure: Erasure, access: Access, comment: string | null): Promise<User> {
  const { app, realmId } = ctx;
  // The log can be long, so most of it is scrubbed before the transaction that deactivates the user, and only the rest within it.
  // If the whole request is one transaction, all of it is scrubbed within that transaction.
  const scrubsBefore = erasure.profile === true && app.transaction === undefined;
  let scrubbedThrough = scrubsBefore ? undefined : 0;
  // Read before the first event is scrubbed, because the log is one of the sources.
  let former: FormerAddresses | undefined;
  for (;;) {
    const { left, user } = await transact(ctx, async (tx, emit) => {
      await lockRealm(tx, realmId);
      const now = await asOfNow(tx, ctx);
      const user = await access(tx, now);
      if (!user.isActive) return { left: [], user };
      const leaving = [...(await botsOf(tx, user)), user];
      const doomed = await messagesOfAll(tx, leaving, erasure);
      if (doomed.length > BATCH || scrubbedThrough === undefined) return { left: leaving, user };
      await lockPlaces(tx, leaving, doomed);
      const addresses = former ?? (erasure.profile ? await readFormerAddresses(tx, realmId, leaving) : undefined);
      for (const one of leaving) {
        if (addresses !== undefined) await eraseProfile(tx, emit, now, one, addresses.get(one.id) ?? []);
        await leaveNow(tx, emit, now, one, erasure);
      }
      if (addresses !== undefined) scrubRest(emit, realmId, toScrub(leaving, addresses), scrubbedThrough);
      if (comment !== null) await mailDeactivation(tx, app, now.viewer.realm, user, comment);
      return {
        left: [],
        user: await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId: user.realmId, id: user.id } } }),
      };
    });
    if (left.length === 0) return user;
    if (scrubsBefore && former === undefined) {
      const addresses = await readFormerAddresses(app.db, realmId, left);
      // Emails are erased before the log is scrubbed. Otherwise, if the request were interrupted in between, its repetition
      // would no longer find these email addresses in the log.
      await transact(ctx, (tx) => eraseMail(tx, realmId, [...addresses.values()].flat()));
      former = addresses;
    }
    for (const one of left) while ((await eraseBatch(ctx, one, erasure)) === BATCH);
    if (former !== undefined) scrubbedThrough = await scrubLog(ctx, toScrub(left, former), scrubbedThrough ?? 0);
  }
}

const toScrub = (users: readonly User[], former: FormerAddresses): Scrubbed[] =>
  users.map((user) => ({ ...user, formerAddresses: former.get(user.id) ?? [] }));

const botsOf = (tx: Tx, { id, realmId }: User): Promise<User[]> =>
  tx.user.findMany({ where: { realmId, botOwnerId: id, isActive: true }, orderBy: { id: 'asc' } });

/** Returns messages that are pending deletion, at most `BATCH + 1`: enough to detect that there are too many. */
async function messagesOfAll(tx: Tx, leaving: readonly User[], erasure: Erasure) {
  const doomed: Awaited<ReturnType<typeof messagesToErase>> = [];
  for (const one of leaving) {
    doomed.push(...(await messagesToErase(tx, one, erasure, BATCH + 1 - doomed.length)));
    if (doomed.length > BATCH) break;
  }
  return doomed;
}

/** Locks all channels that the change affects, in the order of channels/locks.ts. */
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
  const doomed = await messagesToErase(tx, user, erasure, BATCH);
  await deleteMessages(
    tx,
    emit,
    { ...place, deleter: viewer, keepsCopy: false },
    doomed.map(({ id }) => id),
  );
  await eraseDeletedMessages(tx, emit, user, erasure);
  await deactivate(tx, emit, place, user);
}

/**
 * Deletes one batch of a user's messages.
 *
 * @returns Number of messages deleted.
 */
function eraseBatch({ app, realmId, viewer }: Ctx, user: User, erasure: Erasure): Promise<number> {
  return transact({ app, realmId }, async (tx, emit) => {
    const doomed = await messagesToErase(tx, user, erasure, BATCH);
    const place = { realm: viewer.realm, now: app.now(), deleter: viewer, keepsCopy: false };
    return deleteMessages(
      tx,
      emit,
      place,
      doomed.map(({ id }) => id),
    );
  });
}

/**
 * Reactivates a deactivated person or bot. An active user stays unchanged.
 *
 * If the owner of a bot is deactivated or missing, the viewer becomes its owner. The user gets a new API key, because the
 * previous one may be the reason for the deactivation.
 *
 * @returns The user after the change.
 * @throws BadRequestError if the user does not exist or is a placeholder, or the viewer is not an administrator.
 * @throws BadRequestError if the user is a bot and the viewer cannot create bots.
 * @throws BadRequestError if an active user has the name and names must be unique.
 * @throws UnauthorizedPrincipalError if a bot has the owner role and the viewer does not.
 * @throws TotalReachedError if the viewer would own too many bots.
 * @throws UserDeactivatedError if the viewer was deactivated in the meantime.
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
    await replaceKey(tx, emit, ctx, user.id);
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

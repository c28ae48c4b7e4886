import type { Ctx } from '../../access/context.ts';
import { revokeNamedKeys } from '../../access/named-keys.ts';
import { insufficientPermission } from '../../access/permissions/require.ts';
import { requirePerson } from '../../access/roles.ts';
import { asOfNow, replaceKey } from '../../access/sign-in.ts';
import { lockChannels } from '../../channels/locks.ts';
import { changing } from '../../events/act.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { type DeletionPlace, deletedIds, deleteMessages } from '../../messages/edits/delete.ts';
import { lockOrganization } from '../../people/locks.ts';
import { publishStatus } from '../../people/status/clear.ts';
import { noSuchUser } from '../../people/users.ts';
import type { Tx } from '../../platform/db/client.ts';
import { type ChatError, ConflictError, NotFoundError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { eraseMail } from '../../platform/mail/outbox.ts';
import { ADMINISTRATOR, isAdministrator, isOwner, OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { administersBot } from '../bot-administrators.ts';
import { giveBotTo, requireMayReactivateBot, requireRoomForBot } from '../bot-owners.ts';
import { requireUniqueName } from '../new-user.ts';
import { requireFreeSeat } from '../organization-limits.ts';
import { rejoinGroups } from '../user-groups/role-groups.ts';
import { deactivate, reactivate } from './activity.ts';
import { type Erasure, eraseDeletedMessages, eraseProfile, messagesToErase, type PendingDeletion } from './erase.ts';
import { CannotDeactivateLastUserError } from './errors.ts';
import { type FormerAddresses, readFormerAddresses } from './former-addresses.ts';
import { mailDeactivation } from './notice.ts';
import { type Scrubbed, scrubLog, scrubRest } from './scrub-log.ts';

const MAX_COMMENT_LENGTH = 2000;

/**
 * Maximum number of messages that are deleted in one transaction. Further messages are deleted in transactions of their own.
 * Some users have sent hundreds of thousands of messages, and other changes must not wait until all of these are deleted.
 */
const BATCH = 200;

/** Options of the deactivation of a user. */
export interface Deactivation {
  readonly erasure?: Erasure | undefined;
  /** Text of the email that notifies the user. If empty, the email has no comment. Null or absent: no email is sent. */
  readonly comment?: string | null | undefined;
}

/**
 * Deactivates the bots that a user owns, then the user.
 *
 * If more than 200 messages are to be deleted, they are deleted in earlier transactions. If the deactivation is interrupted, a
 * repetition of the request continues the deactivation.
 *
 * @returns The user after the change.
 * @throws NotFoundError if the person does not exist.
 * @throws ForbiddenError if the viewer is not an administrator.
 * @throws ConflictError if the user is deactivated, or is the only owner.
 * @throws ValidationError if the comment is too long.
 * @throws UnauthorizedPrincipalError if the user is an owner and the viewer is not.
 * @throws UserDeactivatedError if the viewer was deactivated after the request was authenticated.
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
 * Deactivates the bots that the viewer owns, then the viewer.
 *
 * @throws ForbiddenError if the viewer is a bot.
 * @throws CannotDeactivateLastUserError if the viewer is the only active person or the only owner.
 */
export async function deactivateViewer(ctx: Ctx): Promise<User> {
  requirePerson(ctx);
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

async function requireDeactivatable(tx: Tx, { organizationId, viewer }: Ctx, userId: number): Promise<User> {
  const where = { organizationId, id: userId, botType: null, isSystem: false };
  const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
  if (user === null) {
    throw new NotFoundError('No such user', {
      type: 'User',
      id: userId,
      parameter: 'user_id',
      schemaMessage: 'There is no person with this id. To deactivate a bot, use `deactivateBot`.',
    });
  }
  const objection = objectionTo(viewer, user, isOwner(user.role) ? await countOthers(tx, user, OWNER) : 0);
  if (objection !== undefined) throw objection;
  return user;
}

/**
 * Returns whether the viewer can deactivate a person or bot.
 *
 * @param owners Counts the active owners of the organization. Called only for an active owner.
 */
export async function mayDeactivate(
  viewer: Ctx['viewer'],
  user: Pick<User, 'isActive' | 'isSystem' | 'role' | 'botType' | 'botOwnerId'>,
  owners: () => Promise<number>,
): Promise<boolean> {
  if (user.isSystem || !user.isActive) return false;
  if (user.botType !== null) return administersBot(viewer, user);
  const otherOwners = isOwner(user.role) ? (await owners()) - 1 : 0;
  return objectionTo(viewer, user, otherOwners) === undefined;
}

/**
 * Returns the error if the viewer cannot deactivate a person, otherwise undefined.
 *
 * @param otherOwners Number of other active owners. Used only if the person is an owner.
 */
function objectionTo(
  viewer: Pick<Ctx['viewer'], 'role'>,
  user: Pick<User, 'isActive' | 'role'>,
  otherOwners: number,
): ChatError | undefined {
  const parameter = 'user_id';
  if (!user.isActive) return new ConflictError('User is deactivated', { parameter });
  if (!isAdministrator(viewer.role)) return insufficientPermission({ role: ADMINISTRATOR });
  if (!isOwner(user.role)) return undefined;
  // Whether the person is the only owner is checked before the role of the viewer, because the REST interface returns this
  // error to every administrator.
  if (otherOwners === 0) return new ConflictError('Cannot deactivate the only organization owner', { parameter });
  return isOwner(viewer.role) ? undefined : new UnauthorizedPrincipalError(OWNER);
}

/** Returns the filter for the active people of an organization: all people, or only those with the role `role`. */
const active = (organizationId: number, role?: number) => ({
  ...{ organizationId, isActive: true, botType: null, isSystem: false },
  ...(role && { role }),
});

/** Counts the active people of the organization other than this user. If `role` is given, counts only people with that role. */
const countOthers = (tx: Tx, { id, organizationId }: User, role?: number): Promise<number> =>
  tx.user.count({ where: { ...active(organizationId, role), id: { not: id } } });

/** Counts the active owners of the viewer's organization. */
export const countOwners = ({ work, organizationId }: Ctx): Promise<number> =>
  work.db.user.count({ where: active(organizationId, OWNER) });

/**
 * A function that returns the user to deactivate, or throws if the viewer cannot deactivate that user. It runs in the
 * transaction. `now` is the context with the viewer as read in the transaction.
 */
type Access = (tx: Tx, now: Ctx) => Promise<User>;

/**
 * Deactivates the bots of the user that `access` returns, then the user.
 *
 * @param comment Text of the email that notifies the user. Null: no email is sent.
 * @returns The user after the change.
 */
const leave = (ctx: Ctx, erasure: Erasure, access: Access, comment: string | null = null): Promise<User> =>
  changing(() => leaveInSteps(ctx, erasure, access, comment));

async function leaveInSteps(ctx: Ctx, erasure: Erasure, access: Access, comment: string | null): Promise<User> {
  const { app, work, organizationId } = ctx;
  // The event log can be long, so most of it is scrubbed before the transaction that deactivates the user. Only the rest is
  // scrubbed within that transaction. If the whole request is one transaction, the whole log is scrubbed within it.
  const scrubsBefore = erasure.profile === true && work.transaction === undefined;
  let scrubbedThrough = scrubsBefore ? undefined : 0;
  // Former addresses are read before the first event is scrubbed, because the log contains some of these addresses.
  let former: FormerAddresses | undefined;
  for (;;) {
    const { left, user } = await transact(ctx, async (tx, emit) => {
      await lockOrganization(tx, organizationId);
      const now = await asOfNow(tx, ctx);
      const user = await access(tx, now);
      if (!user.isActive) return { left: [], user };
      const leaving = [...(await botsOf(tx, user)), user];
      const messages = await messagesOfAll(tx, leaving, erasure);
      if (messages.length > BATCH || scrubbedThrough === undefined) return { left: leaving, user };
      await lockChannelsOf(tx, leaving, messages);
      const addresses =
        former ?? (erasure.profile ? await readFormerAddresses(tx, organizationId, leaving) : undefined);
      for (const one of leaving) {
        if (addresses !== undefined) await eraseProfile(tx, emit, now, one, addresses.get(one.id) ?? []);
        await leaveNow(tx, emit, now, one, erasure);
      }
      if (addresses !== undefined) {
        emit.audit(...leaving.map(({ id }) => ({ action: 'user_erased', objectType: 'user', objectId: id }) as const));
        scrubRest(emit, organizationId, toScrub(leaving, addresses), scrubbedThrough);
      }
      if (comment !== null) await mailDeactivation(tx, app, now.viewer.organization, user, comment);
      return {
        left: [],
        user: await tx.user.findUniqueOrThrow({
          where: { organizationId_id: { organizationId: user.organizationId, id: user.id } },
        }),
      };
    });
    if (left.length === 0) return user;
    if (scrubsBefore && former === undefined) {
      const addresses = await readFormerAddresses(work.db, organizationId, left);
      // Emails are erased before the log is scrubbed. Otherwise, if the request were interrupted in between, its repetition
      // would no longer find these email addresses in the log.
      await transact(ctx, (tx) => eraseMail(tx, organizationId, [...addresses.values()].flat()));
      former = addresses;
    }
    for (const one of left) while ((await eraseBatch(ctx, one, erasure)) === BATCH);
    if (former !== undefined) scrubbedThrough = await scrubLog(ctx, toScrub(left, former), scrubbedThrough ?? 0);
  }
}

const toScrub = (users: readonly User[], former: FormerAddresses): Scrubbed[] =>
  users.map((user) => ({ ...user, formerAddresses: former.get(user.id) ?? [] }));

const botsOf = (tx: Tx, { id, organizationId }: User): Promise<User[]> =>
  tx.user.findMany({ where: { organizationId, botOwnerId: id, isActive: true }, orderBy: { id: 'asc' } });

/**
 * Returns messages of the users that `erasure` selects for deletion, at most `BATCH + 1`. More than `BATCH` messages are too
 * many for one transaction.
 */
async function messagesOfAll(tx: Tx, leaving: readonly User[], erasure: Erasure) {
  const messages: Awaited<ReturnType<typeof messagesToErase>> = [];
  for (const one of leaving) {
    messages.push(...(await messagesToErase(tx, one, erasure, BATCH + 1 - messages.length)));
    if (messages.length > BATCH) break;
  }
  return messages;
}

/**
 * Locks the channels to which the users are subscribed, and the channels of the messages to delete. Takes the locks in the
 * order of channels/locks.ts.
 */
async function lockChannelsOf(
  tx: Tx,
  leaving: readonly User[],
  messages: readonly { readonly channelId: number | null }[],
): Promise<void> {
  const subscriptions = await tx.subscription.findMany({
    where: {
      organizationId: leaving[0]?.organizationId ?? 0,
      userId: { in: leaving.map(({ id }) => id) },
      active: true,
    },
    select: { channelId: true },
  });
  const channelIds = [...subscriptions, ...messages].flatMap(({ channelId }) => channelId ?? []);
  await lockChannels(tx, leaving[0]?.organizationId ?? 0, channelIds);
}

async function leaveNow(tx: Tx, emit: Emit, ctx: Ctx, user: User, erasure: Erasure): Promise<void> {
  const { app, viewer } = ctx;
  const place = { organization: viewer.organization, now: app.now() };
  const messages = await messagesToErase(tx, user, erasure, BATCH);
  await eraseMessages(tx, emit, { ...place, deleter: viewer, keepsCopy: false }, user, messages);
  await eraseDeletedMessages(tx, emit, user, erasure);
  await deactivate(tx, emit, place, user);
}

/**
 * Deletes the oldest messages of a user that `erasure` selects, at most `BATCH`, in one transaction.
 *
 * @returns Number of messages deleted.
 */
function eraseBatch(ctx: Ctx, user: User, erasure: Erasure): Promise<number> {
  const { app, viewer } = ctx;
  return transact(ctx, async (tx, emit) => {
    const messages = await messagesToErase(tx, user, erasure, BATCH);
    const place = { organization: viewer.organization, now: app.now(), deleter: viewer, keepsCopy: false };
    return eraseMessages(tx, emit, place, user, messages);
  });
}

/** Deletes messages of a user, with an entry of the audit log. @returns Number of messages deleted. */
async function eraseMessages(
  tx: Tx,
  emit: Emit,
  place: DeletionPlace,
  { id, botOwnerId }: User,
  messages: readonly PendingDeletion[],
): Promise<number> {
  const pending = messages.map((message) => message.id);
  const deleted = await deleteMessages(tx, emit, place, pending);
  if (deleted.length > 0) {
    const object = { objectType: 'user', objectId: id, ownerId: botOwnerId ?? id } as const;
    emit.audit({ action: 'messages_deleted', ...object, changes: deletedIds(deleted) });
  }
  return deleted.length;
}

/**
 * Reactivates a deactivated person or bot. An active user stays unchanged.
 *
 * If the owner of a bot is deactivated or missing, the viewer becomes its owner. The user gets a new API key, because a stolen
 * key may be the reason for the deactivation.
 *
 * @returns The user after the change.
 * @throws NotFoundError if the user does not exist.
 * @throws ForbiddenError if the viewer is not an administrator, or if the user is a bot and the viewer cannot create bots.
 * @throws ConflictError if the user is a placeholder, or if an active user has the name and names must be unique.
 * @throws UnauthorizedPrincipalError if a bot has the owner role and the viewer does not.
 * @throws TotalReachedError if the viewer would become the owner of the bot and own too many bots.
 * @throws UserDeactivatedError if the viewer was deactivated after the request was authenticated.
 */
export function reactivateUser(ctx: Ctx, userId: number): Promise<User> {
  const { app, organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    const where = { organizationId, id: userId, isSystem: false };
    const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
    if (user === null) throw noSuchUser(userId);
    const now = await asOfNow(tx, ctx);
    const { viewer } = now;
    if (!isAdministrator(viewer.role)) throw insufficientPermission({ role: ADMINISTRATOR });
    if (user.isPlaceholder) {
      throw new ConflictError('Cannot activate a placeholder account; ask the user to sign up, instead.', {
        parameter: 'user_id',
      });
    }
    if (user.isActive) return user;
    if (user.botType === null) {
      await requireFreeSeat(tx, viewer.organization);
      await requireUniqueName(tx, viewer.organization, user.fullName, user.id, 'user_id');
    } else {
      await requireMayReactivateBot(tx, now, user);
    }
    const place = { organization: viewer.organization, now: app.now() };
    await reactivate(tx, emit, place, user);
    await replaceKey(tx, emit, ctx, user.id);
    // A node of the previous version, which does not delete these keys, can have deactivated the user.
    await revokeNamedKeys(tx, emit, user);
    if (user.botType !== null && !(await hasActiveOwner(tx, user))) {
      await requireRoomForBot(tx, viewer.user);
      await giveBotTo(tx, emit, user, viewer.user);
    }
    await rejoinGroups(tx, emit, user, place);
    await publishStatus(tx, emit, user);
    return tx.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: user.organizationId, id: user.id } },
    });
  });
}

async function hasActiveOwner(tx: Tx, { organizationId, botOwnerId }: User): Promise<boolean> {
  if (botOwnerId === null) return false;
  return (await tx.user.count({ where: { organizationId, id: botOwnerId, isActive: true } })) > 0;
}

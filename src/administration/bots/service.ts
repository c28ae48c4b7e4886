import { requireAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { insufficientPermission } from '../../access/permissions/require.ts';
import { requireAdministrator, requireMember } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { readAvatar, setAvatar } from '../../people/avatars/service.ts';
import { GENERIC_BOT } from '../../people/bot-types.ts';
import { requireFullName } from '../../people/full-name.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, UnauthorizedPrincipalError, ValidationError } from '../../platform/errors.ts';
import { domainOf } from '../../platform/hosts.ts';
import { isRowId } from '../../platform/ids.ts';
import { ADMINISTRATOR, isAdministrator, isOwner, OWNER } from '../../platform/roles.ts';
import { administersBot } from '../bot-administrators.ts';
import { giveBotTo, requireMayCreateBots, requireRoomForBot } from '../bot-owners.ts';
import { channelNames } from '../bot-wire.ts';
import { deactivateBotOf } from '../deactivation/service.ts';
import { checkNewUser, isNameTaken, type MadeUser, refusingTakenAddress } from '../new-user.ts';
import { requireLastingKey, requireProof, requireRecentSignIn } from '../sign-in/proof.ts';
import { changeRole, introduceUser, rename, requireRole, requireRoleChange } from '../users/service.ts';
import { type DefaultsEdit, publishDefaults, requireDefaults } from './defaults.ts';

/** Properties of a new bot. */
export interface NewBot {
  readonly fullName: string;
  /** First part of the bot's email address: "<shortName>-bot@<domain>". */
  readonly shortName: string;
  /** Type of the bot. Absent: 1 (generic), the only supported type. Other types are refused with `ValidationError`. */
  readonly type?: number | undefined;
  readonly defaults?: DefaultsEdit | undefined;
  /** Avatar: a PNG, JPEG, WebP or GIF file of at most 5 MiB. A larger file is refused with `ValidationError`. */
  readonly avatar?: Uint8Array | undefined;
  /** The viewer's own password, as proof of identity. */
  readonly currentPassword?: string | undefined;
}

/**
 * Creates a bot that the viewer owns. It has the member role and no subscriptions.
 *
 * @returns The bot and its API key.
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws ForbiddenError if the viewer cannot create bots, or uses an API key that expires.
 * @throws ValidationError if type, name or short name is invalid, or the password is wrong.
 * @throws ConflictError if the name or the email address is in use.
 * @throws NotFoundError if a channel does not exist or the viewer cannot read it.
 * @throws BadImageError if the avatar is not a readable image.
 * @throws PasswordRequiredError without a password, in a session whose sign-in was more than ten minutes ago.
 * @throws RateLimitHitError after 5 wrong passwords within 30 minutes.
 * @throws TotalReachedError if the viewer would own more than 200 bots, deactivated ones included.
 */
export async function createBot(
  ctx: Ctx,
  { fullName, shortName, type = GENERIC_BOT, defaults = {}, avatar, currentPassword }: NewBot,
): Promise<MadeUser & BotSurroundings> {
  requireMember(ctx);
  const { app, work, organizationId, viewer } = ctx;
  if (type !== GENERIC_BOT) throw new ValidationError('Invalid bot type', { parameter: 'bot_type', value: type });
  requireLastingKey(ctx);
  await requireMayCreateBots(work.db, ctx);
  await requireProof(ctx, currentPassword);
  if (shortName.trim() === '') {
    throw new ValidationError('Bad name or username', {
      parameter: 'short_name',
      minimum: 1,
      schemaMessage: 'The short name cannot be blank.',
    });
  }
  const email = requireAddress(`${shortName.trim()}-bot@${domainOf(app.config, viewer.organization.subdomain)}`, {
    parameter: 'short_name',
    schemaMessage: 'The short name does not form a valid email address.',
  });
  const row = await checkNewUser(app, viewer.organization, {
    email,
    fullName,
    botType: GENERIC_BOT,
    botOwnerId: viewer.id,
  });
  const image = avatar === undefined ? undefined : await readAvatar(ctx, avatar);
  const insert = () =>
    transact(ctx, async (tx, emit) => {
      await lockOrganization(tx, organizationId);
      const now = await asOfNow(tx, ctx);
      await requireMayCreateBots(tx, now);
      if (await isNameTaken(tx, organizationId, row.fullName)) throw nameTaken();
      await requireRoomForBot(tx, viewer.user);
      const whole = { ...row, ...(await requireDefaults(tx, now, defaults)) };
      const made = await introduceUser(tx, emit, now, now.viewer.organization, whole);
      const user = image === undefined ? made.user : await setAvatar(tx, emit, made.user, image);
      return { ...made, user, ...(await surroundingsOf(tx, user)) };
    });
  return refusingTakenAddress(insert, 'short_name');
}

const nameTaken = () => new ConflictError('Name is already in use.', { parameter: 'full_name' });

/**
 * Returns a bot that the viewer can administer, as its owner or as an administrator. If another user's bot has the owner role,
 * the viewer must be an organization owner, because the bot's API key grants the rights of that role.
 *
 * @throws NotFoundError if the bot does not exist.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or if the bot has the owner role and the viewer does not.
 */
export async function accessBot(db: Pick<Tx, 'user'>, ctx: Ctx, botId: number): Promise<User> {
  requireMember(ctx);
  const { viewer, organizationId } = ctx;
  const where = { organizationId, id: botId, botType: { not: null }, isSystem: false };
  const bot = isRowId(botId) ? await db.user.findFirst({ where }) : null;
  if (bot === null) throw noSuchBot(botId);
  if (bot.botOwnerId === viewer.id) return bot;
  if (!isAdministrator(viewer.role)) throw insufficientPermission({ role: ADMINISTRATOR, parameter: 'bot_id' });
  if (isOwner(bot.role) && !isOwner(viewer.role)) throw new UnauthorizedPrincipalError(OWNER);
  return bot;
}

const noSuchBot = (id: number) =>
  new NotFoundError('No such bot', {
    type: 'User',
    id,
    parameter: 'bot_id',
    schemaMessage: 'There is no bot with this id.',
  });

/** Returns the bots that the viewer can administer, among the users with the given ids. */
export async function administeredBots({ work, organizationId, viewer }: Ctx, ids: readonly number[]): Promise<User[]> {
  const where = { organizationId, id: { in: [...ids] }, botType: { not: null }, isSystem: false };
  const bots = await work.db.user.findMany({ where });
  return bots.filter((bot) => administersBot(viewer, bot));
}

/** Returns the filter for the viewer's own active bots. */
export const ownBots = ({ id, organization }: Ctx['viewer']) => ({
  organizationId: organization.id,
  botOwnerId: id,
  isActive: true,
});

/**
 * Data that a request returns besides the changed bot. It is read in the transaction of the change, because the change can end
 * the viewer's access to the bot.
 */
export interface BotSurroundings {
  readonly owner: User | null;
  /** Returns the name of a default channel by its id. */
  readonly nameOf: Awaited<ReturnType<typeof channelNames>>;
}

async function surroundingsOf(tx: Tx, bot: User): Promise<BotSurroundings> {
  const owner =
    bot.botOwnerId === null
      ? null
      : await tx.user.findUnique({
          where: { organizationId_id: { organizationId: bot.organizationId, id: bot.botOwnerId } },
        });
  return { owner, nameOf: await channelNames(tx, bot.organizationId, [bot]) };
}

/** Fields of a bot to change. Absent fields stay unchanged. */
export interface BotEdit {
  readonly fullName?: string | undefined;
  /** New role of the bot, one of `ROLES`. */
  readonly role?: number | undefined;
  readonly ownerId?: number | undefined;
  readonly defaults?: DefaultsEdit | undefined;
  readonly avatar?: Uint8Array | undefined;
  /** The viewer's own password, as proof of identity. Used for changes of the role and the owner. */
  readonly currentPassword?: string | undefined;
}

/**
 * Updates a bot. No event is sent for values that do not change.
 *
 * @returns The bot after the change.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws ValidationError if the name, role or owner is invalid, or the password is wrong.
 * @throws ConflictError if the name is in use or the owner is deactivated.
 * @throws NotFoundError if the bot, the owner or a channel does not exist.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, if the bot has the owner role and the viewer does not, or if the
 *   role changes and the viewer is not an administrator.
 * @throws BadImageError if the avatar is not a readable image.
 * @throws PasswordRequiredError if the role or owner is given without a password, in a session whose sign-in was more than ten
 *   minutes ago.
 * @throws RateLimitHitError after 5 wrong passwords within 30 minutes.
 */
export async function updateBot(
  ctx: Ctx,
  botId: number,
  edit: BotEdit,
): Promise<{ readonly bot: User } & BotSurroundings> {
  requireMember(ctx);
  const { role, ownerId } = edit;
  const fullName = edit.fullName === undefined ? undefined : requireFullName(edit.fullName);
  if (role !== undefined) requireRole(role);
  if (role !== undefined || ownerId !== undefined) await requireProof(ctx, edit.currentPassword);
  const image = edit.avatar === undefined ? undefined : await readAvatar(ctx, edit.avatar);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    const now = await asOfNow(tx, ctx);
    const bot = await accessBot(tx, now, botId);
    const defaults = await requireDefaults(tx, now, edit.defaults ?? {});
    const owner =
      ownerId === undefined || ownerId === bot.botOwnerId ? undefined : await requireOwnerToBe(tx, ctx, ownerId);
    if (role !== undefined && role !== bot.role) {
      requireAdministrator(now);
      await requireRoleChange(tx, now, bot, role);
    }
    if (fullName !== undefined && fullName !== bot.fullName) {
      if (await isNameTaken(tx, ctx.organizationId, fullName, bot.id)) throw nameTaken();
      await rename(tx, emit, now, bot, fullName);
    }
    if (role !== undefined && role !== bot.role) await changeRole(tx, emit, now, bot, role);
    await publishDefaults(
      tx,
      emit,
      bot,
      await tx.user.update({
        where: { organizationId_id: { organizationId: bot.organizationId, id: bot.id } },
        data: defaults,
      }),
    );
    if (image !== undefined) await setAvatar(tx, emit, bot, image);
    if (owner !== undefined) await giveBotTo(tx, emit, bot, owner);
    const after = await tx.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: bot.organizationId, id: bot.id } },
    });
    return { bot: after, ...(await surroundingsOf(tx, after)) };
  });
}

async function requireOwnerToBe(tx: Tx, { organizationId }: Ctx, ownerId: number): Promise<User> {
  const where = { organizationId, id: ownerId, isSystem: false };
  const owner = isRowId(ownerId) ? await tx.user.findFirst({ where }) : null;
  const parameter = 'bot_owner_id';
  if (owner === null) {
    throw new NotFoundError('Failed to change owner, no such user', { type: 'User', id: ownerId, parameter });
  }
  if (!owner.isActive) throw new ConflictError('Failed to change owner, user is deactivated', { parameter });
  if (owner.botType !== null) {
    throw new ValidationError("Failed to change owner, bots can't own other bots", { parameter });
  }
  await requireRoomForBot(tx, owner);
  return owner;
}

/**
 * Deactivates a bot, and returns it. Does nothing if the bot is already deactivated.
 *
 * @throws NotFoundError if the bot does not exist.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or if the bot has the owner role and the viewer does not.
 */
export async function deactivateBot(ctx: Ctx, botId: number): Promise<User> {
  return deactivateBotOf(ctx, (tx, now) => accessBot(tx, now, botId));
}

/** A bot with its API key. */
export interface KeyedBot {
  readonly bot: User;
  readonly apiKey: string;
}

/**
 * Returns the viewer's own active bots with their API keys, oldest first.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws PasswordRequiredError in a session whose sign-in was more than ten minutes ago.
 */
export async function listOwnBots(ctx: Ctx): Promise<KeyedBot[]> {
  requireMember(ctx);
  requireLastingKey(ctx);
  requireRecentSignIn(ctx);
  const { app, work, viewer } = ctx;
  const rows = await work.db.user.findMany({
    where: ownBots(viewer),
    include: { apiKey: true },
    orderBy: [{ joinedAt: 'asc' }, { id: 'asc' }],
  });
  return rows.flatMap(({ apiKey, ...bot }) => (apiKey === null ? [] : [{ bot, apiKey: app.keys.open(apiKey.sealed) }]));
}

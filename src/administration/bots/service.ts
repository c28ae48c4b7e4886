import type { Ctx } from '../../access/context.ts';
import { requireAdministrator, requireMember } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { readAvatar, setAvatar } from '../../people/avatars/service.ts';
import { GENERIC_BOT } from '../../people/bot-types.ts';
import { requireFullName } from '../../people/full-name.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { domainOf } from '../../platform/hosts.ts';
import { isRowId } from '../../platform/ids.ts';
import { isAdministrator, isOwner } from '../../platform/roles.ts';
import { administersBot } from '../bot-administrators.ts';
import { giveBotTo, requireMayCreateBots, requireRoomForBot } from '../bot-owners.ts';
import { channelNames } from '../bot-wire.ts';
import { deactivateBotOf } from '../deactivation/service.ts';
import { checkNewUser, isNameTaken, type MadeUser, refusingTakenAddress } from '../new-user.ts';
import { requireProof, requireRecentSignIn } from '../sign-in/proof.ts';
import { changeRole, introduceUser, rename, requireRole, requireRoleChange } from '../users/service.ts';
import { type DefaultsEdit, requireDefaults, tellDefaults } from './defaults.ts';

/** Properties of a new bot. */
export interface NewBot {
  readonly fullName: string;
  /** First part of the bot's email address: "<shortName>-bot@<domain>". */
  readonly shortName: string;
  /** Type of the bot. Absent: 1 (generic), the only supported type. */
  readonly type?: number | undefined;
  readonly defaults?: DefaultsEdit | undefined;
  /** Avatar: a PNG, JPEG, WebP or GIF file of at most 5 MiB. */
  readonly avatar?: Uint8Array | undefined;
  /** The viewer's own password, as proof of identity. */
  readonly currentPassword?: string | undefined;
}

/**
 * Creates a bot that the viewer owns. It has the member role and no subscriptions.
 *
 * @returns The bot and its API key.
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the viewer cannot create bots, or if type, name, email address or a channel is invalid.
 * @throws BadImageError if the avatar is not a readable image.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 * @throws TotalReachedError if the viewer would own more than 200 bots, deactivated ones included.
 */
export async function createBot(
  ctx: Ctx,
  { fullName, shortName, type = GENERIC_BOT, defaults = {}, avatar, currentPassword }: NewBot,
): Promise<MadeUser & BotSurroundings> {
  requireMember(ctx);
  const { app, realmId, viewer } = ctx;
  if (type !== GENERIC_BOT) throw new BadRequestError('Invalid bot type');
  await requireMayCreateBots(app.db, ctx);
  await requireProof(ctx, currentPassword);
  if (shortName.trim() === '') throw new BadRequestError('Bad name or username');
  const email = `${shortName.trim()}-bot@${domainOf(app.config, viewer.realm.subdomain)}`;
  const row = await checkNewUser(app, viewer.realm, { email, fullName, botType: GENERIC_BOT, botOwnerId: viewer.id });
  const image = avatar === undefined ? undefined : await readAvatar(ctx, avatar);
  return refusingTakenAddress(() =>
    transact(ctx, async (tx, emit) => {
      await lockRealm(tx, realmId);
      const now = await asOfNow(tx, ctx);
      await requireMayCreateBots(tx, now);
      if (await isNameTaken(tx, realmId, row.fullName)) throw new BadRequestError('Name is already in use.');
      await requireRoomForBot(tx, viewer);
      const whole = { ...row, ...(await requireDefaults(tx, now, defaults)) };
      const made = await introduceUser(tx, emit, now, now.viewer.realm, whole);
      const user = image === undefined ? made.user : await setAvatar(tx, emit, made.user, image);
      return { ...made, user, ...(await surroundingsOf(tx, user)) };
    }),
  );
}

/**
 * Returns a bot if the viewer can administer it, as its owner or as an administrator. If another user's bot has the owner
 * role, the viewer must be an owner, because the bot's API key grants its rights.
 *
 * @throws BadRequestError if the bot does not exist or the viewer cannot administer it.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or is not an owner although the bot requires one.
 */
export async function accessBot(db: Pick<Tx, 'user'>, ctx: Ctx, botId: number): Promise<User> {
  requireMember(ctx);
  const { viewer, realmId } = ctx;
  const where = { realmId, id: botId, botType: { not: null }, isSystem: false };
  const bot = isRowId(botId) ? await db.user.findFirst({ where }) : null;
  if (bot === null) throw new BadRequestError('No such bot');
  if (bot.botOwnerId === viewer.id) return bot;
  if (!isAdministrator(viewer.role)) throw new BadRequestError('Insufficient permission');
  if (isOwner(bot.role) && !isOwner(viewer.role)) throw new UnauthorizedPrincipalError('an organization owner');
  return bot;
}

/** Returns the bots among the users with these ids that the viewer can administer. */
export async function administeredBots({ app, realmId, viewer }: Ctx, ids: readonly number[]): Promise<User[]> {
  const where = { realmId, id: { in: [...ids] }, botType: { not: null }, isSystem: false };
  const bots = await app.db.user.findMany({ where });
  return bots.filter((bot) => administersBot(viewer, bot));
}

/** Returns the filter for the viewer's own active bots. */
export const ownBots = ({ id, realm }: Ctx['viewer']) => ({ realmId: realm.id, botOwnerId: id, isActive: true });

/** Data returned with a changed bot. Read in the transaction, because afterwards it may be inaccessible. */
export interface BotSurroundings {
  readonly owner: User | null;
  /** Returns the name of a default channel by its id. */
  readonly nameOf: Awaited<ReturnType<typeof channelNames>>;
}

async function surroundingsOf(tx: Tx, bot: User): Promise<BotSurroundings> {
  const owner =
    bot.botOwnerId === null
      ? null
      : await tx.user.findUnique({ where: { realmId_id: { realmId: bot.realmId, id: bot.botOwnerId } } });
  return { owner, nameOf: await channelNames(tx, bot.realmId, [bot]) };
}

/** Fields of a bot to change. Absent fields stay unchanged. */
export interface BotEdit {
  readonly fullName?: string | undefined;
  /** New role of the bot, one of `ROLES`. */
  readonly role?: number | undefined;
  readonly ownerId?: number | undefined;
  readonly defaults?: DefaultsEdit | undefined;
  readonly avatar?: Uint8Array | undefined;
}

/**
 * Updates a bot. No event is sent for values that do not change.
 *
 * @returns The bot after the change.
 * @throws BadRequestError, UnauthorizedPrincipalError as in `accessBot`.
 * @throws BadRequestError if a name, role, owner or channel is invalid.
 * @throws UnauthorizedPrincipalError if the role changes and the viewer is not an administrator.
 * @throws BadImageError if the avatar is not a readable image.
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
  const image = edit.avatar === undefined ? undefined : await readAvatar(ctx, edit.avatar);
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, ctx.realmId);
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
      if (await isNameTaken(tx, ctx.realmId, fullName, bot.id)) throw new BadRequestError('Name is already in use.');
      await rename(tx, emit, now, bot, fullName);
    }
    if (role !== undefined && role !== bot.role) await changeRole(tx, emit, now, bot, role);
    await tellDefaults(
      tx,
      emit,
      bot,
      await tx.user.update({ where: { realmId_id: { realmId: bot.realmId, id: bot.id } }, data: defaults }),
    );
    if (image !== undefined) await setAvatar(tx, emit, bot, image);
    if (owner !== undefined) await giveBotTo(tx, emit, bot, owner);
    const after = await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId: bot.realmId, id: bot.id } } });
    return { bot: after, ...(await surroundingsOf(tx, after)) };
  });
}

async function requireOwnerToBe(tx: Tx, { realmId }: Ctx, ownerId: number): Promise<User> {
  const where = { realmId, id: ownerId, isSystem: false };
  const owner = isRowId(ownerId) ? await tx.user.findFirst({ where }) : null;
  if (owner === null) throw new BadRequestError('Failed to change owner, no such user');
  if (!owner.isActive) throw new BadRequestError('Failed to change owner, user is deactivated');
  if (owner.botType !== null) throw new BadRequestError("Failed to change owner, bots can't own other bots");
  await requireRoomForBot(tx, owner);
  return owner;
}

/**
 * Deactivates a bot, and returns it. Does nothing if the bot is already deactivated.
 *
 * @throws BadRequestError, UnauthorizedPrincipalError as in `accessBot`.
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
 * @throws PasswordRequiredError in a session whose sign-in is not recent.
 */
export async function listOwnBots(ctx: Ctx): Promise<KeyedBot[]> {
  requireMember(ctx);
  requireRecentSignIn(ctx);
  const { app, viewer } = ctx;
  const rows = await app.db.user.findMany({
    where: ownBots(viewer),
    include: { apiKey: true },
    orderBy: [{ joinedAt: 'asc' }, { id: 'asc' }],
  });
  return rows.flatMap(({ apiKey, ...bot }) => (apiKey === null ? [] : [{ bot, apiKey: app.keys.open(apiKey.sealed) }]));
}

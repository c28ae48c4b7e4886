import type { Ctx } from '../access/context.ts';
import { type ChannelActor, channelActor, insufficientPermission, mayInRealm } from '../access/permissions/require.ts';
import { type Audience, either, everyone, roleAtMost, users } from '../events/audience.ts';
import type { Emit } from '../events/log.ts';
import type { User } from '../generated/prisma/client.ts';
import { botOwnerChanged } from '../people/events.ts';
import type { Tx } from '../platform/db/client.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../platform/errors.ts';
import { ADMINISTRATOR, isAdministrator, isOwner } from '../platform/roles.ts';
import { requireWithin } from '../platform/totals.ts';
import { botAdded, botLost } from './bot-events.ts';
import { readWireBots } from './bot-wire.ts';
import { isNameTaken } from './new-user.ts';

/** Returns the audience of a bot's own events: its owner and administrators. */
export const administratorsOf = ({ botOwnerId }: Pick<User, 'botOwnerId'>): Audience =>
  either(roleAtMost(ADMINISTRATOR), users(botOwnerId === null ? [] : [botOwnerId]));

/** Sends the data of a new bot to its owner and to administrators. Other users cannot see this data. */
export async function introduceBot(tx: Tx, emit: Emit, bot: User): Promise<void> {
  for (const wire of await readWireBots(tx, bot.realmId, [bot])) emit(botAdded(wire, bot), administratorsOf(bot));
}

/**
 * Returns whether the viewer can create bots. Bots themselves cannot.
 *
 * @param actor The viewer, as an actor for checks of permissions.
 */
export const mayCreateBots = (actor: ChannelActor, { user }: Ctx['viewer']): boolean =>
  mayInRealm(actor, 'can_create_bots_group') && user.botType === null;

/** Checks that the viewer can create bots. @throws BadRequestError if the viewer cannot. */
export async function requireMayCreateBots(tx: Pick<Tx, 'channel' | 'userGroup'>, ctx: Ctx): Promise<void> {
  const { viewer } = ctx;
  if (!mayCreateBots(await channelActor(tx, viewer, ctx.app.now()), viewer)) throw insufficientPermission();
}

/**
 * Checks that a user can own one more bot. Deactivated bots count, because their owners still receive their data. The caller
 * must hold the lock of the organization's row.
 *
 * @throws TotalReachedError if the user would own too many bots.
 */
export async function requireRoomForBot(tx: Tx, { id }: Pick<User, 'id'>): Promise<void> {
  requireWithin('bots_per_user', 1 + (await tx.user.count({ where: { botOwnerId: id } })));
}

/**
 * Checks that the viewer can reactivate a bot. Only owners can reactivate a bot with the owner role, because its API key grants
 * the rights of an owner and the viewer may become the owner of the bot.
 *
 * @throws UnauthorizedPrincipalError if the bot has the owner role and the viewer does not.
 * @throws BadRequestError if the viewer cannot create bots, or an active user has the bot's name.
 */
export async function requireMayReactivateBot(tx: Tx, ctx: Ctx, bot: User): Promise<void> {
  if (isOwner(bot.role) && !isOwner(ctx.viewer.role)) throw new UnauthorizedPrincipalError('an organization owner');
  await requireMayCreateBots(tx, ctx);
  if (await isNameTaken(tx, bot.realmId, bot.fullName, bot.id)) {
    throw new BadRequestError(
      `There is already an active bot named "${bot.fullName}" in this organization. ` +
        'To reactivate this bot, you must rename or deactivate the other one first.',
    );
  }
}

/** Changes the owner of a bot, and notifies all users. The transaction must hold the lock of the organization's row. */
export async function giveBotTo(tx: Tx, emit: Emit, bot: User, owner: Pick<User, 'id' | 'role'>): Promise<void> {
  const { id, realmId, botOwnerId } = bot;
  const former =
    botOwnerId === null ? null : await tx.user.findUnique({ where: { realmId_id: { realmId, id: botOwnerId } } });
  const after = await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { botOwnerId: owner.id } });
  if (former !== null && !isAdministrator(former.role)) emit(botLost(id), users([former.id]));
  if (!isAdministrator(owner.role)) {
    for (const wire of await readWireBots(tx, realmId, [after])) emit(botAdded(wire, after), users([owner.id]));
  }
  emit(botOwnerChanged(id, owner.id), everyone());
}

/**
 * Notifies a user whose role changed about the bots of other owners. A new administrator receives `botAdded` for each bot, a
 * former administrator `botLost`.
 */
export async function botsAfterRoleChange(
  tx: Tx,
  emit: Emit,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
  { oldRole, newRole }: { oldRole: number; newRole: number },
): Promise<void> {
  if (isAdministrator(oldRole) === isAdministrator(newRole)) return;
  const bots = await tx.user.findMany({
    where: {
      realmId,
      botType: { not: null },
      isSystem: false,
      OR: [{ botOwnerId: null }, { botOwnerId: { not: id } }],
    },
    orderBy: { id: 'asc' },
  });
  const wires = await readWireBots(tx, realmId, bots);
  for (const [i, bot] of bots.entries()) {
    const wire = wires[i];
    if (wire === undefined) continue;
    emit(isAdministrator(newRole) ? botAdded(wire, bot) : botLost(bot.id), users([id]));
  }
}

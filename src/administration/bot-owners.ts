import type { Ctx } from '../access/context.ts';
import {
  type ChannelActor,
  channelActor,
  insufficientPermission,
  mayInOrganization,
  requireInOrganization,
} from '../access/permissions/require.ts';
import { type Audience, either, everyone, roleAtMost, users } from '../events/audience.ts';
import type { Emit } from '../events/log.ts';
import type { User } from '../generated/prisma/client.ts';
import { botOwnerChanged } from '../people/events.ts';
import type { Tx } from '../platform/db/client.ts';
import { ConflictError, UnauthorizedPrincipalError } from '../platform/errors.ts';
import { ADMINISTRATOR, isAdministrator, isOwner, OWNER } from '../platform/roles.ts';
import { requireWithin } from '../platform/totals.ts';
import { botAdded, botLost } from './bot-events.ts';
import { readWireBots } from './bot-wire.ts';
import { isNameTaken } from './new-user.ts';

/** Returns the audience of the events about a bot: its owner and all administrators. */
export const administratorsOf = ({ botOwnerId }: Pick<User, 'botOwnerId'>): Audience =>
  either(roleAtMost(ADMINISTRATOR), users(botOwnerId === null ? [] : [botOwnerId]));

/** Emits `botAdded` for a new bot. Recipients: the bot's owner and all administrators. */
export async function introduceBot(tx: Tx, emit: Emit, bot: User): Promise<void> {
  for (const wire of await readWireBots(tx, bot.organizationId, [bot]))
    emit(botAdded(wire, bot), administratorsOf(bot));
}

/**
 * Returns whether the viewer can create bots. Always false if the viewer is a bot.
 *
 * @param actor The viewer, with the role groups and the current time.
 */
export const mayCreateBots = (actor: ChannelActor, { user }: Ctx['viewer']): boolean =>
  mayInOrganization(actor, 'can_create_bots_group') && user.botType === null;

/** Checks that the viewer can create bots. @throws ForbiddenError if the viewer cannot. */
export async function requireMayCreateBots(tx: Pick<Tx, 'channel' | 'userGroup'>, ctx: Ctx): Promise<void> {
  const { viewer } = ctx;
  if (viewer.user.botType !== null)
    throw insufficientPermission({ schemaMessage: 'Bots cannot create or reactivate bots.' });
  requireInOrganization(await channelActor(tx, viewer, ctx.app.now()), 'can_create_bots_group');
}

/**
 * Checks that a user can own one more bot. Deactivated bots count, because the owner still receives the data of these bots. The
 * caller must hold the lock of the organization's row.
 *
 * @throws TotalReachedError if the user would own more than 200 bots.
 */
export async function requireRoomForBot(
  tx: Tx,
  { organizationId, id }: Pick<User, 'organizationId' | 'id'>,
): Promise<void> {
  requireWithin('bots_per_user', 1 + (await tx.user.count({ where: { organizationId, botOwnerId: id } })));
}

/**
 * Checks that the viewer can reactivate a bot. Only organization owners can reactivate a bot with the owner role: the viewer
 * may become the owner of the bot, and the bot's API key grants the rights of that role.
 *
 * @throws UnauthorizedPrincipalError if the bot has the owner role and the viewer does not.
 * @throws ForbiddenError if the viewer cannot create bots.
 * @throws ConflictError if an active user has the bot's name.
 */
export async function requireMayReactivateBot(tx: Tx, ctx: Ctx, bot: User): Promise<void> {
  if (isOwner(bot.role) && !isOwner(ctx.viewer.role)) throw new UnauthorizedPrincipalError(OWNER);
  await requireMayCreateBots(tx, ctx);
  if (await isNameTaken(tx, bot.organizationId, bot.fullName, bot.id)) {
    throw new ConflictError(
      `There is already an active bot named "${bot.fullName}" in this organization. ` +
        'To reactivate this bot, you must rename or deactivate the other one first.',
      { parameter: 'user_id' },
    );
  }
}

/** Changes the owner of a bot, and notifies all users. The transaction must hold the lock of the organization's row. */
export async function giveBotTo(tx: Tx, emit: Emit, bot: User, owner: Pick<User, 'id' | 'role'>): Promise<void> {
  const { id, organizationId, botOwnerId } = bot;
  const former =
    botOwnerId === null
      ? null
      : await tx.user.findUnique({ where: { organizationId_id: { organizationId, id: botOwnerId } } });
  const after = await tx.user.update({
    where: { organizationId_id: { organizationId, id } },
    data: { botOwnerId: owner.id },
  });
  if (former !== null && !isAdministrator(former.role)) emit(botLost(id), users([former.id]));
  if (!isAdministrator(owner.role)) {
    for (const wire of await readWireBots(tx, organizationId, [after])) emit(botAdded(wire, after), users([owner.id]));
  }
  emit(botOwnerChanged(bot, owner.id), everyone());
}

/**
 * Notifies a user about the bots of other owners, after a change of the user's role. A new administrator receives `botAdded`
 * for each of these bots, and a former administrator receives `botLost`.
 */
export async function botsAfterRoleChange(
  tx: Tx,
  emit: Emit,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
  { oldRole, newRole }: { oldRole: number; newRole: number },
): Promise<void> {
  if (isAdministrator(oldRole) === isAdministrator(newRole)) return;
  const bots = await tx.user.findMany({
    where: {
      organizationId,
      botType: { not: null },
      isSystem: false,
      OR: [{ botOwnerId: null }, { botOwnerId: { not: id } }],
    },
    orderBy: { id: 'asc' },
  });
  const wires = await readWireBots(tx, organizationId, bots);
  for (const [i, bot] of bots.entries()) {
    const wire = wires[i];
    if (wire === undefined) continue;
    emit(isAdministrator(newRole) ? botAdded(wire, bot) : botLost(bot.id), users([id]));
  }
}

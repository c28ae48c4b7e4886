import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { invalidChannelId, readsChannel } from '../../channels/access.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import type { Emit } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { botUpdated } from '../bot-events.ts';
import { administratorsOf } from '../bot-owners.ts';
import { type BotDefaults, channelNames, toWireDefaults } from '../bot-wire.ts';

/** Default channels of a bot. Null clears a value, absent values stay unchanged. */
export interface DefaultsEdit {
  readonly sendingChannel?: ChannelKey | null | undefined;
  readonly eventsChannel?: ChannelKey | null | undefined;
  readonly allPublicChannels?: boolean | undefined;
}

/**
 * Validates changes of a bot's defaults and returns the columns to write.
 *
 * @throws BadRequestError if a channel does not exist or the viewer cannot read it.
 */
export async function requireDefaults(tx: Tx, ctx: Ctx, edit: DefaultsEdit): Promise<Partial<BotDefaults>> {
  const { sendingChannel, eventsChannel, allPublicChannels } = edit;
  return {
    ...(sendingChannel !== undefined && { defaultSendingChannelId: await channelIdOf(tx, ctx, sendingChannel) }),
    ...(eventsChannel !== undefined && { defaultEventsChannelId: await channelIdOf(tx, ctx, eventsChannel) }),
    ...(allPublicChannels !== undefined && { defaultAllPublicChannels: allPublicChannels }),
  };
}

async function channelIdOf(tx: Tx, { app, viewer, realmId }: Ctx, key: ChannelKey | null): Promise<number | null> {
  if (key === null) return null;
  const id = 'id' in key ? key.id : await idOfName(tx, realmId, key.name);
  const channel = isRowId(id) ? await tx.channel.findFirst({ where: { realmId, id } }) : null;
  const where = { realmId, userId: viewer.id, channelId: id, active: true };
  const isSubscribed = channel !== null && (await tx.subscription.count({ where })) > 0;
  if (channel === null || !readsChannel(await channelActor(tx, viewer, app.now()), channel, isSubscribed)) {
    throw 'id' in key ? invalidChannelId() : new BadRequestError(`Invalid channel name '${key.name}'`);
  }
  return channel.id;
}

/** Returns the id of the channel with the name, or 0 if there is none. */
async function idOfName(tx: Tx, realmId: number, name: string): Promise<number> {
  refuseNullBytes('channel name', name);
  const [found] = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM channel WHERE realm_id = ${realmId} AND lower(name) = lower(${name.trim().toWellFormed()})`;
  return found?.id ?? 0;
}

/** Sends each changed default of a bot in its own event, to the users who can administer the bot. */
export async function tellDefaults(tx: Tx, emit: Emit, before: User, after: User): Promise<void> {
  const nameOf = await channelNames(tx, after.realmId, [before, after]);
  const [was, is] = [toWireDefaults(before, nameOf), toWireDefaults(after, nameOf)];
  const audience = administratorsOf(after);
  if (before.defaultSendingChannelId !== after.defaultSendingChannelId) {
    emit(botUpdated(after, { default_sending_stream: is.default_sending_stream }), audience);
  }
  if (before.defaultEventsChannelId !== after.defaultEventsChannelId) {
    emit(botUpdated(after, { default_events_register_stream: is.default_events_register_stream }), audience);
  }
  if (was.default_all_public_streams !== is.default_all_public_streams) {
    emit(botUpdated(after, { default_all_public_streams: is.default_all_public_streams }), audience);
  }
}

/** Sends a channel's new name to the users who can administer bots that use it as a default. */
export async function renameInBots(
  tx: Tx,
  emit: Emit,
  { id, realmId, name }: { readonly id: number; readonly realmId: number; readonly name: string },
): Promise<void> {
  const bots = await tx.user.findMany({
    where: { realmId, botType: { not: null }, OR: [{ defaultSendingChannelId: id }, { defaultEventsChannelId: id }] },
    orderBy: { id: 'asc' },
  });
  for (const bot of bots) {
    const audience = administratorsOf(bot);
    if (bot.defaultSendingChannelId === id) emit(botUpdated(bot, { default_sending_stream: name }), audience);
    if (bot.defaultEventsChannelId === id) emit(botUpdated(bot, { default_events_register_stream: name }), audience);
  }
}

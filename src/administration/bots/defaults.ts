import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { invalidChannelId, readsChannel } from '../../channels/access.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { auditChanges } from '../../events/audit.ts';
import type { Emit } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { botUpdated } from '../bot-events.ts';
import { administratorsOf } from '../bot-owners.ts';
import { type BotDefaults, channelNames, toWireDefaults } from '../bot-wire.ts';

/** Defaults of a bot to change. Null removes a default channel. Absent values stay unchanged. */
export interface DefaultsEdit {
  readonly sendingChannel?: ChannelKey | null | undefined;
  readonly eventsChannel?: ChannelKey | null | undefined;
  readonly allPublicChannels?: boolean | undefined;
}

/**
 * Validates changes of a bot's defaults, and returns the columns to write.
 *
 * @throws NotFoundError if a channel does not exist or the viewer cannot read it.
 */
export async function requireDefaults(tx: Tx, ctx: Ctx, edit: DefaultsEdit): Promise<Partial<BotDefaults>> {
  const { sendingChannel, eventsChannel, allPublicChannels } = edit;
  return {
    ...(sendingChannel !== undefined && {
      defaultSendingChannelId: await channelIdOf(tx, ctx, sendingChannel, 'default_sending_stream'),
    }),
    ...(eventsChannel !== undefined && {
      defaultEventsChannelId: await channelIdOf(tx, ctx, eventsChannel, 'default_events_register_stream'),
    }),
    ...(allPublicChannels !== undefined && { defaultAllPublicChannels: allPublicChannels }),
  };
}

async function channelIdOf(
  tx: Tx,
  { app, viewer, organizationId }: Ctx,
  key: ChannelKey | null,
  parameter: string,
): Promise<number | null> {
  if (key === null) return null;
  const id = 'id' in key ? key.id : await idOfName(tx, organizationId, key.name);
  const channel = isRowId(id) ? await tx.channel.findFirst({ where: { organizationId, id } }) : null;
  const where = { organizationId, userId: viewer.id, channelId: id, active: true };
  const isSubscribed = channel !== null && (await tx.subscription.count({ where })) > 0;
  if (channel === null || !readsChannel(await channelActor(tx, viewer, app.now()), channel, isSubscribed)) {
    throw 'id' in key
      ? invalidChannelId(key.id)
      : new NotFoundError(`Invalid channel name '${key.name}'`, { type: 'Channel', parameter });
  }
  return channel.id;
}

/** Returns the id of the channel with the given name, ignoring case. Returns 0 if there is none. */
async function idOfName(tx: Tx, organizationId: number, name: string): Promise<number> {
  refuseNullBytes('channel name', name);
  const [found] = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM channel WHERE realm_id = ${organizationId} AND lower(name) = lower(${name.trim().toWellFormed()})`;
  return found?.id ?? 0;
}

/**
 * Emits one event for each default of a bot that differs between `before` and `after`. Recipients: the bot's owner and all
 * administrators.
 */
export async function publishDefaults(tx: Tx, emit: Emit, before: User, after: User): Promise<void> {
  const nameOf = await channelNames(tx, after.organizationId, [before, after]);
  const [was, is] = [toWireDefaults(before, nameOf), toWireDefaults(after, nameOf)];
  const audience = administratorsOf(after);
  const changes = Object.entries(auditChanges(was, is)).filter(([, change]) => change.old !== change.new);
  if (changes.length > 0) {
    emit.audit({
      ...{ action: 'bot_changed', objectType: 'user', objectId: after.id },
      changes: Object.fromEntries(changes),
    });
  }
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

/**
 * Emits the new name of a renamed channel for each bot that has this channel as a default channel. Recipients: the bot's
 * owner and all administrators.
 */
export async function renameInBots(
  tx: Tx,
  emit: Emit,
  { id, organizationId, name }: { readonly id: number; readonly organizationId: number; readonly name: string },
): Promise<void> {
  const bots = await tx.user.findMany({
    where: {
      organizationId,
      botType: { not: null },
      OR: [{ defaultSendingChannelId: id }, { defaultEventsChannelId: id }],
    },
    orderBy: { id: 'asc' },
  });
  for (const bot of bots) {
    const audience = administratorsOf(bot);
    if (bot.defaultSendingChannelId === id) emit(botUpdated(bot, { default_sending_stream: name }), audience);
    if (bot.defaultEventsChannelId === id) emit(botUpdated(bot, { default_events_register_stream: name }), audience);
  }
}

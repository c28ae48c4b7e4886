import type { Ctx } from '../../access/context.ts';
import { roleAtMost } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Channel } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { MEMBER } from '../../platform/roles.ts';
import { defaultChannelsChanged } from '../events.ts';
import { lockDefaultChannels } from '../locks.ts';
import { lockSeenChannel } from '../seen-channel.ts';
import { requireDefaultChannels, requireFitForDefault } from '../settings.ts';

/** Returns the ids of the channels to which new users are subscribed, ascending. */
export async function defaultChannelIds(db: Pick<Tx, 'channel'>, organizationId: number): Promise<number[]> {
  const rows = await db.channel.findMany({
    where: { organizationId, isDefault: true },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  return rows.map(({ id }) => id);
}

/**
 * Emits an event with the current default channels, for the users who can see public channels. Locks the list of default
 * channels.
 */
export async function announceDefaultChannels(tx: Tx, emit: Emit, organizationId: number): Promise<void> {
  await lockDefaultChannels(tx, organizationId);
  emit(defaultChannelsChanged(await defaultChannelIds(tx, organizationId)), roleAtMost(MEMBER));
}

/**
 * Adds a channel to the default channels, or removes it.
 *
 * @throws ForbiddenError if the viewer is not an administrator.
 * @throws NotFoundError if the viewer cannot see the channel.
 * @throws ConflictError if a channel to add is private or archived.
 */
export async function setDefaultChannel(ctx: Ctx, channelId: number, isDefault: boolean): Promise<void> {
  requireDefaultChannels(ctx);
  await transact(ctx, async (tx, emit) => {
    const { channel, ctx: now } = await lockSeenChannel(tx, ctx, channelId);
    requireDefaultChannels(now);
    if (isDefault) requireFitForDefault(channel, 'stream_id');
    await saveDefault(tx, emit, channel, isDefault);
  });
}

async function saveDefault(tx: Tx, emit: Emit, { id, organizationId, ...channel }: Channel, isDefault: boolean) {
  if (channel.isDefault === isDefault) return;
  await tx.channel.update({ where: { organizationId_id: { organizationId, id } }, data: { isDefault } });
  emit.audit({
    ...{ action: 'channel_changed', objectType: 'channel', objectId: id, objectName: channel.name },
    changes: { is_default_stream: { old: !isDefault, new: isDefault } },
  });
  await announceDefaultChannels(tx, emit, organizationId);
}

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
export async function defaultChannelIds(db: Pick<Tx, 'channel'>, realmId: number): Promise<number[]> {
  const rows = await db.channel.findMany({
    where: { realmId, isDefault: true },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  return rows.map(({ id }) => id);
}

/**
 * Emits an event with the current default channels, for the users who can see public channels. Locks the list of default
 * channels.
 */
export async function announceDefaultChannels(tx: Tx, emit: Emit, realmId: number): Promise<void> {
  await lockDefaultChannels(tx, realmId);
  emit(defaultChannelsChanged(await defaultChannelIds(tx, realmId)), roleAtMost(MEMBER));
}

/**
 * Adds a channel to the default channels, or removes it.
 *
 * @throws BadRequestError if the viewer is not allowed to, or cannot see the channel.
 * @throws BadRequestError if a channel to add is private or archived.
 */
export async function setDefaultChannel(ctx: Ctx, channelId: number, isDefault: boolean): Promise<void> {
  requireDefaultChannels(ctx);
  await transact(ctx, async (tx, emit) => {
    const { channel, ctx: now } = await lockSeenChannel(tx, ctx, channelId);
    requireDefaultChannels(now);
    if (isDefault) requireFitForDefault(channel);
    await saveDefault(tx, emit, channel, isDefault);
  });
}

async function saveDefault(tx: Tx, emit: Emit, { id, realmId, ...channel }: Channel, isDefault: boolean) {
  if (channel.isDefault === isDefault) return;
  await tx.channel.update({ where: { realmId_id: { realmId, id } }, data: { isDefault } });
  await announceDefaultChannels(tx, emit, realmId);
}

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

/** The channels new users are subscribed to, by id. */
export async function defaultChannelIds(db: Pick<Tx, 'channel'>, realmId: number): Promise<number[]> {
  const rows = await db.channel.findMany({
    where: { realmId, isDefault: true },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  return rows.map(({ id }) => id);
}

/** Tells those who may see public channels which channels are default ones, after the change so far. */
export async function announceDefaultChannels(tx: Tx, emit: Emit, realmId: number): Promise<void> {
  await lockDefaultChannels(tx, realmId);
  emit(defaultChannelsChanged(await defaultChannelIds(tx, realmId)), roleAtMost(MEMBER));
}

/**
 * Makes a channel one of those that new users are subscribed to, or one of the others.
 *
 * @throws BadRequestError when the viewer may not, does not see the channel, or it is private or archived.
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

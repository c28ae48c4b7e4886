import type { Ctx } from '../access/context.ts';
import { systemGroups } from '../access/system-groups.ts';
import { subscribersOf } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { ConflictError } from '../platform/errors.ts';
import { readActivity } from './activity.ts';
import { channelAudience } from './audience.ts';
import { channelUpdated, peersAdded, subscriptionsAdded } from './events.ts';
import { lockAdministeredChannel } from './seen-channel.ts';
import { readSubscribers } from './subscribers.ts';
import { announceDefaultChannels } from './subscriptions/default-channels.ts';
import type { SubscriptionChangeContext } from './subscriptions/membership.ts';
import { toSnapshot, toWireChannel } from './wire.ts';

/**
 * Archives a channel: it stays readable, but nothing can be sent to it. Subscriptions are kept.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 * @throws ForbiddenError if the viewer cannot change it.
 * @throws ConflictError if it is already archived.
 */
export async function archiveChannel(ctx: Ctx, channelId: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    const { channel, actor } = await lockAdministeredChannel(tx, ctx, channelId);
    if (channel.isArchived) throw new ConflictError('Channel is already archived', { parameter: 'stream_id' });
    const archived = await tx.channel.update({
      where: { organizationId_id: { organizationId: channel.organizationId, id: channelId } },
      data: { isArchived: true, isDefault: false },
    });
    if (channel.isDefault) await announceDefaultChannels(tx, emit, ctx.organizationId);
    const audience = await channelAudience(tx, actor.person.organization, archived, actor.now);
    emit(channelUpdated(archived, { property: 'is_archived', value: true }), audience);
  });
}

/**
 * Restores a channel from the archive.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 * @throws ForbiddenError if the viewer cannot change it.
 * @throws ConflictError if it is not archived.
 */
export async function unarchiveChannel(ctx: Ctx, channelId: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    const { channel, actor } = await lockAdministeredChannel(tx, ctx, channelId);
    await bringBack(tx, emit, { organization: actor.person.organization, now: actor.now }, channel);
  });
}

/**
 * Restores an archived channel. The transaction must have locked the row of the channel.
 *
 * For clients without the capability `archived_channels`, an archived channel does not exist. So these clients receive the
 * channel as a new one, with its subscribers. The clients of its subscribers also receive the subscription again.
 *
 * @returns The channel after the change.
 * @throws ConflictError if the channel is not archived.
 */
export async function bringBack(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  { id, isArchived }: Channel,
): Promise<Channel> {
  if (!isArchived) throw new ConflictError('Channel is not currently archived', { parameter: 'stream_id' });
  const channel = await tx.channel.update({
    where: { organizationId_id: { organizationId: organization.id, id } },
    data: { isArchived: false },
  });
  const list = (await readSubscribers(tx, organization.id, [id], now))(id);
  const wire = toWireChannel(channel, {
    groups: await systemGroups(tx, organization.id),
    subscriberCount: list.subscribers.length,
    activity: (await readActivity(tx, organization, [channel], now))(id),
  });
  const audience = await channelAudience(tx, organization, channel, now);
  const facts = toSnapshot(channel, wire);
  emit(channelUpdated(channel, { property: 'is_archived', value: false }, facts), audience);
  if (list.subscribers.length === 0) return channel;
  emit(peersAdded(channel, list.subscribers, 'unarchived'), audience);
  const rows = await tx.subscription.findMany({
    where: { organizationId: organization.id, channelId: id, active: true },
    include: { user: true },
  });
  const subscribers = rows.map(({ user, ...row }) => ({ user, rows: [row] }));
  emit(subscriptionsAdded([{ ...facts, ...list }], subscribers, { unarchived: true }), subscribersOf(id));
  return channel;
}

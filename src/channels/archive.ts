import type { Ctx } from '../access/context.ts';
import { systemGroups } from '../access/permissions/system-groups.ts';
import { subscribersOf } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { readActivity } from './activity.ts';
import { channelAudience } from './audience.ts';
import { channelUpdated, peersAdded, subscriptionsAdded } from './events.ts';
import { lockAdministeredChannel } from './seen-channel.ts';
import { announceDefaultChannels } from './subscriptions/default-channels.ts';
import type { ChangeContext } from './subscriptions/membership.ts';
import { readSubscribers } from './subscriptions/subscribers.ts';
import { toFacts, toWireChannel } from './wire.ts';

/**
 * Archives a channel: it stays readable, and nothing is sent to it any more. Its subscriptions stay.
 *
 * @throws BadRequestError when the channel is not there, not the viewer's to change, or archived already.
 */
export async function archiveChannel(ctx: Ctx, channelId: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    const { channel, actor } = await lockAdministeredChannel(tx, ctx, channelId);
    if (channel.isArchived) throw new BadRequestError('Channel is already archived');
    const archived = await tx.channel.update({
      where: { realmId_id: { realmId: channel.realmId, id: channelId } },
      data: { isArchived: true, isDefault: false },
    });
    if (channel.isDefault) await announceDefaultChannels(tx, emit, ctx.realmId);
    const audience = await channelAudience(tx, actor.person.realm, archived, actor.now);
    emit(channelUpdated(archived, { property: 'is_archived', value: true }), audience);
  });
}

/**
 * Brings a channel back from the archive.
 *
 * @throws BadRequestError when the channel is not there, not the viewer's to change, or not archived.
 */
export async function unarchiveChannel(ctx: Ctx, channelId: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    const { channel, actor } = await lockAdministeredChannel(tx, ctx, channelId);
    await bringBack(tx, emit, { realm: actor.person.realm, now: actor.now }, channel);
  });
}

/**
 * Brings a locked channel back, inside a change.
 *
 * To clients without the capability `archived_channels` it is as new: they are told of its subscribers, and those who
 * are subscribed get their subscription again.
 */
export async function bringBack(
  tx: Tx,
  emit: Emit,
  { realm, now }: ChangeContext,
  { id, isArchived }: Channel,
): Promise<Channel> {
  if (!isArchived) throw new BadRequestError('Channel is not currently archived');
  const channel = await tx.channel.update({
    where: { realmId_id: { realmId: realm.id, id } },
    data: { isArchived: false },
  });
  const list = (await readSubscribers(tx, [id], now))(id);
  const wire = toWireChannel(channel, {
    groups: await systemGroups(tx, realm.id),
    subscriberCount: list.subscribers.length,
    activity: (await readActivity(tx, realm, [channel], now))(id),
  });
  const audience = await channelAudience(tx, realm, channel, now);
  const facts = toFacts(channel, wire);
  emit(channelUpdated(channel, { property: 'is_archived', value: false }, facts), audience);
  if (list.subscribers.length === 0) return channel;
  emit(peersAdded(channel, list.subscribers, 'unarchived'), audience);
  const rows = await tx.subscription.findMany({
    where: { realmId: realm.id, channelId: id, active: true },
    include: { user: true },
  });
  const subscribers = rows.map(({ user, ...row }) => ({ user, rows: [row] }));
  emit(subscriptionsAdded([{ ...facts, ...list }], subscribers, { unarchived: true }), subscribersOf(id));
  return channel;
}

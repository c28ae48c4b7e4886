import type { Ctx } from '../access/context.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import { systemGroups } from '../access/system-groups.ts';
import { subscribersOf } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { ConflictError } from '../platform/errors.ts';
import { readActivity } from './activity.ts';
import { channelAudience } from './audience.ts';
import { channelUpdated, peersAdded, subscriptionsAdded } from './events.ts';
import { publishChange } from './hooks.ts';
import { lockAdministeredChannel } from './seen-channel.ts';
import { readSubscribers } from './subscribers.ts';
import { announceDefaultChannels } from './subscriptions/default-channels.ts';
import type { SubscriptionChangeContext } from './subscriptions/membership.ts';
import { toSnapshot, toWireChannel } from './wire.ts';

/**
 * Archives a channel: it stays readable, but nothing can be sent to it, and it is no longer a default channel. Subscriptions
 * are kept.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 * @throws ForbiddenError if the viewer cannot change it.
 * @throws ConflictError if it is already archived.
 */
export async function archiveChannel(ctx: Ctx, channelId: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    const { ctx: now, channel, actor } = await lockAdministeredChannel(tx, ctx, channelId);
    if (channel.isArchived) throw new ConflictError('Channel is already archived', { parameter: 'stream_id' });
    const where = { organizationId_id: { organizationId: channel.organizationId, id: channelId } };
    if (channel.isDefault) {
      await tx.channel.update({ where, data: { isDefault: false } });
      await announceDefaultChannels(tx, emit, ctx.organizationId);
    }
    const archived = { ...channel, isArchived: true, isDefault: false };
    const audience = await channelAudience(tx, actor.person.organization, archived, actor.now);
    await publishChange(tx, emit, { ctx: now, before: channel, channel: archived });
    const archive = () => tx.channel.update({ where, data: { isArchived: true } });
    const event = channelUpdated(archived, { property: 'is_archived', value: true });
    // No message can be added to an archived channel, so a notice of this change has to be logged before.
    const hasNotice = organizationSetting(actor.person.organization, 'send_channel_events_messages');
    if (!hasNotice) await archive();
    emit(event, audience, hasNotice ? archive : undefined);
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
    const { ctx: now, channel, actor } = await lockAdministeredChannel(tx, ctx, channelId);
    await bringBack(tx, emit, { ctx: now, organization: actor.person.organization, now: actor.now }, channel);
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
  { ctx, organization, now }: SubscriptionChangeContext & { readonly ctx: Ctx },
  before: Channel,
): Promise<Channel> {
  const { id, isArchived } = before;
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
  await publishChange(tx, emit, { ctx, before, channel });
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

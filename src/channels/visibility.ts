import { METADATA_PERMISSIONS } from '../access/permissions/channel-permissions.ts';
import { systemGroups } from '../access/system-groups.ts';
import { type Audience, except, users } from '../events/audience.ts';
import type { Emit } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { readActivity } from './activity.ts';
import { channelAudience, userIdsSeeing } from './audience.ts';
import { type ChannelChange, channelsCreated, peersAdded } from './events.ts';
import { readSubscribers } from './subscribers.ts';
import type { SubscriptionChangeContext } from './subscriptions/membership.ts';
import { toSnapshot, toWireChannel } from './wire.ts';

/** Names of the properties of a channel that determine which users can see it. */
const DECIDING: ReadonlySet<string> = new Set(['invite_only', ...METADATA_PERMISSIONS]);

/** The users for whom a change makes a channel visible or invisible. */
export interface VisibilityChange {
  /** Users who could see the channel before the change and still can. */
  readonly stayers: Audience;
  readonly gained: readonly number[];
  readonly lost: readonly number[];
}

/**
 * Returns the users for whom a change makes a channel visible or invisible, and the users who can see the channel before and
 * after the change. `gained` and `lost` are empty if no property changed that determines which users can see the channel.
 */
export async function visibilityChange(
  tx: Tx,
  { organization, now }: SubscriptionChangeContext,
  before: Channel,
  after: Channel,
  changes: readonly ChannelChange[],
): Promise<VisibilityChange> {
  const stayers = await channelAudience(tx, organization, after, now);
  if (!changes.some(({ property }) => DECIDING.has(property))) return { stayers, gained: [], lost: [] };
  const seeing = await userIdsSeeing(tx, organization, after, now);
  const saw = await userIdsSeeing(tx, organization, before, now);
  const gained = [...seeing].filter((id) => !saw.has(id));
  const lost = [...saw].filter((id) => !seeing.has(id));
  if (gained.length === 0) return { stayers, gained, lost };
  // If no user lost access, the users who still see the channel are exactly the users who saw it before.
  if (lost.length === 0) return { stayers: await channelAudience(tx, organization, before, now), gained, lost };
  return { stayers: except(stayers, gained), gained, lost };
}

/** Sends channels, with all their subscribers, to users who could not see them before. */
export async function showChannels(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  channels: readonly Channel[],
  userIds: readonly number[],
): Promise<void> {
  const groups = await systemGroups(tx, organization.id);
  const ids = channels.map(({ id }) => id);
  const listOf = await readSubscribers(tx, organization.id, ids, now);
  const activityOf = await readActivity(tx, organization, channels, now);
  const shown = channels.map((channel) => {
    const { subscribers } = listOf(channel.id);
    const activity = activityOf(channel.id);
    return toSnapshot(channel, toWireChannel(channel, { groups, subscriberCount: subscribers.length, activity }));
  });
  emit(channelsCreated(shown, { peersFollow: true }), users(userIds));
  for (const channel of channels) {
    const { subscribers } = listOf(channel.id);
    if (subscribers.length > 0) emit(peersAdded(channel, subscribers, 'everybody'), users(userIds));
  }
}

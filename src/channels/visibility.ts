import { METADATA_PERMISSIONS } from '../access/permissions/channel-permissions.ts';
import { systemGroups } from '../access/permissions/system-groups.ts';
import { type Audience, except, users } from '../events/audience.ts';
import type { Emit } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { readActivity } from './activity.ts';
import { channelAudience, userIdsSeeing } from './audience.ts';
import { type ChannelChange, channelsCreated, peersAdded } from './events.ts';
import type { ChangeContext } from './subscriptions/membership.ts';
import { readSubscribers } from './subscriptions/subscribers.ts';
import { toFacts, toWireChannel } from './wire.ts';

/** Changes of these change who sees a channel. */
const DECIDING: ReadonlySet<string> = new Set(['invite_only', ...METADATA_PERMISSIONS]);

/** Who comes to see a channel by a change, and who no longer does. */
export interface VisibilityChange {
  /** Those who saw it before and see it after. */
  readonly stayers: Audience;
  readonly gained: readonly number[];
  readonly lost: readonly number[];
}

/** Compares who sees a channel before and after a change of it. */
export async function visibilityChange(
  tx: Tx,
  { realm, now }: ChangeContext,
  before: Channel,
  after: Channel,
  changes: readonly ChannelChange[],
): Promise<VisibilityChange> {
  const stayers = await channelAudience(tx, realm, after, now);
  if (!changes.some(({ property }) => DECIDING.has(property))) return { stayers, gained: [], lost: [] };
  const seeing = await userIdsSeeing(tx, realm, after, now);
  const saw = await userIdsSeeing(tx, realm, before, now);
  const gained = [...seeing].filter((id) => !saw.has(id));
  const lost = [...saw].filter((id) => !seeing.has(id));
  if (gained.length === 0) return { stayers, gained, lost };
  // Whichever needs no list of names, where one does.
  if (lost.length === 0) return { stayers: await channelAudience(tx, realm, before, now), gained, lost };
  return { stayers: except(stayers, gained), gained, lost };
}

/** Shows channels, with all who are subscribed to them, to users who did not see them. */
export async function showChannels(
  tx: Tx,
  emit: Emit,
  { realm, now }: ChangeContext,
  channels: readonly Channel[],
  userIds: readonly number[],
): Promise<void> {
  const groups = await systemGroups(tx, realm.id);
  const ids = channels.map(({ id }) => id);
  const listOf = await readSubscribers(tx, ids, now);
  const activityOf = await readActivity(tx, realm, channels, now);
  const shown = channels.map((channel) => {
    const { subscribers } = listOf(channel.id);
    const activity = activityOf(channel.id);
    return toFacts(channel, toWireChannel(channel, { groups, subscriberCount: subscribers.length, activity }));
  });
  emit(channelsCreated(shown, { toldAfter: true }), users(userIds));
  for (const channel of channels) {
    const { subscribers } = listOf(channel.id);
    if (subscribers.length > 0) emit(peersAdded(channel, subscribers, 'everybody'), users(userIds));
  }
}

import type { Snapshot, StateGroup } from '../api/state-group.ts';
import type { Subscription } from '../generated/prisma/client.ts';
import { isGuest } from '../platform/roles.ts';
import { seenBy } from './access.ts';
import { defaultChannelIds } from './subscriptions/default-channels.ts';
import { toInherited, toWirePersonal, toWireSubscribers, withInherited } from './wire.ts';
import { readPeopledChannels } from './wire-channels.ts';

/**
 * Reads the channels for a client, sorted by name, with their subscribers. Archived channels are included only if the
 * client has the capability `archived_channels`.
 */
async function readChannels({ app, viewer, db, options, groups }: Snapshot) {
  const actor = { person: viewer, groups, now: app.now() };
  const archived = options.capabilities.archived_channels ? {} : { isArchived: false };
  return readPeopledChannels(db, actor, {
    where: { AND: [seenBy(actor), archived] },
    include: options.includeSubscribers,
  });
}

/** State group (a part of the response of `POST /register`) with the field `streams`: the channels that the viewer can see. */
export const channelsState: StateGroup = {
  name: 'stream',
  read: async (snapshot) => ({ streams: (await snapshot.shared(readChannels)).channels }),
};

/**
 * State group (a part of the response of `POST /register`) with the fields `subscriptions`, `unsubscribed` and
 * `never_subscribed`. They contain the channels that the viewer can see, grouped by the viewer's subscription: active, ended,
 * or none.
 */
export const subscriptionsState: StateGroup = {
  name: 'subscription',
  async read(snapshot) {
    const { viewer, db, options } = snapshot;
    const { channels, listOf } = await snapshot.shared(readChannels);
    const rows = await db.subscription.findMany({
      where: { organizationId: viewer.organization.id, userId: viewer.id },
    });
    const own = new Map(rows.map((row) => [row.channelId, row]));
    const inherited = toInherited(viewer.user);
    const personalOf = (row: Subscription) => {
      const personal = toWirePersonal(row);
      return options.capabilities.notification_settings_null ? personal : withInherited(personal, inherited);
    };
    const byState = Map.groupBy(channels, ({ stream_id }) => own.get(stream_id)?.active);
    const listed = (active: boolean | undefined) =>
      (byState.get(active) ?? []).map((channel) => {
        const row = own.get(channel.stream_id);
        const lists = toWireSubscribers(listOf(channel.stream_id), viewer.id, options.includeSubscribers);
        return { ...channel, ...(row !== undefined && personalOf(row)), ...lists };
      });
    return { subscriptions: listed(true), unsubscribed: listed(false), never_subscribed: listed(undefined) };
  },
};

/**
 * State group (a part of the response of `POST /register`) with the field `realm_default_streams`: the ids of the default
 * channels. Empty for a guest.
 */
export const defaultChannelsState: StateGroup = {
  name: 'default_streams',
  async read({ viewer, db }) {
    const ids = isGuest(viewer.role) ? [] : await defaultChannelIds(db, viewer.organization.id);
    return { realm_default_streams: ids };
  },
};

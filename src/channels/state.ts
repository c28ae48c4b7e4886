import { isGuest } from '../auth/roles.ts';
import type { Snapshot, StateGroup } from '../event-queue/state-group.ts';
import type { Subscription } from '../generated/prisma/client.ts';
import { onlooker, seenBy } from './access.ts';
import { defaultChannelIds } from './default-channels.ts';
import { readSubscribers } from './subscribers.ts';
import { toInherited, toWirePersonal, toWireSubscribers, withInherited } from './wire.ts';
import { readWireChannels } from './wire-channels.ts';

/** The channels a client is told of, by name: archived ones only if it knows what they are. */
async function channelsOf({ app, viewer, db, options }: Snapshot) {
  const look = await onlooker(db, viewer, app.now());
  const archived = options.capabilities.archived_channels ? {} : { isArchived: false };
  return readWireChannels(db, look, { AND: [seenBy(look), archived] });
}

/** `streams`. @see registration-and-events companion 1.4 */
export const channelsState: StateGroup = {
  name: 'stream',
  read: async (snapshot) => ({ streams: await channelsOf(snapshot) }),
};

/** `subscriptions`, `unsubscribed` and `never_subscribed`. @see registration-and-events companion 1.10 */
export const subscriptionsState: StateGroup = {
  name: 'subscription',
  async read(snapshot) {
    const { app, viewer, db, options } = snapshot;
    const channels = await channelsOf(snapshot);
    const rows = await db.subscription.findMany({ where: { userId: viewer.id } });
    const own = new Map(rows.map((row) => [row.channelId, row]));
    const ids = options.includeSubscribers === 'false' ? [] : channels.map(({ stream_id }) => stream_id);
    const listOf = await readSubscribers(db, ids, app.now());
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

/** `realm_default_streams`. @see registration-and-events companion 1.4 */
export const defaultChannelsState: StateGroup = {
  name: 'default_streams',
  async read({ viewer, db }) {
    const ids = isGuest(viewer.role) ? [] : await defaultChannelIds(db, viewer.realm.id);
    return { realm_default_streams: ids };
  },
};

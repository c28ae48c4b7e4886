import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { acrossReaders, forEverybody, perOperation } from '../api/graphql/loading/context.ts';
import type { Channel, Subscription } from '../generated/prisma/client.ts';
import type { UserPage } from '../people/user-pages.ts';
import type { Place } from '../platform/db/keyset.ts';
import { countSubscribers, readSubscriberPages } from './subscribers.ts';
import { subscribedChannelIds, subscriptionsAmong } from './subscriptions/reads.ts';

/** Loads the number of a channel's subscribers, by channel id. */
export const subscriberCounts = forEverybody<number, number>((db, _realmId, ids) => countSubscribers(db, ids));

/** Loads the viewer's own subscription to a channel, by channel id. Null if there is none. */
export const ownSubscriptions = acrossReaders<number, Subscription | null>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const userIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const channelIds = [...new Set(wanted.map(({ key }) => key))];
  const rows = await subscriptionsAmong(first.ctx.app.db, first.ctx.realmId, userIds, channelIds);
  const found = new Map(rows.map((row) => [`${row.userId} ${row.channelId}`, row]));
  return wanted.map(({ ctx, key }) => found.get(`${ctx.viewer.id} ${key}`) ?? null);
});

type Sortable = Pick<Channel, 'id' | 'name' | 'createdAt'>;

/** Loads the channels that a user subscribes to and the viewer can see, with their sort columns, by user id. */
export const channelsOfUsers = perOperation(
  (ctx) =>
    new DataLoader<number, readonly Sortable[]>(async (userIds) => {
      const idsOf = await subscribedChannelIds(signedIn(ctx), userIds);
      const ids = [...new Set(userIds.flatMap(idsOf))];
      const select = { id: true, name: true, createdAt: true };
      const rows = await ctx.app.db.channel.findMany({
        where: { realmId: signedIn(ctx).realmId, id: { in: ids } },
        select,
      });
      const byId = new Map(rows.map((channel) => [channel.id, channel]));
      return userIds.map((userId) => idsOf(userId).flatMap((id) => byId.get(id) ?? []));
    }),
);

/** A page of one channel's subscribers. */
export interface PageKey extends UserPage {
  readonly channelId: number;
}

const pageOf = ({ channelId: _, ...page }: PageKey) => JSON.stringify(page);

/** Loads pages of channels' subscribers. Pages that differ only in the channel share one query. */
export const subscriberPages = perOperation(
  ({ app }) =>
    new DataLoader<PageKey, readonly Place[], string>(
      async (keys) => {
        const found = new Map<PageKey, readonly Place[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others];
          const ids = alike.map(({ channelId }) => channelId);
          const placesOf = await readSubscriberPages(app.db, ids, page);
          for (const key of alike) found.set(key, placesOf(key.channelId));
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.channelId} ${pageOf(key)}` },
    ),
);

import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { acrossReaders, perOperation } from '../../api/graphql/context.ts';
import type { Subscription } from '../../generated/prisma/client.ts';
import type { UserPage } from '../../people/user-pages.ts';
import type { Place } from '../../platform/db/keyset.ts';
import { subscribedChannelIds } from './reads.ts';
import { countSubscribers, readSubscriberPages } from './subscribers.ts';

/** How many users are subscribed to a channel, by its id. */
export const subscriberCounts = perOperation(
  ({ app }) =>
    new DataLoader<number, number>(async (ids) => {
      const countOf = await countSubscribers(app.db, ids);
      return ids.map(countOf);
    }),
);

/** The viewer's own subscription to a channel, by the channel's id. */
export const ownSubscriptions = acrossReaders<number, Subscription | null>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const userIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const channelIds = [...new Set(wanted.map(({ key }) => key))];
  const where = { userId: { in: userIds }, active: true, channelId: { in: channelIds } };
  const rows = await first.ctx.app.db.subscription.findMany({ where });
  const found = new Map(rows.map((row) => [`${row.userId} ${row.channelId}`, row]));
  return wanted.map(({ ctx, key }) => found.get(`${ctx.viewer.id} ${key}`) ?? null);
});

/** The channels a user is in and the viewer sees, by id, by the user's id. */
export const channelIdsOfUsers = perOperation(
  (ctx) =>
    new DataLoader<number, readonly number[]>(async (ids) => {
      const idsOf = await subscribedChannelIds(signedIn(ctx), ids);
      return ids.map(idsOf);
    }),
);

/** A page of one channel's subscribers. */
export interface PageKey extends UserPage {
  readonly channelId: number;
}

const pageOf = ({ channelId: _, ...page }: PageKey) => JSON.stringify(page);

/** Pages of channels' subscribers: one query for all that lie at the same place. */
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

import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/context.ts';
import type { Subscription, User } from '../../generated/prisma/client.ts';
import { subscribedChannelIds } from './reads.ts';
import { countSubscribers, readSubscriberPages, type SubscriberPage } from './subscribers.ts';

/** How many users are subscribed to a channel, by its id. */
export const subscriberCounts = perOperation(
  ({ app }) =>
    new DataLoader<number, number>(async (ids) => {
      const countOf = await countSubscribers(app.db, ids);
      return ids.map(countOf);
    }),
);

/** The viewer's own subscription to a channel, by the channel's id. */
export const ownSubscriptions = perOperation(
  (ctx) =>
    new DataLoader<number, Subscription | null>(async (ids) => {
      const { app, viewer } = signedIn(ctx);
      const where = { userId: viewer.id, active: true, channelId: { in: [...ids] } };
      const rows = await app.db.subscription.findMany({ where });
      return ids.map((id) => rows.find(({ channelId }) => channelId === id) ?? null);
    }),
);

/** The channels a user is in and the viewer sees, by id, by the user's id. */
export const channelIdsOfUsers = perOperation(
  (ctx) =>
    new DataLoader<number, readonly number[]>(async (ids) => {
      const idsOf = await subscribedChannelIds(signedIn(ctx), ids);
      return ids.map(idsOf);
    }),
);

/** A page of one channel's subscribers. */
export interface PageKey extends SubscriberPage {
  readonly channelId: number;
}

const pageOf = ({ channelId: _, ...page }: PageKey) => JSON.stringify(page);

/** Pages of channels' subscribers: two queries for all that lie at the same place. */
export const subscriberPages = perOperation(
  ({ app }) =>
    new DataLoader<PageKey, User[], string>(
      async (keys) => {
        const found = new Map<PageKey, readonly number[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others];
          const idsOf = await readSubscriberPages(
            app.db,
            alike.map(({ channelId }) => channelId),
            page,
          );
          for (const key of alike) found.set(key, idsOf(key.channelId));
        }
        const ids = [...new Set([...found.values()].flat())];
        const rows = ids.length === 0 ? [] : await app.db.user.findMany({ where: { id: { in: ids } } });
        const users = new Map(rows.map((user) => [user.id, user]));
        return keys.map((key) => (found.get(key) ?? []).flatMap((id) => users.get(id) ?? []));
      },
      { cacheKeyFn: (key) => `${key.channelId} ${pageOf(key)}` },
    ),
);

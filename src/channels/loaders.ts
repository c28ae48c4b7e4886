import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { perOperation } from '../api/graphql/context.ts';
import type { Channel, Subscription, User } from '../generated/prisma/client.ts';
import { visibleTo } from './access.ts';
import { type ChannelActivity, readActivity } from './activity.ts';
import { subscribedChannelIds } from './reads.ts';
import { countSubscribers, readSubscriberPages, type SubscriberPage } from './subscriptions/subscribers.ts';

/** How many users are subscribed to a channel, by its id. */
export const subscriberCounts = perOperation(
  ({ app }) =>
    new DataLoader<number, number>(async (ids) => {
      const countOf = await countSubscribers(app.db, ids);
      return ids.map(countOf);
    }),
);

/** What goes on in a channel. */
export const channelActivities = perOperation(
  (ctx) =>
    new DataLoader<Pick<Channel, 'id' | 'createdAt'>, ChannelActivity, number>(
      async (channels) => {
        const { app, viewer } = signedIn(ctx);
        const activityOf = await readActivity(app.db, viewer.realm, channels, app.now());
        return channels.map(({ id }) => activityOf(id));
      },
      { cacheKeyFn: ({ id }) => id },
    ),
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

/** A channel, by its id; null when the viewer does not see it. */
export const visibleChannels = perOperation(
  (ctx) =>
    new DataLoader<number, Channel | null>(async (ids) => {
      const { db } = ctx.app;
      const rows = await db.channel.findMany({
        where: { AND: [{ id: { in: [...ids] } }, await visibleTo(signedIn(ctx))] },
      });
      const channels = new Map(rows.map((channel) => [channel.id, channel]));
      return ids.map((id) => channels.get(id) ?? null);
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

import { acrossReaders, forAllViewers } from '../api/graphql/loading/context.ts';
import { sharedLoads } from '../api/graphql/loading/shared-loads.ts';
import type { Subscription } from '../generated/prisma/client.ts';
import { countSubscribers, readSubscriberPages, type SubscriberFilter, type SubscriberPage } from './subscribers.ts';
import { subscriptionsAmong } from './subscriptions/reads.ts';

/** Loads the number of a channel's subscribers, by channel id. */
export const subscriberCounts = forAllViewers<number, number>((db, organizationId, ids) =>
  countSubscribers(db, organizationId, ids),
);

/** Loads the viewer's own subscription to a channel, by channel id. Null if there is none. */
export const ownSubscriptions = acrossReaders<number, Subscription | null>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const userIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const channelIds = [...new Set(wanted.map(({ key }) => key))];
  const rows = await subscriptionsAmong(first.ctx.work.db, first.ctx.organizationId, userIds, channelIds);
  const found = new Map(rows.map((row) => [`${row.userId} ${row.channelId}`, row]));
  return wanted.map(({ ctx, key }) => found.get(`${ctx.viewer.id} ${key}`) ?? null);
});

/** Loads the number of a channel's subscribers that match a filter. */
export const matchingSubscriberCounts = sharedLoads(
  async ({ work, organizationId }, channelIds: readonly number[], filter: SubscriberFilter) =>
    channelIds.map(await countSubscribers(work.db, organizationId, channelIds, filter)),
);

/** Loads pages of channels' subscribers. */
export const subscriberPages = sharedLoads(
  async ({ work, organizationId }, channelIds: readonly number[], page: SubscriberPage) =>
    channelIds.map(await readSubscriberPages(work.db, organizationId, channelIds, page)),
);

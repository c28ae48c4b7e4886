import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { acrossReaders, type GraphQLContext, perOperation } from '../api/graphql/loading/context.ts';
import { readableFor } from '../channels/loaders.ts';
import { topicKey } from '../contract/topic-key.ts';
import { hasProtectedHistory } from './access.ts';
import type { MessagePage } from './channel-messages.ts';
import type { TopicPolicy } from './topic-policies/policies.ts';
import { readPolicies } from './topic-policies/queries.ts';
import { type PlacedTopic, readTopics, type Topic, type TopicPage } from './topics/topic-pages.ts';
import { findTopicsIn, messagesInTopics, type TopicKey } from './topics/topics.ts';

/** Channel, bounds and order of a page of topics. */
export interface TopicPageKey extends TopicPage {
  readonly channelId: number;
}

/** Loads a page of a channel's topics for the viewer. Empty if the viewer cannot read the channel. */
export const topicPage = (ctx: GraphQLContext, { channelId, ...page }: TopicPageKey): Promise<readonly PlacedTopic[]> =>
  topicPages(ctx).load(`${channelId} ${JSON.stringify(page)}`);

/**
 * Loads pages of topics. If the pages of several channels have the same bounds and order, the number of queries does not grow
 * with the number of channels.
 */
const topicPages = acrossReaders<string, readonly PlacedTopic[]>(async (wanted) => {
  const keys = wanted.map(({ ctx, key }) => ({
    ...{ ctx, channelId: Number(key.slice(0, key.indexOf(' '))), page: key.slice(key.indexOf(' ') + 1) },
  }));
  const channels = await readableFor(keys.map(({ ctx, channelId }) => ({ ctx, key: channelId })));
  const places = keys.flatMap(({ ctx, page }, place) => {
    const channel = channels[place];
    return channel == null ? [] : [{ place, page, channel, userId: ctx.viewer.id, db: ctx.app.db }];
  });
  const found: (readonly PlacedTopic[])[] = wanted.map(() => []);
  for (const [page, alike] of Map.groupBy(places, (one) => one.page)) {
    const [first] = alike;
    if (first === undefined) continue;
    const topicsOf = await readTopics(first.db, alike, JSON.parse(page) as TopicPage);
    for (const { place, userId, channel } of alike) found[place] = topicsOf(userId, channel.id);
  }
  return found;
});

/** Loads a topic by channel and name. Null if it has no message that the viewer can read. */
export const topicNamed = (ctx: GraphQLContext, { channelId, name }: TopicKey): Promise<Topic | null> =>
  topicsByText(ctx).load(`${channelId} ${topicKey(name)}`);

const topicsByText = acrossReaders<string, Topic | null>(async (wanted) => {
  const keys = wanted.map(({ ctx, key: text }) => ({
    ...{ ctx, text, channelId: Number(text.slice(0, text.indexOf(' '))) },
    name: text.slice(text.indexOf(' ') + 1),
  }));
  const channels = await readableFor(keys.map(({ ctx, channelId }) => ({ ctx, key: channelId })));
  const found: (Topic | null)[] = wanted.map(() => null);
  const places = keys.flatMap((key, place) => {
    const channel = channels[place];
    return channel == null ? [] : [{ ...key, place, channel }];
  });
  // If the history is not protected, the result does not depend on which of the channel's readers requests it, so it is loaded
  // only once.
  const alike = Map.groupBy(places, ({ ctx, channel, text }) =>
    hasProtectedHistory(channel) ? `${ctx.viewer.id} ${text}` : text,
  );
  const ones = [...alike.values()].flatMap(([one]) => one ?? []);
  const [first] = ones;
  if (first === undefined) return found;
  const topics = await findTopicsIn(
    first.ctx.app.db,
    ones.map(({ ctx, name, channel }) => ({ name, channel, userId: ctx.viewer.id })),
  );
  for (const [i, same] of [...alike.values()].entries()) {
    for (const { place } of same) found[place] = topics[i] ?? null;
  }
  return found;
});

/** Topic, bounds and direction of a page of messages. */
export interface MessagePageKey extends TopicKey, MessagePage {}

const placeOf = ({ channelId: _, name: __, ...page }: MessagePageKey) => JSON.stringify(page);

/** Loads pages of messages of topics, as ids, newest first. The number of queries does not grow with the number of topics. */
export const topicMessages = perOperation(
  (ctx) =>
    new DataLoader<MessagePageKey, readonly number[], string>(
      async (keys) => {
        const found = new Map<MessagePageKey, readonly number[]>();
        for (const alike of Map.groupBy(keys, placeOf).values()) {
          const [page] = alike;
          if (page === undefined) continue;
          const ids = await messagesInTopics(signedIn(ctx), alike, page);
          for (const [i, key] of alike.entries()) found.set(key, ids[i] ?? []);
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.channelId} ${topicKey(key.name)} ${placeOf(key)}` },
    ),
);

/** Loads the viewer's policy for a topic. `INHERITED` if there is none. */
export const ownPolicy = (ctx: GraphQLContext, { channelId, name }: TopicKey): Promise<TopicPolicy> =>
  policiesByText(ctx).load(`${channelId} ${name}`);

const policiesByText = acrossReaders<string, TopicPolicy>((wanted) => {
  const topics = wanted.map(({ ctx, key }) => ({
    ...{ realmId: ctx.realmId, userId: ctx.viewer.id, channelId: Number(key.slice(0, key.indexOf(' '))) },
    topic: key.slice(key.indexOf(' ') + 1),
  }));
  const [first] = wanted;
  return first === undefined ? Promise.resolve([]) : readPolicies(first.ctx.app.db, topics);
});

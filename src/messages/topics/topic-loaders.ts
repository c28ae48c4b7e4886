import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { acrossReaders, type GraphQLContext, perOperation } from '../../api/graphql/context.ts';
import { readableBy } from '../../channels/access.ts';
import { readableFor } from '../../channels/loaders.ts';
import { topicKey } from '../../channels/topic-name.ts';
import { hasProtectedHistory } from '../access.ts';
import type { TopicPolicy } from '../topic-policies/policies.ts';
import { readPolicies } from '../topic-policies/queries.ts';
import { findTopicsIn, messagesInTopics, readTopics, type Topic, type TopicKey, type TopicPage } from './topics.ts';

/** A page of one channel's topics. */
export interface TopicPageKey extends TopicPage {
  readonly channelId: number;
}

const pageOf = ({ channelId: _, ...page }: TopicPageKey) => JSON.stringify(page);

/**
 * Pages of channels' topics: none of a channel that is not the viewer's to read. As many queries for many channels as for
 * one, where the pages lie at the same place.
 */
export const topicPages = perOperation(
  (ctx) =>
    new DataLoader<TopicPageKey, readonly Topic[], string>(
      async (keys) => {
        const { app, viewer } = signedIn(ctx);
        const ids = [...new Set(keys.map(({ channelId }) => channelId))];
        const where = { AND: [{ id: { in: ids } }, await readableBy(signedIn(ctx))] };
        const channels = new Map((await app.db.channel.findMany({ where })).map((channel) => [channel.id, channel]));
        const found = new Map<TopicPageKey, readonly Topic[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others].filter(({ channelId }) => channels.has(channelId));
          const wanted = alike.flatMap(({ channelId }) => channels.get(channelId) ?? []);
          const topicsOf = await readTopics(app.db, viewer.id, wanted, page);
          for (const key of alike) found.set(key, topicsOf(key.channelId));
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.channelId} ${pageOf(key)}` },
    ),
);

/** Topics by their names: null for one in which there is nothing that the viewer may read. */
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
  // What is open is the same for whoever may read the channel.
  const alike = Map.groupBy(places, ({ ctx, channel }) => (hasProtectedHistory(channel) ? ctx.viewer.id : 0));
  for (const ofSome of alike.values()) {
    const byText = Map.groupBy(ofSome, ({ text }) => text);
    const ones = [...byText.values()].flatMap(([one]) => one ?? []);
    const [first] = ones;
    if (first === undefined) continue;
    const topics = await findTopicsIn(first.ctx.app.db, first.ctx.viewer.id, ones);
    for (const [i, { text }] of ones.entries()) {
      for (const { place } of byText.get(text) ?? []) found[place] = topics[i] ?? null;
    }
  }
  return found;
});

/** A page of one topic's messages. */
export interface MessagePageKey extends TopicKey, TopicPage {}

const placeOf = ({ channelId: _, name: __, ...page }: MessagePageKey) => JSON.stringify(page);

/** Pages of topics' messages, by their ids, the newest first: as many queries for many topics as for one. */
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

/** The viewer's policies of topics. */
export const ownPolicies = perOperation(
  (ctx) =>
    new DataLoader<TopicKey, TopicPolicy, string>(
      (keys) => {
        const { app, viewer } = signedIn(ctx);
        const topics = keys.map(({ channelId, name }) => ({ channelId, topic: name }));
        return readPolicies(app.db, viewer.id, topics);
      },
      { cacheKeyFn: ({ channelId, name }) => `${channelId} ${name}` },
    ),
);

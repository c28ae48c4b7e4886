import { signedIn } from '../access/context.ts';
import { acrossReaders, type GraphQLContext } from '../api/graphql/loading/context.ts';
import { sharedLoads } from '../api/graphql/loading/shared-loads.ts';
import { hasProtectedHistory } from '../channels/access.ts';
import { readableChannels, readableFor } from '../channels/loaders.ts';
import { isSameTopic, topicKey } from '../contract/topic-key.ts';
import type { MessagePage } from './channel-messages.ts';
import { historyPolicy } from './edit-history.ts';
import type { TopicPolicy } from './topic-policies/policies.ts';
import { readPolicies } from './topic-policies/queries.ts';
import { type FollowedMove, followMoves } from './topics/topic-moves.ts';
import { type PlacedTopic, readTopics, type Topic, type TopicPage } from './topics/topic-pages.ts';
import { findTopicsIn, messagesInTopics, type TopicKey } from './topics/topics.ts';

/** Key of the loader `topicPage`: the channel, and the bounds and order of a page of its topics. */
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
    return channel == null ? [] : [{ place, page, channel, userId: ctx.viewer.id, db: ctx.work.db }];
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

/** Loads a topic by channel id and name. Null if the topic has no message that the viewer can read. */
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
  // If the channel has no protected history, all of its readers get the same result, so the topic is loaded only once.
  const alike = Map.groupBy(places, ({ ctx, channel, text }) =>
    hasProtectedHistory(channel) ? `${ctx.viewer.id} ${text}` : text,
  );
  const ones = [...alike.values()].flatMap(([one]) => one ?? []);
  const [first] = ones;
  if (first === undefined) return found;
  const topics = await findTopicsIn(
    first.ctx.work.db,
    ones.map(({ ctx, name, channel }) => ({ name, channel, userId: ctx.viewer.id })),
  );
  for (const [i, same] of [...alike.values()].entries()) {
    for (const { place } of same) found[place] = topics[i] ?? null;
  }
  return found;
});

/**
 * Loads the former name of a topic whose messages were all moved, and their present location. Null if the topic was never moved
 * as a whole, if the viewer cannot read its channel or any of the moved messages, if the messages are back in the topic, or if
 * the organization does not show moves.
 */
export async function topicMove(ctx: GraphQLContext, key: TopicKey): Promise<FollowedMove | null> {
  if (historyPolicy(signedIn(ctx).viewer.organization) === 'none') return null;
  if ((await readableChannels(ctx).load(key.channelId)) === null) return null;
  const move = await topicMoves(ctx).load(`${key.channelId} ${topicKey(key.name)}`);
  if (move === null || isSame(move.to, key)) return null;
  const { firstMessageId, lastMessageId } = move;
  const page = { above: firstMessageId - 1, below: lastMessageId + 1, limit: 1, newestFirst: true };
  const found = await topicMessages(ctx, move.to, page);
  return found.length === 0 ? null : move;
}

const isSame = (one: TopicKey, other: TopicKey): boolean =>
  one.channelId === other.channelId && isSameTopic(one.name, other.name);

const topicMoves = acrossReaders<string, FollowedMove | null>((wanted) => {
  const [first] = wanted;
  if (first === undefined) return Promise.resolve([]);
  const keys = wanted.map(({ key }) => ({
    ...{ channelId: Number(key.slice(0, key.indexOf(' '))), name: key.slice(key.indexOf(' ') + 1) },
  }));
  return followMoves(first.ctx.work.db, first.ctx.organizationId, keys);
});

/** Loads pages of the message ids of topics, newest first. The number of queries does not grow with the number of topics. */
export const topicMessages = sharedLoads<TopicKey, MessagePage, readonly number[]>(
  messagesInTopics,
  ({ channelId, name }) => `${channelId} ${topicKey(name)}`,
);

/** Loads the viewer's visibility policy for a topic. `INHERITED` if the viewer has set none. */
export const ownPolicy = (ctx: GraphQLContext, { channelId, name }: TopicKey): Promise<TopicPolicy> =>
  policiesByText(ctx).load(`${channelId} ${name}`);

const policiesByText = acrossReaders<string, TopicPolicy>((wanted) => {
  const topics = wanted.map(({ ctx, key }) => ({
    ...{ userId: ctx.viewer.id, channelId: Number(key.slice(0, key.indexOf(' '))) },
    topic: key.slice(key.indexOf(' ') + 1),
  }));
  const [first] = wanted;
  if (first === undefined) return Promise.resolve([]);
  return readPolicies(first.ctx.work.db, first.ctx.organizationId, topics);
});

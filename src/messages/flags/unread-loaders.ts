import type { Ctx } from '../../access/context.ts';
import { acrossReaders, type GraphQLContext, perOperation } from '../../api/graphql/loading/context.ts';
import type { RequestedKey } from '../../api/graphql/loading/keyed-loader.ts';
import { topicKey } from '../../contract/topic-key.ts';
import type { Tx } from '../../platform/db/client.ts';
import {
  countUnreadInTopics,
  countUnreadOfEach,
  firstUnreadIn,
  type UnreadCount,
  type WantedPlace,
} from './unread-counts.ts';
import { type UnreadMentions, unreadMentionsOfEach } from './unread-mentions.ts';

/** Key that the loaders of this file use. A loader has only one value per viewer, so the key is constant. */
const ALL = 0;

/**
 * Creates a function that loads rows for the viewer, such as unread counts. The rows are loaded once per operation. During the
 * delivery of events, one query loads the rows of all viewers.
 */
function ofViewers<Row>(
  read: (db: Tx, organizationId: number, userIds: readonly number[]) => Promise<Map<number, Row[]>>,
) {
  const load = acrossReaders<typeof ALL, readonly Row[]>(async (wanted) => {
    const [first] = wanted;
    if (first === undefined) return [];
    const { work, organizationId } = first.ctx;
    const found = await read(work.db, organizationId, [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))]);
    return wanted.map(({ ctx }) => found.get(ctx.viewer.id) ?? []);
  });
  return (ctx: GraphQLContext): Promise<readonly Row[]> => load(ctx).load(ALL);
}

/** Loads the number of the viewer's unread messages in each channel and conversation. */
export const ownCounts = ofViewers<UnreadCount>(countUnreadOfEach);

/** Loads the number of the viewer's unread mentions in each topic and conversation. */
export const ownMentions = ofViewers<UnreadMentions>(unreadMentionsOfEach);

interface UnreadCountRow {
  readonly channelId: number | null;
  readonly conversationId: number | null;
  readonly count: number;
}

/** Sums the counts of rows by key. Rows whose key is null are omitted. */
function sumsBy<Row extends { readonly count: number }, K>(
  rows: readonly Row[],
  keyOf: (row: Row) => K | null,
): Map<K, number> {
  const sums = new Map<K, number>();
  for (const row of rows) {
    const key = keyOf(row);
    if (key !== null) sums.set(key, (sums.get(key) ?? 0) + row.count);
  }
  return sums;
}

/**
 * Creates a loader that returns two functions: `channel` returns the sum of the counts in a channel, `conversation` the sum of
 * the counts in a conversation, both by id. The counts are loaded once per operation.
 */
const sumsIn = (read: (ctx: GraphQLContext) => Promise<readonly UnreadCountRow[]>) =>
  perOperation(async (ctx) => {
    const rows = await read(ctx);
    const byChannel = sumsBy(rows, ({ channelId }) => channelId);
    const byConversation = sumsBy(rows, ({ conversationId }) => conversationId);
    return {
      channel: (id: number): number => byChannel.get(id) ?? 0,
      conversation: (id: number): number => byConversation.get(id) ?? 0,
    };
  });

/**
 * Loads two functions: `channel` returns the number of the viewer's unread messages in a channel, `conversation` their number
 * in a conversation.
 */
export const ownCountsIn = sumsIn(ownCounts);

/** Loads two functions like those of `ownCountsIn`, which do not count muted messages. */
export const ownUnmutedCountsIn = sumsIn(async (ctx) => (await ownCounts(ctx)).filter(({ isMuted }) => !isMuted));

/** Loads two functions that return the number of the viewer's unread mentions in a channel and in a conversation, by id. */
export const ownMentionsIn = sumsIn(ownMentions);

/** Loads a function that returns the number of the viewer's unread mentions in a topic, by channel id and topic name. */
export const ownMentionsInTopics = perOperation(async (ctx) => {
  const byTopic = sumsBy(await ownMentions(ctx), ({ channelId, topic }) => `${channelId} ${topicKey(topic)}`);
  return (channelId: number, name: string): number => byTopic.get(`${channelId} ${topicKey(name)}`) ?? 0;
});

const inTopic = (channelId: number, name: string) => `t${channelId} ${name}`;
const inConversation = (id: number) => `c${id} `;

function placeOf({ ctx, key }: RequestedKey<string>): WantedPlace {
  const end = key.indexOf(' ');
  const [id, userId] = [Number(key.slice(1, end)), ctx.viewer.id];
  return key.startsWith('c')
    ? { userId, channelId: null, conversationId: id, topic: '' }
    : { userId, channelId: id, conversationId: null, topic: key.slice(end + 1) };
}

/**
 * Creates a loader of one value for each topic or conversation of a viewer, such as a count. The number of queries does not
 * grow with the number of topics and conversations.
 */
const ofPlaces = <V>(read: (db: Tx, organizationId: number, places: readonly WantedPlace[]) => Promise<readonly V[]>) =>
  acrossReaders<string, V>(async (wanted) => {
    const ctx: Ctx | undefined = wanted[0]?.ctx;
    return ctx === undefined ? [] : read(ctx.work.db, ctx.organizationId, wanted.map(placeOf));
  });

const topicCounts = ofPlaces(countUnreadInTopics);
const firsts = ofPlaces(firstUnreadIn);

/** Loads the viewer's number of unread messages in a topic. */
export const ownCountInTopic = (ctx: GraphQLContext, channelId: number, name: string): Promise<number> =>
  topicCounts(ctx).load(inTopic(channelId, name));

/** Loads the id of the viewer's oldest unread message in a topic. Null if there is none. */
export const firstUnreadInTopic = (ctx: GraphQLContext, channelId: number, name: string): Promise<number | null> =>
  firsts(ctx).load(inTopic(channelId, name));

/** Loads the id of the viewer's oldest unread message in a conversation. Null if there is none. */
export const firstUnreadInConversation = (ctx: GraphQLContext, id: number): Promise<number | null> =>
  firsts(ctx).load(inConversation(id));

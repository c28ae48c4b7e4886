import type { Ctx } from '../../access/context.ts';
import { acrossReaders, type GraphQLContext, perOperation } from '../../api/graphql/context.ts';
import type { Wanted } from '../../api/graphql/keyed-loader.ts';
import { topicKey } from '../../channels/topic-name.ts';
import type { Db } from '../../platform/db/client.ts';
import {
  countUnreadInTopics,
  countUnreadOfEach,
  firstUnreadIn,
  type UnreadCount,
  type WantedPlace,
} from './unread-counts.ts';
import { type UnreadMentions, unreadMentionsOfEach } from './unread-mentions.ts';

/** There is one of it for each viewer. */
const ALL = 0;

/** What is read of several viewers at once: read once for each operation, or delivery. */
function ofViewers<Row>(read: (db: Db, realmId: number, userIds: readonly number[]) => Promise<Map<number, Row[]>>) {
  const load = acrossReaders<typeof ALL, readonly Row[]>(async (wanted) => {
    const [first] = wanted;
    if (first === undefined) return [];
    const { app, realmId } = first.ctx;
    const found = await read(app.db, realmId, [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))]);
    return wanted.map(({ ctx }) => found.get(ctx.viewer.id) ?? []);
  });
  return (ctx: GraphQLContext): Promise<readonly Row[]> => load(ctx).load(ALL);
}

/** How much is unread for the viewer, by where it is. */
export const ownCounts = ofViewers<UnreadCount>(countUnreadOfEach);

/** What mentions the viewer and is unread, by where it is. */
export const ownMentions = ofViewers<UnreadMentions>(unreadMentionsOfEach);

interface Counted {
  readonly channelId: number | null;
  readonly conversationId: number | null;
  readonly count: number;
}

/** Sums by key; without what has none. */
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

/** Sums in one place, of counts that are read once. */
const sumsIn = (read: (ctx: GraphQLContext) => Promise<readonly Counted[]>) =>
  perOperation(async (ctx) => {
    const rows = await read(ctx);
    const byChannel = sumsBy(rows, ({ channelId }) => channelId);
    const byConversation = sumsBy(rows, ({ conversationId }) => conversationId);
    return {
      channel: (id: number): number => byChannel.get(id) ?? 0,
      conversation: (id: number): number => byConversation.get(id) ?? 0,
    };
  });

/** How much is unread for the viewer in a channel, or in a conversation. */
export const ownCountsIn = sumsIn(ownCounts);

/** How much of it mentions the viewer. */
export const ownMentionsIn = sumsIn(ownMentions);

/** How much is unread for the viewer in a topic and mentions them. */
export const ownMentionsInTopics = perOperation(async (ctx) => {
  const byTopic = sumsBy(await ownMentions(ctx), ({ channelId, topic }) => `${channelId} ${topicKey(topic)}`);
  return (channelId: number, name: string): number => byTopic.get(`${channelId} ${topicKey(name)}`) ?? 0;
});

const inTopic = (channelId: number, name: string) => `t${channelId} ${name}`;
const inConversation = (id: number) => `c${id} `;

function placeOf({ ctx, key }: Wanted<string>): WantedPlace {
  const end = key.indexOf(' ');
  const [id, userId] = [Number(key.slice(1, end)), ctx.viewer.id];
  return key.startsWith('c')
    ? { userId, channelId: null, conversationId: id, topic: '' }
    : { userId, channelId: id, conversationId: null, topic: key.slice(end + 1) };
}

/** What is read of places: as many queries for many as for one. */
const ofPlaces = <V>(read: (db: Db, realmId: number, places: readonly WantedPlace[]) => Promise<readonly V[]>) =>
  acrossReaders<string, V>(async (wanted) => {
    const ctx: Ctx | undefined = wanted[0]?.ctx;
    return ctx === undefined ? [] : read(ctx.app.db, ctx.realmId, wanted.map(placeOf));
  });

const topicCounts = ofPlaces(countUnreadInTopics);
const firsts = ofPlaces(firstUnreadIn);

/** How much is unread for the viewer in a topic. */
export const ownCountInTopic = (ctx: GraphQLContext, channelId: number, name: string): Promise<number> =>
  topicCounts(ctx).load(inTopic(channelId, name));

/** The oldest message in a topic that is unread for the viewer; null for none. */
export const firstUnreadInTopic = (ctx: GraphQLContext, channelId: number, name: string): Promise<number | null> =>
  firsts(ctx).load(inTopic(channelId, name));

/** The oldest message in a conversation that is unread for the viewer; null for none. */
export const firstUnreadInConversation = (ctx: GraphQLContext, id: number): Promise<number | null> =>
  firsts(ctx).load(inConversation(id));

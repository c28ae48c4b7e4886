import type { Ctx } from '../../access/context.ts';
import { accessChannelContent, readableBy } from '../../channels/access.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { isRowId } from '../../platform/ids.ts';
import { hasProtectedHistory, receivedBy } from '../access.ts';

/** A topic of a channel: that, and nothing more, is known of topics that hold messages. */
export interface Topic {
  /** As its last message has it; empty for the empty topic. */
  readonly name: string;
  /** Of its last message that the viewer may read. */
  readonly maxId: number;
}

/**
 * The topics of a channel in which there is something the viewer may read, the one last written to first.
 *
 * @throws BadRequestError when there is no such channel, or its content is not for the viewer.
 */
export async function listTopics(ctx: Ctx, channelId: number): Promise<readonly Topic[]> {
  const channel = await accessChannelContent(ctx, channelId);
  const topicsOf = await readTopics(ctx.app.db, ctx.viewer.id, [channel], WHOLE_LIST);
  return topicsOf(channel.id);
}

/** The topics of a channel last written to, as `listTopics` has them, so many at most. */
export async function newestTopics(ctx: Ctx, channelId: number, limit: number): Promise<readonly Topic[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return (await readTopics(ctx.app.db, ctx.viewer.id, [channel], { ...WHOLE_LIST, limit }))(channel.id);
}

/** A topic, by its channel and its name. */
export interface TopicKey {
  readonly channelId: number;
  /** In whatever case. */
  readonly name: string;
}

/**
 * The topics of these names, as far as there is something in them that the viewer may read; null for others. As many
 * queries for many as for one, each topic one step into an index.
 */
export async function findTopics(ctx: Ctx, keys: readonly TopicKey[]): Promise<(Topic | null)[]> {
  const found = await readInTopics(ctx, keys, { ...WHOLE_LIST, limit: 1 });
  return found.map(([last]) => (last === undefined ? null : { name: last.name, maxId: last.id }));
}

/**
 * The same page of the messages of each of these topics that the viewer may read, by their ids, the newest first. As many
 * queries for many topics as for one.
 */
export async function messagesInTopics(
  ctx: Ctx,
  keys: readonly TopicKey[],
  page: TopicPage,
): Promise<(readonly number[])[]> {
  const found = await readInTopics(ctx, keys, page);
  return found.map((messages) => messages.map(({ id }) => id).sort((a, b) => b - a));
}

/** A message, by its id, and its topic's name as that has it. */
interface Named {
  readonly id: number;
  readonly name: string;
}

/** In the order of the keys: nothing of a channel that the viewer does not read. */
async function readInTopics(ctx: Ctx, keys: readonly TopicKey[], page: TopicPage): Promise<(readonly Named[])[]> {
  const { app, viewer } = ctx;
  const ids = [...new Set(keys.map(({ channelId }) => channelId))].filter(isRowId);
  const where = { AND: [{ id: { in: ids } }, await readableBy(ctx)] };
  const channels = new Map((await app.db.channel.findMany({ where })).map((channel) => [channel.id, channel]));
  const places = keys.flatMap(({ channelId, name }, place) => {
    const channel = channels.get(channelId);
    return channel === undefined ? [] : [{ place, name, channel }];
  });
  const rows = await readPlaces(app.db, viewer.id, places, page);
  const found = Map.groupBy(rows, ({ place }) => place);
  return keys.map((_, place) => (found.get(place) ?? []).map(({ id, name }) => ({ id: Number(id), name })));
}

/**
 * As `findTopics`, in channels that the user may read: who the user is matters in those alone whose history is protected.
 */
export async function findTopicsIn(
  db: SqlClient,
  userId: number,
  wanted: readonly Omit<Place, 'place'>[],
): Promise<(Topic | null)[]> {
  const places = wanted.map((one, place) => ({ ...one, place }));
  const rows = await readPlaces(db, userId, places, { ...WHOLE_LIST, limit: 1 });
  const found = new Map(rows.map(({ place, id, name }) => [place, { name, maxId: Number(id) }]));
  return wanted.map((_, place) => found.get(place) ?? null);
}

async function readPlaces(db: SqlClient, userId: number, places: readonly Place[], page: TopicPage) {
  const { open = [], guarded = [] } = Object.groupBy(places, ({ channel }) =>
    hasProtectedHistory(channel) ? 'guarded' : 'open',
  );
  return [
    ...(open.length === 0 ? [] : await readNamed(db, open, Prisma.sql`true`, page)),
    ...(guarded.length === 0 ? [] : await readNamed(db, guarded, receivedBy(userId), page)),
  ];
}

interface Place {
  readonly place: number;
  readonly name: string;
  readonly channel: Channel;
}

function readNamed(
  db: SqlClient,
  wanted: readonly Place[],
  isReadable: Prisma.Sql,
  { above, below, limit, newestFirst }: TopicPage,
) {
  const [places, names] = [wanted.map(({ place }) => place), wanted.map(({ name }) => name)];
  const ids = wanted.map(({ channel }) => channel.id);
  return db.$queryRaw<{ place: number; id: bigint; name: string }[]>`
    SELECT wanted.place, found.* FROM unnest(${places}::int[], ${ids}::int[], ${names}::text[])
      AS wanted(place, channel_id, name)
    CROSS JOIN LATERAL (
      SELECT m.id, m.topic AS name FROM message m
      WHERE m.channel_id = wanted.channel_id AND lower(m.topic) = lower(wanted.name)
        AND m.id > ${above}::bigint AND m.id < ${below}::bigint AND ${isReadable}
      ORDER BY m.id ${newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`} LIMIT ${limit}::bigint
    ) AS found`;
}

/** Where a page of topics lies, by the ids of their last messages; or one of messages, by their own. */
export interface TopicPage {
  /** Ids above this one. */
  readonly above: number;
  /** Ids below this one. */
  readonly below: number;
  readonly limit: number;
  /** Whether the page is the first ones, from the one last written (to), or the last ones, from the other end. */
  readonly newestFirst: boolean;
}

const WHOLE_LIST: TopicPage = {
  above: 0,
  below: Number.MAX_SAFE_INTEGER,
  limit: Number.MAX_SAFE_INTEGER,
  newestFirst: true,
};

/** What decides how much of a channel's history a user who reads the channel may read. */
type Readable = Pick<Channel, 'id' | 'inviteOnly' | 'historyPublicToSubscribers'>;

/**
 * The same page of the topics of each of the channels, as far as the user may read them; that they may read the channels
 * at all is for the caller to know. At most two queries, however many channels, whose cost grows with the topics and not
 * with the messages.
 */
export async function readTopics(
  db: SqlClient,
  userId: number,
  channels: readonly Readable[],
  page: TopicPage,
): Promise<(channelId: number) => readonly Topic[]> {
  const { open = [], guarded = [] } = Object.groupBy(channels, (channel) =>
    hasProtectedHistory(channel) ? 'guarded' : 'open',
  );
  const rows = [
    ...(open.length === 0 ? [] : await readPages(db, LAST_OF_ALL, open, page)),
    ...(guarded.length === 0 ? [] : await readPages(db, lastReceivedBy(userId), guarded, page)),
  ];
  const byChannel = Map.groupBy(rows, ({ channel_id }) => channel_id);
  return (channelId) => (byChannel.get(channelId) ?? []).map(({ name, max_id }) => ({ name, maxId: Number(max_id) }));
}

interface TopicRow {
  readonly channel_id: number;
  readonly name: string;
  readonly max_id: bigint;
}

/**
 * @param last A query of `channel_id`, `name` and `max_id`, one row for each topic, after the tables `wanted` of channel
 *   ids and `step` of topics.
 */
function readPages(
  db: SqlClient,
  last: Prisma.Sql,
  channels: readonly Readable[],
  { above, below, limit, newestFirst }: TopicPage,
): Promise<TopicRow[]> {
  const ids = channels.map(({ id }) => id);
  const order = newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  // Each step finds the last message of the next topic before it: the index is entered once for each topic.
  return db.$queryRaw<TopicRow[]>`
    WITH RECURSIVE wanted AS (
      SELECT id FROM unnest(${ids}::int[]) AS c(id)
    ), step AS (
      SELECT wanted.id AS channel_id, topic.* FROM wanted CROSS JOIN LATERAL (
        SELECT lower(m.topic) AS key, m.topic AS name, m.id AS max_id FROM message m
        WHERE m.channel_id = wanted.id ORDER BY lower(m.topic) DESC, m.id DESC LIMIT 1
      ) AS topic
      UNION ALL
      SELECT step.channel_id, topic.* FROM step CROSS JOIN LATERAL (
        SELECT lower(m.topic) AS key, m.topic AS name, m.id AS max_id FROM message m
        WHERE m.channel_id = step.channel_id AND lower(m.topic) < step.key
        ORDER BY lower(m.topic) DESC, m.id DESC LIMIT 1
      ) AS topic
    ), last AS (${last}), ranked AS (
      SELECT last.*, row_number() OVER (PARTITION BY channel_id ORDER BY max_id ${order}) AS place FROM last
      WHERE max_id > ${above}::bigint AND max_id < ${below}::bigint
    )
    SELECT channel_id, name, max_id FROM ranked WHERE place <= ${limit}::bigint ORDER BY max_id DESC`;
}

const LAST_OF_ALL = Prisma.sql`SELECT channel_id, name, max_id FROM step`;

/**
 * The last message of each topic that the user received: `receivedBy` of access.ts, taken apart so that each part has an
 * index that leads to it, because most of the channel may lie before the user's time: what they were sent here, what
 * they sent themselves, and what was moved here from where they were sent it (OFFSET 0 keeps that from being looked for
 * among all that is here).
 */
const lastReceivedBy = (userId: number): Prisma.Sql => Prisma.sql`
  SELECT DISTINCT ON (channel_id, key) channel_id, name, max_id FROM (
    SELECT step.channel_id, step.key, sent.name, sent.max_id
    FROM step JOIN subscription_period p ON p.user_id = ${userId} AND p.channel_id = step.channel_id
    CROSS JOIN LATERAL (
      SELECT m.topic AS name, m.id AS max_id FROM message m
      WHERE m.channel_id = step.channel_id AND lower(m.topic) = step.key AND m.sent_channel_id = m.channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      ORDER BY m.id DESC LIMIT 1
    ) AS sent
    UNION ALL
    SELECT m.channel_id, lower(m.topic), m.topic, m.id
    FROM wanted JOIN message m ON m.channel_id = wanted.id WHERE m.sender_id = ${userId}
    UNION ALL
    SELECT moved.channel_id, lower(moved.topic), moved.topic, moved.id
    FROM subscription_period p CROSS JOIN LATERAL (
      SELECT m.channel_id, m.topic, m.id FROM message m
      WHERE m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      OFFSET 0
    ) AS moved
    WHERE p.user_id = ${userId} AND moved.channel_id IN (SELECT id FROM wanted)
  ) AS received (channel_id, key, name, max_id)
  ORDER BY channel_id, key, max_id DESC`;

/** Whether the user received a message that stands in the topic: `receivedBy`, taken apart so that each part has an index. */
export async function hasReceivedInTopic(
  db: SqlClient,
  userId: number,
  channelId: number,
  topic: string,
): Promise<boolean> {
  const [row] = await db.$queryRaw<{ received: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM subscription_period p CROSS JOIN LATERAL (
        SELECT FROM message m
        WHERE m.channel_id = p.channel_id AND lower(m.topic) = lower(${topic}) AND m.sent_channel_id = m.channel_id
          AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807) LIMIT 1
      ) AS sent
      WHERE p.user_id = ${userId} AND p.channel_id = ${channelId}
    ) OR EXISTS (
      SELECT FROM message m
      WHERE m.sender_id = ${userId} AND m.channel_id = ${channelId} AND lower(m.topic) = lower(${topic})
    ) OR EXISTS (
      SELECT FROM subscription_period p
      JOIN message m ON m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      WHERE p.user_id = ${userId} AND m.channel_id = ${channelId} AND lower(m.topic) = lower(${topic})
    ) AS received`;
  return row?.received === true;
}

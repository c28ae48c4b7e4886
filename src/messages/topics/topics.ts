import type { Ctx } from '../../access/context.ts';
import { accessChannelContent, hasProtectedHistory, readableBy } from '../../channels/access.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { isRowId } from '../../platform/ids.ts';
import { receivedBy } from '../access.ts';
import type { MessagePage } from '../channel-messages.ts';
import { NEWEST_FIRST, readTopics, type Topic, type TopicPage } from './topic-pages.ts';

/**
 * Reads the topics of a channel, without topics in which the viewer can read no message. The topic with the newest message
 * comes first.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot read it.
 */
export async function listTopics(ctx: Ctx, channelId: number): Promise<readonly Topic[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return readAll(ctx, channel, NEWEST_FIRST);
}

/**
 * Reads the first `limit` topics of a channel, without topics in which the viewer can read no message. The topic with the
 * newest message comes first.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot read it.
 */
export async function newestTopics(ctx: Ctx, channelId: number, limit: number): Promise<readonly Topic[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return readAll(ctx, channel, { ...NEWEST_FIRST, limit });
}

async function readAll({ work, viewer }: Ctx, channel: Channel, page: TopicPage): Promise<readonly Topic[]> {
  return (await readTopics(work.db, [{ userId: viewer.id, channel }], page))(viewer.id, channel.id);
}

/** Channel and name of a topic. */
export interface TopicKey {
  readonly channelId: number;
  /** Name of the topic. Letter case and Unicode form do not matter. */
  readonly name: string;
}

/**
 * Finds topics by name, in the order of `keys`. Null for a topic without messages that the viewer can read. The number of
 * queries does not grow with the number of topics. Each topic costs one index lookup.
 */
export async function findTopics(ctx: Ctx, keys: readonly TopicKey[]): Promise<(Topic | null)[]> {
  const found = await readInTopics(ctx, keys, { ...WHOLE_LIST, limit: 1 });
  return found.map(([last]) => (last === undefined ? null : { name: last.name, maxId: last.id }));
}

/**
 * Loads a page of messages for each topic, in the order of `keys`. All pages have the same bounds and limit. Returns the ids of
 * the messages that the viewer can read, newest first. The number of queries does not grow with the number of topics.
 */
export async function messagesInTopics(
  ctx: Ctx,
  keys: readonly TopicKey[],
  page: MessagePage,
): Promise<(readonly number[])[]> {
  const found = await readInTopics(ctx, keys, page);
  return found.map((messages) => messages.map(({ id }) => id).sort((a, b) => b - a));
}

/** Id of a message, and the name of its topic in that message. */
interface Named {
  readonly id: number;
  readonly name: string;
}

/**
 * Reads pages of messages of topics, in the order of `keys`. The page of a topic is empty if the viewer cannot read its
 * channel.
 */
async function readInTopics(ctx: Ctx, keys: readonly TopicKey[], page: MessagePage): Promise<(readonly Named[])[]> {
  const { work, viewer } = ctx;
  const ids = [...new Set(keys.map(({ channelId }) => channelId))].filter(isRowId);
  const where = { AND: [{ id: { in: ids } }, await readableBy(ctx)] };
  const channels = new Map((await work.db.channel.findMany({ where })).map((channel) => [channel.id, channel]));
  const places = keys.flatMap(({ channelId, name }, place) => {
    const channel = channels.get(channelId);
    return channel === undefined ? [] : [{ place, name, channel, userId: viewer.id }];
  });
  const rows = await readPlaces(work.db, places, page);
  const found = Map.groupBy(rows, ({ place }) => place);
  return keys.map((_, place) => (found.get(place) ?? []).map(({ id, name }) => ({ id: Number(id), name })));
}

/**
 * Finds topics by name, each for a given user, in the order of `wanted`. Null for a topic without messages that this user can
 * read. The caller checks that the user can read the topic's channel. The result depends on the user only in channels with
 * protected history. Uses at most two queries, for any number of topics and users.
 */
export async function findTopicsIn(
  db: SqlClient,
  wanted: readonly Omit<WantedTopic, 'place'>[],
): Promise<(Topic | null)[]> {
  const places = wanted.map((one, place) => ({ ...one, place }));
  const rows = await readPlaces(db, places, { ...WHOLE_LIST, limit: 1 });
  const found = new Map(rows.map(({ place, id, name }) => [place, { name, maxId: Number(id) }]));
  return wanted.map((_, place) => found.get(place) ?? null);
}

async function readPlaces(db: SqlClient, places: readonly WantedTopic[], page: MessagePage) {
  const { open = [], guarded = [] } = Object.groupBy(places, ({ channel }) =>
    hasProtectedHistory(channel) ? 'guarded' : 'open',
  );
  return [
    ...(open.length === 0 ? [] : await readNamed(db, open, () => Prisma.sql`true`, page)),
    ...(guarded.length === 0
      ? []
      : await readNamed(db, guarded, (id) => receivedBy(id, Prisma.sql`wanted.user_id`), page)),
  ];
}

interface WantedTopic {
  readonly place: number;
  readonly name: string;
  readonly channel: Channel;
  /** Id of the user for whom the topic is loaded. */
  readonly userId: number;
}

function readNamed(
  db: SqlClient,
  wanted: readonly WantedTopic[],
  isReadable: (organizationId: number) => Prisma.Sql,
  { above, below, limit, newestFirst }: MessagePage,
) {
  // All topics of a request are of the viewer's organization.
  const organizationId = wanted[0]?.channel.organizationId ?? 0;
  const [places, names] = [wanted.map(({ place }) => place), wanted.map(({ name }) => name)];
  const [ids, userIds] = [wanted.map(({ channel }) => channel.id), wanted.map(({ userId }) => userId)];
  return readRows<{ place: number; id: bigint; name: string }>(
    db,
    Prisma.sql`
    SELECT wanted.place, found.* FROM unnest(${places}::int[], ${ids}::int[], ${names}::text[], ${userIds}::int[])
      AS wanted(place, channel_id, name, user_id)
    CROSS JOIN LATERAL (
      SELECT m.id, m.topic AS name FROM message m
      WHERE m.realm_id = ${organizationId} AND m.channel_id = wanted.channel_id AND topic_key(m.topic) = topic_key(wanted.name)
        AND m.id > ${above}::bigint AND m.id < ${below}::bigint AND ${isReadable(organizationId)}
      ORDER BY m.id ${newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`} LIMIT ${limit}::bigint
    ) AS found`,
  );
}

const WHOLE_LIST: MessagePage = {
  above: 0,
  below: Number.MAX_SAFE_INTEGER,
  limit: Number.MAX_SAFE_INTEGER,
  newestFirst: true,
};

/**
 * Returns whether the user received a message in the topic. The condition is equivalent to `receivedBy` in access.ts, but each
 * of its three parts can use its own index.
 */
export async function hasReceivedInTopic(
  db: SqlClient,
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
  channelId: number,
  topic: string,
): Promise<boolean> {
  const [row] = await readRows<{ received: boolean }>(
    db,
    Prisma.sql`
    SELECT EXISTS (
      SELECT FROM subscription_period p CROSS JOIN LATERAL (
        SELECT FROM message m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = p.channel_id AND topic_key(m.topic) = topic_key(${topic})
          AND m.sent_channel_id = m.channel_id
          AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807) LIMIT 1
      ) AS sent
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.channel_id = ${channelId}
    ) OR EXISTS (
      SELECT FROM message m
      WHERE m.realm_id = ${organizationId} AND m.sender_id = ${userId} AND m.channel_id = ${channelId} AND topic_key(m.topic) = topic_key(${topic})
    ) OR EXISTS (
      SELECT FROM subscription_period p
      JOIN message m ON m.realm_id = p.realm_id AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND m.channel_id = ${channelId} AND topic_key(m.topic) = topic_key(${topic})
    ) AS received`,
  );
  return row?.received === true;
}

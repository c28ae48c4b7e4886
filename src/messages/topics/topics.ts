import type { Ctx } from '../../access/context.ts';
import { accessChannelContent, readableBy } from '../../channels/access.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { isRowId } from '../../platform/ids.ts';
import { hasProtectedHistory, receivedBy } from '../access.ts';
import type { MessagePage } from '../channel-messages.ts';
import { NEWEST_FIRST, readTopics, type Topic, type TopicPage } from './topic-pages.ts';

/**
 * The topics of a channel in which there is something the viewer may read, the one last written to first.
 *
 * @throws BadRequestError when there is no such channel, or its content is not for the viewer.
 */
export async function listTopics(ctx: Ctx, channelId: number): Promise<readonly Topic[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return readAll(ctx, channel, NEWEST_FIRST);
}

/** The topics of a channel last written to, as `listTopics` has them, so many at most. */
export async function newestTopics(ctx: Ctx, channelId: number, limit: number): Promise<readonly Topic[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return readAll(ctx, channel, { ...NEWEST_FIRST, limit });
}

async function readAll({ app, viewer }: Ctx, channel: Channel, page: TopicPage): Promise<readonly Topic[]> {
  return (await readTopics(app.db, [{ userId: viewer.id, channel }], page))(viewer.id, channel.id);
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
  page: MessagePage,
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
async function readInTopics(ctx: Ctx, keys: readonly TopicKey[], page: MessagePage): Promise<(readonly Named[])[]> {
  const { app, viewer } = ctx;
  const ids = [...new Set(keys.map(({ channelId }) => channelId))].filter(isRowId);
  const where = { AND: [{ id: { in: ids } }, await readableBy(ctx)] };
  const channels = new Map((await app.db.channel.findMany({ where })).map((channel) => [channel.id, channel]));
  const places = keys.flatMap(({ channelId, name }, place) => {
    const channel = channels.get(channelId);
    return channel === undefined ? [] : [{ place, name, channel, userId: viewer.id }];
  });
  const rows = await readPlaces(app.db, places, page);
  const found = Map.groupBy(rows, ({ place }) => place);
  return keys.map((_, place) => (found.get(place) ?? []).map(({ id, name }) => ({ id: Number(id), name })));
}

/**
 * As `findTopics`, each for a user who may read the channel: who they are matters in those alone whose history is
 * protected. At most two queries, however many topics and users.
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
    ...(open.length === 0 ? [] : await readNamed(db, open, Prisma.sql`true`, page)),
    ...(guarded.length === 0 ? [] : await readNamed(db, guarded, receivedBy(Prisma.sql`wanted.user_id`), page)),
  ];
}

interface WantedTopic {
  readonly place: number;
  readonly name: string;
  readonly channel: Channel;
  /** For whom. */
  readonly userId: number;
}

function readNamed(
  db: SqlClient,
  wanted: readonly WantedTopic[],
  isReadable: Prisma.Sql,
  { above, below, limit, newestFirst }: MessagePage,
) {
  const [places, names] = [wanted.map(({ place }) => place), wanted.map(({ name }) => name)];
  const [ids, userIds] = [wanted.map(({ channel }) => channel.id), wanted.map(({ userId }) => userId)];
  return readRows<{ place: number; id: bigint; name: string }>(
    db,
    Prisma.sql`
    SELECT wanted.place, found.* FROM unnest(${places}::int[], ${ids}::int[], ${names}::text[], ${userIds}::int[])
      AS wanted(place, channel_id, name, user_id)
    CROSS JOIN LATERAL (
      SELECT m.id, m.topic AS name FROM message m
      WHERE m.channel_id = wanted.channel_id AND lower(m.topic) = lower(wanted.name)
        AND m.id > ${above}::bigint AND m.id < ${below}::bigint AND ${isReadable}
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

/** Whether the user received a message that stands in the topic: `receivedBy`, taken apart so that each part has an index. */
export async function hasReceivedInTopic(
  db: SqlClient,
  { realmId, userId }: { readonly realmId: number; readonly userId: number },
  channelId: number,
  topic: string,
): Promise<boolean> {
  const [row] = await readRows<{ received: boolean }>(
    db,
    Prisma.sql`
    SELECT EXISTS (
      SELECT FROM subscription_period p CROSS JOIN LATERAL (
        SELECT FROM message m
        WHERE m.channel_id = p.channel_id AND lower(m.topic) = lower(${topic}) AND m.sent_channel_id = m.channel_id
          AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807) LIMIT 1
      ) AS sent
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND p.channel_id = ${channelId}
    ) OR EXISTS (
      SELECT FROM message m
      WHERE m.sender_id = ${userId} AND m.channel_id = ${channelId} AND lower(m.topic) = lower(${topic})
    ) OR EXISTS (
      SELECT FROM subscription_period p
      JOIN message m ON m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND m.channel_id = ${channelId} AND lower(m.topic) = lower(${topic})
    ) AS received`,
  );
  return row?.received === true;
}

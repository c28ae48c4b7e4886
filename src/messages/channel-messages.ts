import { hasProtectedHistory } from '../channels/access.ts';
import { type Channel, type Message, Prisma } from '../generated/prisma/client.ts';
import { BatchedReads } from '../platform/db/batched-reads.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';

/** Bounds, length and direction of a page of messages. */
export interface MessagePage {
  /** Lower bound of the ids, exclusive. */
  readonly above: number;
  /** Upper bound of the ids, exclusive. */
  readonly below: number;
  readonly limit: number;
  /** Whether the page contains the newest messages between the bounds. If false, it contains the oldest ones. */
  readonly newestFirst: boolean;
}

type Readable = Pick<Channel, 'id' | 'inviteOnly' | 'historyPublicToSubscribers'>;

const MESSAGE = fieldsOf('m', 'Message');

/**
 * Builds the SQL that reads messages by id, in any order. The query `ids` returns the ids in the column `id`. `OFFSET 0` makes
 * the planner look up each message by its key. Without it, the planner would read all messages, because it cannot estimate that
 * `ids` returns few rows.
 */
export const messagesByIds = (organizationId: number, ids: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT found.* FROM (${ids}) AS wanted CROSS JOIN LATERAL (
    SELECT ${MESSAGE} FROM message m WHERE m.realm_id = ${organizationId} AND m.id = wanted.id OFFSET 0) AS found`;

/**
 * Loads one page of messages of each channel, all with the same bounds and limit. A page contains the messages that the user
 * can read. Uses at most two queries, whatever the number of channels. The caller checks that the user can read the channels.
 *
 * @returns A function from a channel id to the messages of that channel, newest first.
 */
export async function messagesInChannels(
  db: SqlClient,
  { userId, organizationId }: { readonly userId: number; readonly organizationId: number },
  channels: readonly Readable[],
  page: MessagePage,
): Promise<(channelId: number) => readonly Message[]> {
  const { open = [], guarded = [] } = Object.groupBy(channels, (channel) =>
    hasProtectedHistory(channel) ? 'guarded' : 'open',
  );
  const [shared, own] = await Promise.all([
    open.length === 0
      ? []
      : openPages.of(
          { db, organizationId, statement: textOf(page) },
          idsOf(open).map((channelId) => ({ channelId, page })),
        ),
    guarded.length === 0
      ? []
      : readPages(db, organizationId, idsOf(guarded), page, receivedIn({ organizationId, userId }, page)),
  ]);
  const byChannel = Map.groupBy([...shared.flat(), ...own], ({ channelId }) => channelId);
  return (channelId) => (byChannel.get(channelId) ?? []).sort((a, b) => Number(b.id - a.id));
}

const idsOf = (channels: readonly Readable[]) => channels.map(({ id }) => id);

/** Request for a page of messages in a channel in which every reader of the channel can read all messages. */
interface OpenPage {
  readonly channelId: number;
  readonly page: MessagePage;
}

/**
 * Counts the messages of each channel that the user can read, up to `limit` in each channel. Uses at most two queries, whatever
 * the number of channels. The caller checks that the user can read the channels.
 *
 * @returns A function from a channel id to the number of messages.
 */
export async function countInChannels(
  db: SqlClient,
  { userId, organizationId }: { readonly userId: number; readonly organizationId: number },
  channels: readonly Readable[],
  limit: number,
): Promise<(channelId: number) => number> {
  const { open = [], guarded = [] } = Object.groupBy(channels, (channel) =>
    hasProtectedHistory(channel) ? 'guarded' : 'open',
  );
  const page = { above: 0, below: Number.MAX_SAFE_INTEGER, limit, newestFirst: true };
  const count = (some: readonly Readable[], ids: Prisma.Sql) =>
    some.length === 0
      ? []
      : readRows<{ id: number; count: number }>(
          db,
          Prisma.sql`
          SELECT wanted.id, (SELECT count(*)::int FROM (SELECT FROM (${ids}) AS any_of ${first(page)}) AS found) AS count
          FROM unnest(${listOf('int', idsOf(some))}) AS wanted(id)`,
        );
  const rows = await Promise.all([
    count(open, anyIn(organizationId, page)),
    count(guarded, receivedIn({ organizationId, userId }, page)),
  ]);
  const counts = new Map(rows.flat().map(({ id, count: found }) => [id, found]));
  return (channelId) => counts.get(channelId) ?? 0;
}

/** Batches concurrent reads of different channels into one statement, if the pages have the same bounds and limit. */
const openPages = new BatchedReads<OpenPage, readonly Message[]>(
  async ({ db, organizationId }, wanted) => {
    const [one] = wanted;
    if (one === undefined) return [];
    const ids = [...new Set(wanted.map(({ channelId }) => channelId))];
    const rows = await readPages(db, organizationId, ids, one.page, anyIn(organizationId, one.page));
    const byChannel = Map.groupBy(rows, ({ channelId }) => channelId);
    return wanted.map(({ channelId }) => byChannel.get(channelId) ?? []);
  },
  ({ page }) => page.limit,
  ({ channelId }) => channelId,
);

const textOf = ({ above, below, limit, newestFirst }: MessagePage) => `${above} ${below} ${limit} ${newestFirst}`;

/**
 * Reads one page of messages of each channel.
 *
 * @param ids SQL query that returns ids of messages as the column `id`. It can refer to the channel id as `wanted.id`.
 */
function readPages(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
  page: MessagePage,
  ids: Prisma.Sql,
): Promise<Message[]> {
  const found = Prisma.sql`
    SELECT found.id FROM unnest(${listOf('int', channelIds)}) AS wanted(id)
    CROSS JOIN LATERAL (SELECT any_of.id FROM (${ids}) AS any_of ${first(page)}) AS found`;
  return readRows<Message>(db, messagesByIds(organizationId, found));
}

const first = ({ newestFirst, limit }: MessagePage): Prisma.Sql =>
  Prisma.sql`ORDER BY id ${newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`} LIMIT ${limit}::bigint`;

const within = ({ above, below }: MessagePage): Prisma.Sql =>
  Prisma.sql`m.id > ${above}::bigint AND m.id < ${below}::bigint`;

const anyIn = (organizationId: number, page: MessagePage): Prisma.Sql => Prisma.sql`
  SELECT m.id FROM message m WHERE m.realm_id = ${organizationId} AND m.channel_id = wanted.id AND ${within(page)} ${first(page)}`;

/**
 * Builds the query of the messages in the channel `wanted.id` that the user received. The query is equivalent to `receivedBy`
 * in access.ts, but each of the query's three parts can use its own index. So the query does not read messages that other users
 * sent while the user was not subscribed.
 *
 * The parts are: messages sent here while the user was subscribed; the user's own messages; and messages moved here from a
 * channel to which the user was subscribed. In the last part, OFFSET 0 prevents a search of all messages of this channel.
 */
const receivedIn = (
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
  page: MessagePage,
): Prisma.Sql => Prisma.sql`
  SELECT sent.id FROM subscription_period p CROSS JOIN LATERAL (
    SELECT m.id FROM message m
    WHERE m.realm_id = ${organizationId} AND m.channel_id = wanted.id AND m.sent_channel_id = m.channel_id AND ${within(page)}
      AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
    ${first(page)}
  ) AS sent
  WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.channel_id = wanted.id
  UNION
  (SELECT m.id FROM message m
    WHERE m.realm_id = ${organizationId} AND m.channel_id = wanted.id AND m.sender_id = ${userId}
      AND ${within(page)} ${first(page)})
  UNION
  SELECT moved.id FROM subscription_period p CROSS JOIN LATERAL (
    SELECT m.id, m.channel_id FROM message m
    WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
      AND ${within(page)}
      AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
    OFFSET 0
  ) AS moved
  WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND moved.channel_id = wanted.id`;

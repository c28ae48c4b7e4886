import { hasProtectedHistory } from '../../channels/access.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import {
  byName,
  cursorKey,
  inOrder,
  isWithin,
  type Keyset,
  type RowKey,
  type SortColumn,
} from '../../platform/db/keyset.ts';
import { readRows } from '../../platform/db/rows.ts';

/** A topic of a channel, derived from its messages. Contains only its name and its last message. */
export interface Topic {
  /**
   * Name of the topic, exactly as in its last message (messages can differ in letter case and Unicode form). Empty for the
   * empty topic.
   */
  readonly name: string;
  /** Id of the topic's last message that the viewer can read. */
  readonly maxId: number;
}

/** Fields by which a list of topics can be sorted. */
export type TopicField = 'lastMessage' | 'name';

/**
 * Bounds and order of a page of topics. Within a channel, no two topics have the same value of a sort field. So the ids in the
 * bounds, which distinguish rows with equal values, are not needed and are 0.
 */
export interface TopicPage extends Keyset {
  readonly field: TopicField;
}

/** Page that contains all topics. The topic with the newest message comes first. */
export const NEWEST_FIRST: TopicPage = {
  ...{ field: 'lastMessage', above: undefined, below: undefined },
  ...{ limit: Number.MAX_SAFE_INTEGER, descending: true },
};

const COLUMNS: Readonly<Record<TopicField, SortColumn>> = {
  lastMessage: { key: Prisma.sql`max_id` },
  name: byName(Prisma.sql`name`),
};

/** Properties of a channel that decide which of its messages its readers can read. */
type Readable = Pick<Channel, 'organizationId' | 'id' | 'inviteOnly' | 'historyPublicToSubscribers'>;

/** A channel, and a user who can read the channel. All channels of one call of `readTopics` belong to one organization. */
export interface ReadChannel {
  readonly userId: number;
  readonly channel: Readable;
}

/**
 * Loads a page of topics for each pair of channel and user. All pages have the same bounds and order. A page contains the
 * topics with at least one message that the user can read. The caller checks that the users can read the channels. Uses at most
 * two queries. Their cost grows with the number of topics, not with the number of messages.
 *
 * @returns A function that returns the page for a user id and a channel id.
 */
export async function readTopics(
  db: SqlClient,
  wanted: readonly ReadChannel[],
  page: TopicPage,
): Promise<(userId: number, channelId: number) => readonly PlacedTopic[]> {
  const { open = [], guarded = [] } = Object.groupBy(wanted, ({ channel }) =>
    hasProtectedHistory(channel) ? 'guarded' : 'open',
  );
  const [ofAll, ofEach] = [
    open.length === 0 ? [] : await readOpen(db, open, page),
    guarded.length === 0 ? [] : await readGuarded(db, guarded, page),
  ];
  const byChannel = Map.groupBy(ofAll, ({ channel_id }) => channel_id);
  const byReader = Map.groupBy(ofEach, ({ user_id, channel_id }) => `${user_id} ${channel_id}`);
  return (userId, channelId) =>
    (byChannel.get(channelId) ?? byReader.get(`${userId} ${channelId}`) ?? []).map(({ name, max_id, key }) => ({
      ...{ name, maxId: Number(max_id) },
      ...{ key: typeof key === 'bigint' ? Number(key) : key, id: 0 },
    }));
}

/** A topic with its position in a sorted list. */
export interface PlacedTopic extends Topic, RowKey {}

interface TopicRow {
  readonly channel_id: number;
  readonly key: string | bigint;
  readonly name: string;
  readonly max_id: bigint;
}

/**
 * Reads pages of topics of channels without protected history. Such a page does not depend on the user, so it is loaded once
 * for all users.
 */
const readOpen = (db: SqlClient, open: readonly ReadChannel[], page: TopicPage) => {
  const ids = [...new Set(open.map(({ channel }) => channel.id))];
  return readRows<TopicRow>(
    db,
    pagesOf(organizationIn(open), Prisma.sql`SELECT id FROM unnest(${ids}::int[]) AS c(id)`, LAST_OF_ALL, page),
  );
};

/** Returns the organization of the channels. A read has channels of one organization. */
const organizationIn = (channels: readonly ReadChannel[]): number => channels[0]?.channel.organizationId ?? 0;

type OwnRow = TopicRow & { readonly user_id: number };

/**
 * Reads pages of topics of channels with protected history, for each user. If there is only one user, the user id is a constant
 * in the query, which gives the planner better estimates.
 */
function readGuarded(db: SqlClient, guarded: readonly ReadChannel[], page: TopicPage): Promise<OwnRow[]> {
  const [userIds, ids] = [guarded.map(({ userId }) => userId), guarded.map(({ channel }) => channel.id)];
  const users = [...new Set(userIds)];
  const organizationId = organizationIn(guarded);
  const pagesFor = (user: Prisma.Sql) => {
    const channels = Prisma.sql`
      SELECT c.id FROM unnest(${userIds}::int[], ${ids}::int[]) AS c(user_id, id) WHERE c.user_id = ${user}`;
    return pagesOf(organizationId, channels, lastReceivedBy(organizationId, user), page);
  };
  const [user] = users;
  if (users.length === 1) {
    return readRows<OwnRow>(
      db,
      Prisma.sql`
      SELECT ${user}::int AS user_id, found.* FROM (${pagesFor(Prisma.sql`${user}`)}) AS found ORDER BY found.place`,
    );
  }
  return readRows<OwnRow>(
    db,
    Prisma.sql`
    SELECT holder.id AS user_id, found.* FROM unnest(${users}::int[]) AS holder(id)
    CROSS JOIN LATERAL (${pagesFor(Prisma.sql`holder.id`)}) AS found ORDER BY found.place`,
  );
}

/**
 * Builds the query that returns a page of topics of each channel.
 *
 * @param channels Query of the channels' `id`s.
 * @param last Query of `channel_id`, `name` and `max_id`, with one row per topic. It can use two tables: `wanted` with the ids
 *   of the channels, and `step` with all topics of these channels.
 */
function pagesOf(organizationId: number, channels: Prisma.Sql, last: Prisma.Sql, page: TopicPage): Prisma.Sql {
  const [column, none] = [COLUMNS[page.field], Prisma.sql`0::bigint`];
  // Uses a loose index scan: each step finds the last message of the next topic, with one index lookup.
  return Prisma.sql`
    WITH RECURSIVE wanted AS (
      ${channels}
    ), step AS (
      SELECT wanted.id AS channel_id, topic.* FROM wanted CROSS JOIN LATERAL (
        SELECT topic_key(m.topic) AS key, m.topic AS name, m.id AS max_id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = wanted.id
        ORDER BY topic_key(m.topic) DESC, m.id DESC LIMIT 1
      ) AS topic
      UNION ALL
      SELECT step.channel_id, topic.* FROM step CROSS JOIN LATERAL (
        SELECT topic_key(m.topic) AS key, m.topic AS name, m.id AS max_id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = step.channel_id AND topic_key(m.topic) < step.key
        ORDER BY topic_key(m.topic) DESC, m.id DESC LIMIT 1
      ) AS topic
    ), last AS (${last}), ranked AS (
      SELECT last.*, ${cursorKey(column)} AS key,
        row_number() OVER (PARTITION BY channel_id ORDER BY ${inOrder(page, column, none)}) AS place
      FROM last WHERE ${isWithin(page, column, none)}
    )
    SELECT channel_id, name, max_id, key, place FROM ranked WHERE place <= ${page.limit}::bigint ORDER BY place`;
}

const LAST_OF_ALL = Prisma.sql`SELECT channel_id, name, max_id FROM step`;

/**
 * Builds the query of the last message that the user received in each topic. The query is equivalent to `receivedBy` in
 * access.ts, but each of the query's three parts can use its own index. So the query does not read messages that other users
 * sent while the user was not subscribed.
 *
 * The parts are: messages sent to this channel while the user was subscribed; the user's own messages; and messages moved here
 * from a channel to which the user was subscribed. In the last part, OFFSET 0 prevents a scan of the whole channel.
 */
const lastReceivedBy = (organizationId: number, userId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT DISTINCT ON (channel_id, key) channel_id, name, max_id FROM (
    SELECT step.channel_id, step.key, sent.name, sent.max_id
    FROM step JOIN subscription_period p ON p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.channel_id = step.channel_id
    CROSS JOIN LATERAL (
      SELECT m.topic AS name, m.id AS max_id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.channel_id = step.channel_id AND topic_key(m.topic) = step.key
        AND m.sent_channel_id = m.channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      ORDER BY m.id DESC LIMIT 1
    ) AS sent
    UNION ALL
    SELECT m.channel_id, topic_key(m.topic), m.topic, m.id
    FROM wanted JOIN message m ON m.realm_id = ${organizationId} AND m.channel_id = wanted.id WHERE m.sender_id = ${userId}
    UNION ALL
    SELECT moved.channel_id, topic_key(moved.topic), moved.topic, moved.id
    FROM subscription_period p CROSS JOIN LATERAL (
      SELECT m.channel_id, m.topic, m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      OFFSET 0
    ) AS moved
    WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND moved.channel_id IN (SELECT id FROM wanted)
  ) AS received (channel_id, key, name, max_id)
  ORDER BY channel_id, key, max_id DESC`;

import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { inOrder, isWithin, type Keyset, type Place } from '../../platform/db/keyset.ts';
import { readRows } from '../../platform/db/rows.ts';
import { hasProtectedHistory } from '../access.ts';

/** A topic of a channel, derived from its messages. Topics have no other properties. */
export interface Topic {
  /** Name of the topic, in the spelling of its last message. Empty for the empty topic. */
  readonly name: string;
  /** Id of its last message that the viewer can read. */
  readonly maxId: number;
}

/** Sort keys of a channel's topics. */
export type TopicField = 'lastMessage' | 'name';

/** A page of a channel's topics. Sort keys are unique, so the ids of places are not needed and are 0. */
export interface TopicPage extends Keyset {
  readonly field: TopicField;
}

/** All topics, the one with the newest message first. */
export const NEWEST_FIRST: TopicPage = {
  ...{ field: 'lastMessage', above: undefined, below: undefined },
  ...{ limit: Number.MAX_SAFE_INTEGER, descending: true },
};

const KEYS: Readonly<Record<TopicField, Prisma.Sql>> = {
  lastMessage: Prisma.sql`max_id`,
  name: Prisma.sql`topic_key(name)`,
};

/** The properties of a channel that determine which messages its readers can read. */
type Readable = Pick<Channel, 'realmId' | 'id' | 'inviteOnly' | 'historyPublicToSubscribers'>;

/** A channel and a user who can read it. All of one call belong to the same organization. */
export interface ReadChannel {
  readonly userId: number;
  readonly channel: Readable;
}

/**
 * Reads the same page of topics for each channel, as far as the user can read them. The caller must have checked that the users
 * can read the channels. At most two queries, whose cost grows with the topics and not with the messages.
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

/** A topic with its position in the list. */
export interface PlacedTopic extends Topic, Place {}

interface TopicRow {
  readonly channel_id: number;
  readonly key: string | bigint;
  readonly name: string;
  readonly max_id: bigint;
}

/** Without protected history, the result is equal for all users who can read the channel. */
const readOpen = (db: SqlClient, open: readonly ReadChannel[], page: TopicPage) => {
  const ids = [...new Set(open.map(({ channel }) => channel.id))];
  return readRows<TopicRow>(db, pagesOf(Prisma.sql`SELECT id FROM unnest(${ids}::int[]) AS c(id)`, LAST_OF_ALL, page));
};

type OwnRow = TopicRow & { readonly user_id: number };

/** Reads the pages of each user. For a single user the id is a constant, which gives the planner better estimates. */
function readGuarded(db: SqlClient, guarded: readonly ReadChannel[], page: TopicPage): Promise<OwnRow[]> {
  const [userIds, ids] = [guarded.map(({ userId }) => userId), guarded.map(({ channel }) => channel.id)];
  const users = [...new Set(userIds)];
  const realmId = guarded[0]?.channel.realmId ?? 0;
  const pagesFor = (user: Prisma.Sql) => {
    const channels = Prisma.sql`
      SELECT c.id FROM unnest(${userIds}::int[], ${ids}::int[]) AS c(user_id, id) WHERE c.user_id = ${user}`;
    return pagesOf(channels, lastReceivedBy(realmId, user), page);
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
 * Returns a statement for a page of topics of each channel.
 *
 * @param channels A query of their `id`s.
 * @param last A query of `channel_id`, `name` and `max_id`, one row for each topic, after the tables `wanted` of channel ids and
 *   `step` of topics.
 */
function pagesOf(channels: Prisma.Sql, last: Prisma.Sql, page: TopicPage): Prisma.Sql {
  const [key, none] = [KEYS[page.field], Prisma.sql`0::bigint`];
  // A loose index scan: each step finds the last message of the next topic, with one index lookup for each topic.
  return Prisma.sql`
    WITH RECURSIVE wanted AS (
      ${channels}
    ), step AS (
      SELECT wanted.id AS channel_id, topic.* FROM wanted CROSS JOIN LATERAL (
        SELECT topic_key(m.topic) AS key, m.topic AS name, m.id AS max_id FROM message m
        WHERE m.channel_id = wanted.id ORDER BY topic_key(m.topic) DESC, m.id DESC LIMIT 1
      ) AS topic
      UNION ALL
      SELECT step.channel_id, topic.* FROM step CROSS JOIN LATERAL (
        SELECT topic_key(m.topic) AS key, m.topic AS name, m.id AS max_id FROM message m
        WHERE m.channel_id = step.channel_id AND topic_key(m.topic) < step.key
        ORDER BY topic_key(m.topic) DESC, m.id DESC LIMIT 1
      ) AS topic
    ), last AS (${last}), ranked AS (
      SELECT last.*, ${key} AS key, row_number() OVER (PARTITION BY channel_id ORDER BY ${inOrder(page, key, none)}) AS place
      FROM last WHERE ${isWithin(page, key, none)}
    )
    SELECT channel_id, name, max_id, key, place FROM ranked WHERE place <= ${page.limit}::bigint ORDER BY place`;
}

const LAST_OF_ALL = Prisma.sql`SELECT channel_id, name, max_id FROM step`;

/**
 * Returns a query for the last message of each topic that the user received. Equivalent to `receivedBy` of access.ts, but split
 * into parts that each use an index, because most messages of the channel may be older than the subscription. The parts are
 * messages received in this channel, the user's own messages, and messages received in another channel and moved here. OFFSET 0
 * prevents a scan of the whole channel for the latter.
 */
const lastReceivedBy = (realmId: number, userId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT DISTINCT ON (channel_id, key) channel_id, name, max_id FROM (
    SELECT step.channel_id, step.key, sent.name, sent.max_id
    FROM step JOIN subscription_period p ON p.realm_id = ${realmId} AND p.user_id = ${userId} AND p.channel_id = step.channel_id
    CROSS JOIN LATERAL (
      SELECT m.topic AS name, m.id AS max_id FROM message m
      WHERE m.channel_id = step.channel_id AND topic_key(m.topic) = step.key AND m.sent_channel_id = m.channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      ORDER BY m.id DESC LIMIT 1
    ) AS sent
    UNION ALL
    SELECT m.channel_id, topic_key(m.topic), m.topic, m.id
    FROM wanted JOIN message m ON m.channel_id = wanted.id WHERE m.sender_id = ${userId}
    UNION ALL
    SELECT moved.channel_id, topic_key(moved.topic), moved.topic, moved.id
    FROM subscription_period p CROSS JOIN LATERAL (
      SELECT m.channel_id, m.topic, m.id FROM message m
      WHERE m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
        AND m.id > p.began_message_id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)
      OFFSET 0
    ) AS moved
    WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND moved.channel_id IN (SELECT id FROM wanted)
  ) AS received (channel_id, key, name, max_id)
  ORDER BY channel_id, key, max_id DESC`;

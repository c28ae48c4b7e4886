import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { inOrder, isWithin, type Keyset, type Place } from '../../platform/db/keyset.ts';
import { readRows } from '../../platform/db/rows.ts';
import { hasProtectedHistory } from '../access.ts';

/** A topic of a channel: that, and nothing more, is known of topics that hold messages. */
export interface Topic {
  /** As its last message has it; empty for the empty topic. */
  readonly name: string;
  /** Of its last message that the viewer may read. */
  readonly maxId: number;
}

/** What topics of a channel can be sorted by. */
export type TopicField = 'lastMessage' | 'name';

/** A page of a channel's topics. No two are alike in a field, so that ids of places mean nothing: they are 0. */
export interface TopicPage extends Keyset {
  readonly field: TopicField;
}

/** All of them, the one last written to first. */
export const NEWEST_FIRST: TopicPage = {
  ...{ field: 'lastMessage', above: undefined, below: undefined },
  ...{ limit: Number.MAX_SAFE_INTEGER, descending: true },
};

const KEYS: Readonly<Record<TopicField, Prisma.Sql>> = {
  lastMessage: Prisma.sql`max_id`,
  name: Prisma.sql`lower(name)`,
};

/** What decides how much of a channel's history a user who reads the channel may read. */
type Readable = Pick<Channel, 'realmId' | 'id' | 'inviteOnly' | 'historyPublicToSubscribers'>;

/** A channel, and a user who may read it: all those that are asked for together are of one organisation. */
export interface ReadChannel {
  readonly userId: number;
  readonly channel: Readable;
}

/**
 * The same page of the topics of each of the channels, as far as each user may read them; that they may read the channels
 * at all is for the caller to know. At most two queries, however many channels and users, whose cost grows with the topics
 * and not with the messages.
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

/** A topic, and where it stands in the list. */
export interface PlacedTopic extends Topic, Place {}

interface TopicRow {
  readonly channel_id: number;
  readonly key: string | bigint;
  readonly name: string;
  readonly max_id: bigint;
}

/** What is open is the same for whoever may read the channel. */
const readOpen = (db: SqlClient, open: readonly ReadChannel[], page: TopicPage) => {
  const ids = [...new Set(open.map(({ channel }) => channel.id))];
  return readRows<TopicRow>(db, pagesOf(Prisma.sql`SELECT id FROM unnest(${ids}::int[]) AS c(id)`, LAST_OF_ALL, page));
};

type OwnRow = TopicRow & { readonly user_id: number };

/** Each user's own; that of one by a query of their own, which the planner knows more of. */
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
 * @param channels A query of their `id`s.
 * @param last A query of `channel_id`, `name` and `max_id`, one row for each topic, after the tables `wanted` of channel
 *   ids and `step` of topics.
 */
function pagesOf(channels: Prisma.Sql, last: Prisma.Sql, page: TopicPage): Prisma.Sql {
  const [key, none] = [KEYS[page.field], Prisma.sql`0::bigint`];
  // Each step finds the last message of the next topic before it: the index is entered once for each topic.
  return Prisma.sql`
    WITH RECURSIVE wanted AS (
      ${channels}
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
      SELECT last.*, ${key} AS key, row_number() OVER (PARTITION BY channel_id ORDER BY ${inOrder(page, key, none)}) AS place
      FROM last WHERE ${isWithin(page, key, none)}
    )
    SELECT channel_id, name, max_id, key, place FROM ranked WHERE place <= ${page.limit}::bigint ORDER BY place`;
}

const LAST_OF_ALL = Prisma.sql`SELECT channel_id, name, max_id FROM step`;

/**
 * The last message of each topic that the user received: `receivedBy` of access.ts, taken apart so that each part has an
 * index that leads to it, because most of the channel may lie before the user's time: what they were sent here, what
 * they sent themselves, and what was moved here from where they were sent it (OFFSET 0 keeps that from being looked for
 * among all that is here).
 */
const lastReceivedBy = (realmId: number, userId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT DISTINCT ON (channel_id, key) channel_id, name, max_id FROM (
    SELECT step.channel_id, step.key, sent.name, sent.max_id
    FROM step JOIN subscription_period p ON p.realm_id = ${realmId} AND p.user_id = ${userId} AND p.channel_id = step.channel_id
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
    WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND moved.channel_id IN (SELECT id FROM wanted)
  ) AS received (channel_id, key, name, max_id)
  ORDER BY channel_id, key, max_id DESC`;

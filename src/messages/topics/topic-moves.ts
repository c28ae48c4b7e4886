import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { TopicKey } from './topics.ts';

/**
 * Maximum number of moves that are followed from a topic, and maximum number of stored moves of a message. Beyond it, the
 * oldest stored moves are deleted, and a topic is not followed further.
 */
export const MAX_MOVES = 100;

/** A move of a whole topic to another name or channel. */
export interface WholeMove {
  readonly from: TopicKey;
  readonly to: TopicKey;
  /** Ids of the moved messages, ascending. */
  readonly ids: readonly number[];
}

/**
 * Stores that all messages of a topic were moved. Replaces the previous move of the topic. The caller must have locked the
 * messages.
 */
export async function recordTopicMove(tx: Tx, organizationId: number, move: WholeMove): Promise<void> {
  const { from, to, ids } = move;
  const [first, last] = [ids[0], ids.at(-1)];
  if (first === undefined || last === undefined) return;
  await tx.$executeRaw`
    INSERT INTO topic_move (realm_id, channel_id, topic, to_channel_id, to_topic, first_message_id, last_message_id)
    VALUES (${organizationId}, ${from.channelId}, ${from.name}, ${to.channelId}, ${to.name}, ${first}, ${last})
    ON CONFLICT (realm_id, channel_id, topic_key(topic)) DO UPDATE SET
      id = EXCLUDED.id, topic = EXCLUDED.topic, to_channel_id = EXCLUDED.to_channel_id, to_topic = EXCLUDED.to_topic,
      first_message_id = EXCLUDED.first_message_id, last_message_id = EXCLUDED.last_message_id`;
  await tx.$executeRaw`
    DELETE FROM topic_move WHERE realm_id = ${organizationId} AND first_message_id = ${first} AND id <= (
      SELECT id FROM topic_move WHERE realm_id = ${organizationId} AND first_message_id = ${first}
      ORDER BY id DESC OFFSET ${MAX_MOVES} LIMIT 1)`;
}

/** The former name of a topic, and the present location of its messages. */
export interface FollowedMove {
  /** Former name of the topic, in the spelling before the move. */
  readonly name: string;
  readonly to: TopicKey;
  /** Id of the oldest message of the first move. */
  readonly firstMessageId: number;
  /** Id of the newest message of the first move. */
  readonly lastMessageId: number;
}

/**
 * Follows the moves of topics, in the order of `keys`. After the first move, only later moves are followed, so circles end
 * where the messages are. Null for a topic that was never moved as a whole. Uses one query. The caller checks what the viewer
 * can read.
 */
export async function followMoves(
  db: SqlClient,
  organizationId: number,
  keys: readonly TopicKey[],
): Promise<(FollowedMove | null)[]> {
  const [places, ids] = [keys.map((_, place) => place), keys.map(({ channelId }) => channelId)];
  const names = keys.map(({ name }) => name);
  const rows = await readRows<FollowedRow>(
    db,
    Prisma.sql`
    WITH RECURSIVE followed AS (
      SELECT wanted.place, 1 AS step, moved.* FROM unnest(${places}::int[], ${ids}::int[], ${names}::text[])
        AS wanted(place, channel_id, name)
      CROSS JOIN LATERAL (
        SELECT m.id, m.topic AS name, m.to_channel_id, m.to_topic, m.first_message_id, m.last_message_id FROM topic_move m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = wanted.channel_id
          AND topic_key(m.topic) = topic_key(wanted.name) OFFSET 0
      ) AS moved
      UNION ALL
      SELECT f.place, f.step + 1, later.id, f.name, later.to_channel_id, later.to_topic, f.first_message_id, f.last_message_id
      FROM followed f CROSS JOIN LATERAL (
        SELECT m.id, m.to_channel_id, m.to_topic FROM topic_move m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = f.to_channel_id
          AND topic_key(m.topic) = topic_key(f.to_topic) AND m.id > f.id OFFSET 0
      ) AS later
      WHERE f.step < ${MAX_MOVES}::int
    )
    SELECT DISTINCT ON (place) place, name, to_channel_id, to_topic, first_message_id, last_message_id
    FROM followed ORDER BY place, step DESC`,
  );
  const found = new Map(rows.map((row) => [row.place, row]));
  return keys.map((_, place) => {
    const row = found.get(place);
    if (row === undefined) return null;
    return {
      ...{ name: row.name, to: { channelId: row.to_channel_id, name: row.to_topic } },
      ...{ firstMessageId: Number(row.first_message_id), lastMessageId: Number(row.last_message_id) },
    };
  });
}

interface FollowedRow {
  readonly place: number;
  readonly name: string;
  readonly to_channel_id: number;
  readonly to_topic: string;
  readonly first_message_id: bigint;
  readonly last_message_id: bigint;
}

import { Prisma } from '../../generated/prisma/client.ts';
import { SENT_RECIPIENT } from '../user-flags.ts';
import type { AnyHolder } from './unread.ts';

/** For all that is counted of a place. */
const ALL = Prisma.sql`9223372036854775807`;

/** How far the organisation's messages are counted, as a table of one row, `tallied`; and those after it, `late`. */
export const talliedOf = (realmId: number): Prisma.Sql => Prisma.sql`
  tallied AS MATERIALIZED (
    SELECT COALESCE((SELECT t.through_id FROM message_tally t WHERE t.realm_id = ${realmId}), 0) AS id
  ), late AS MATERIALIZED (
    SELECT m.id, m.sender_id, m.read_by_sender, m.channel_id, m.sent_channel_id, m.conversation_id, m.topic FROM message m
    WHERE m.realm_id = ${realmId} AND m.id > (SELECT id FROM tallied) AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
    -- From the index, where the end of it is near: the planner does not know.
    ORDER BY m.id LIMIT (SELECT 9223372036854775807))`;

/** Columns of SQL that say which places are asked for; all of a kind without it. */
export interface PlaceFilter {
  /** Their ids, as a query; null for none. */
  readonly channels?: Prisma.Sql | null;
  readonly conversations?: Prisma.Sql | null;
}

/**
 * Where messages are unread for a user, as a table `place`: the channels they are subscribed to that are not archived, and
 * conversations; and the message after which they are.
 */
export function placesOf({ realmId, userId }: AnyHolder, { channels, conversations }: PlaceFilter = {}): Prisma.Sql {
  const among = (column: Prisma.Sql, ids: Prisma.Sql | null | undefined) =>
    ids === undefined ? Prisma.empty : ids === null ? Prisma.sql`AND false` : Prisma.sql`AND ${column} IN (${ids})`;
  return Prisma.sql`
    place AS MATERIALIZED (
      SELECT s.channel_id, NULL::int AS conversation_id, s.channel_id::bigint * 2 AS recipient_id, s.is_muted,
             GREATEST(p.began_message_id, r.read_through) AS above
      FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id AND NOT c.is_archived
      JOIN subscription_period p ON p.realm_id = s.realm_id AND p.user_id = s.user_id AND p.channel_id = s.channel_id AND p.ended_event_id IS NULL
      LEFT JOIN read_mark r ON r.realm_id = s.realm_id AND r.user_id = s.user_id AND r.recipient_id = s.channel_id::bigint * 2
      WHERE s.realm_id = ${realmId} AND s.user_id = ${userId} AND s.active ${among(Prisma.sql`s.channel_id`, channels)}
      UNION ALL
      SELECT NULL, cm.conversation_id, cm.conversation_id::bigint * 2 + 1, false, COALESCE(r.read_through, 0)
      FROM conversation_member cm
      LEFT JOIN read_mark r ON r.realm_id = cm.realm_id AND r.user_id = cm.user_id AND r.recipient_id = cm.conversation_id::bigint * 2 + 1
      WHERE cm.realm_id = ${realmId} AND cm.user_id = ${userId} ${among(Prisma.sql`cm.conversation_id`, conversations)})`;
}

/** What is counted of, as SQL over a row `p` of `place`. */
export interface Counted {
  /** Of `message_count`. */
  readonly key: Prisma.Sql;
  /** That the message `m` stands there. */
  readonly stands: Prisma.Sql;
}

/** A whole channel. */
export const IN_CHANNEL: Counted = { key: Prisma.sql`''`, stands: Prisma.sql`m.channel_id = p.channel_id` };
/** A whole conversation. */
export const IN_CONVERSATION: Counted = {
  key: Prisma.sql`''`,
  stands: Prisma.sql`m.conversation_id = p.conversation_id`,
};
/** A topic, whose name in lower case is `topic`. */
export const inTopic = (topic: Prisma.Sql): Counted => ({
  key: Prisma.sql`':' || ${topic}`,
  stands: Prisma.sql`m.channel_id = p.channel_id AND lower(m.topic) = ${topic}`,
});

/**
 * How many messages that are counted stand in `p` after `p.above`, whoever they are from, as SQL: all there are less those
 * up to the mark, which are as many as were counted up to a message before it, and the few between the two.
 */
export function countedAbove(realmId: number, { key, stands }: Counted): Prisma.Sql {
  return Prisma.sql`
    CASE WHEN p.above >= (SELECT id FROM tallied) THEN 0 ELSE
      COALESCE((SELECT c.count FROM message_count c
                WHERE c.realm_id = ${realmId} AND c.recipient_id = p.recipient_id AND c.key = ${key} AND c.through_id = ${ALL}), 0)
      - CASE WHEN p.above = 0 THEN 0 ELSE (
          SELECT COALESCE(known.count, 0) + (
            SELECT count(*) FROM message m
            WHERE ${stands} AND m.id > COALESCE(known.through_id, 0) AND m.id <= p.above
              AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id)
          FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT c.through_id, c.count FROM message_count c
            WHERE c.realm_id = ${realmId} AND c.recipient_id = p.recipient_id AND c.key = ${key} AND c.through_id <= p.above
            ORDER BY c.through_id DESC LIMIT 1) AS known ON true)
        END
    END`;
}

/**
 * What is to be added to `countedAbove` of a user's places, as SQL: rows of messages, with `n`: 1 for one that is unread and
 * not counted there, -1 for one that is counted and not unread, 0 for one that is both; and whether it `is_unread`.
 *
 * @param base Has `place`, and of each how much is counted: where nothing is, nothing can be taken off.
 */
export function countedOtherwise({ realmId, userId }: AnyHolder, base: Prisma.Sql): Prisma.Sql {
  const columns = Prisma.sql`m.id, m.channel_id, m.conversation_id, m.topic`;
  const isExcepted = Prisma.sql`EXISTS (SELECT FROM read_exception x WHERE x.realm_id = ${realmId} AND x.user_id = ${userId} AND x.message_id = m.id)`;
  const byMark = Prisma.sql`NOT (m.sender_id = ${userId} AND m.read_by_sender) AND NOT ${isExcepted}`;
  const stays = Prisma.sql`m.channel_id IS NOT DISTINCT FROM m.sent_channel_id`;
  const tallied = Prisma.sql`(SELECT id FROM tallied)`;
  const inPeriod = Prisma.sql`
    m.id > GREATEST(p.began_message_id, r.read_through) AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)`;
  const parts = [
    // Not counted yet.
    Prisma.sql`
      SELECT ${columns}, 1 AS n, true AS is_unread
      FROM late m JOIN place p ON p.recipient_id = ${SENT_RECIPIENT} AND m.id > p.above WHERE ${byMark}`,
    // In a period that is over; what was left in it is read as a rule.
    Prisma.sql`
      SELECT past.*, 1, true FROM subscription_period p JOIN place ON place.channel_id = p.channel_id
      LEFT JOIN read_mark r ON r.realm_id = p.realm_id AND r.user_id = p.user_id AND r.recipient_id = p.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.channel_id = p.channel_id AND m.sent_channel_id = m.channel_id AND ${inPeriod} AND ${byMark} OFFSET 0) AS past
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND p.ended_message_id > COALESCE(r.read_through, 0)`,
    // Moved there from elsewhere.
    Prisma.sql`
      SELECT moved.*, 1, true FROM subscription_period p
      LEFT JOIN read_mark r ON r.realm_id = p.realm_id AND r.user_id = p.user_id AND r.recipient_id = p.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id AND ${inPeriod} AND ${byMark} OFFSET 0
      ) AS moved
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND moved.channel_id IN (SELECT channel_id FROM place)`,
    // Marked read or unread one by one, or left behind by the mark.
    Prisma.sql`
      SELECT excepted.id, excepted.channel_id, excepted.conversation_id, excepted.topic,
             (NOT x.is_read)::int - (excepted.stays AND x.message_id > p.above AND x.message_id <= ${tallied})::int, NOT x.is_read
      FROM read_exception x CROSS JOIN LATERAL (
        SELECT ${columns}, ${stays} AS stays FROM message m WHERE m.realm_id = ${realmId} AND m.id = x.message_id OFFSET 0
      ) AS excepted
      JOIN place p ON p.recipient_id = COALESCE(excepted.channel_id::bigint * 2, excepted.conversation_id::bigint * 2 + 1)
      WHERE x.realm_id = ${realmId} AND x.user_id = ${userId}`,
    // Read by having been sent.
    Prisma.sql`
      SELECT own.*, -1, false FROM ${base} p CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.sender_id = ${userId} AND ${SENT_RECIPIENT} = p.recipient_id AND m.read_by_sender AND ${stays}
          AND m.id > p.above AND m.id <= ${tallied} AND NOT ${isExcepted} OFFSET 0) AS own
      WHERE p.n > 0`,
  ];
  return Prisma.join(parts, ' UNION ALL ');
}

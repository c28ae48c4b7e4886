import { Prisma } from '../../generated/prisma/client.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';
import type { AnyHolder } from './unread.ts';

/** Value of `through_id` in those rows of `message_count` that contain the total of a channel, topic or conversation. */
const ALL = Prisma.sql`9223372036854775807`;

/**
 * Builds two common table expressions. `tallied` has one row with the id up to which the count worker has counted the
 * organization's messages. `late` has the messages above that id, except messages that were moved to another channel.
 */
export const talliedOf = (organizationId: number): Prisma.Sql => Prisma.sql`
  tallied AS MATERIALIZED (
    SELECT COALESCE((SELECT t.through_id FROM message_tally t WHERE t.realm_id = ${organizationId}), 0) AS id
  ), late AS MATERIALIZED (
    SELECT m.id, m.sender_id, m.read_by_sender, m.channel_id, m.sent_channel_id, m.conversation_id, m.topic FROM message m
    WHERE m.realm_id = ${organizationId} AND m.id > (SELECT id FROM tallied) AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
    -- The order makes the planner use the index: it cannot estimate that few messages are above the id.
    ORDER BY m.id LIMIT (SELECT 9223372036854775807))`;

/** Restricts the result of `placesOf` to certain channels and conversations. An undefined field sets no restriction. */
export interface PlaceFilter {
  /** SQL query that returns the ids of the channels. Null: no channels. */
  readonly channels?: Prisma.Sql | null;
  readonly conversations?: Prisma.Sql | null;
}

/**
 * Builds the common table expression `place`, with the channels and conversations in which a user can have unread messages.
 * These are the user's conversations, and the channels that are not archived and to which the user is subscribed. Messages with
 * ids above the column `above` are unread, unless they count as read for their sender or have a read exception.
 */
export function placesOf(
  { organizationId, userId }: AnyHolder,
  { channels, conversations }: PlaceFilter = {},
): Prisma.Sql {
  const among = (column: Prisma.Sql, ids: Prisma.Sql | null | undefined) =>
    ids === undefined ? Prisma.empty : ids === null ? Prisma.sql`AND false` : Prisma.sql`AND ${column} IN (${ids})`;
  return Prisma.sql`
    place AS MATERIALIZED (
      SELECT s.channel_id, NULL::int AS conversation_id, s.channel_id::bigint * 2 AS recipient_id, s.is_muted,
             GREATEST(p.began_message_id, r.read_through) AS above
      FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id AND NOT c.is_archived
      JOIN subscription_period p ON p.realm_id = s.realm_id AND p.user_id = s.user_id AND p.channel_id = s.channel_id AND p.ended_event_id IS NULL
      LEFT JOIN read_mark r ON r.realm_id = s.realm_id AND r.user_id = s.user_id AND r.recipient_id = s.channel_id::bigint * 2
      WHERE s.realm_id = ${organizationId} AND s.user_id = ${userId} AND s.active ${among(Prisma.sql`s.channel_id`, channels)}
      UNION ALL
      SELECT NULL, cm.conversation_id, cm.conversation_id::bigint * 2 + 1, false, COALESCE(r.read_through, 0)
      FROM conversation_member cm
      LEFT JOIN read_mark r ON r.realm_id = cm.realm_id AND r.user_id = cm.user_id AND r.recipient_id = cm.conversation_id::bigint * 2 + 1
      WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId} ${among(Prisma.sql`cm.conversation_id`, conversations)})`;
}

/**
 * SQL expressions that select the channel, topic or conversation in which messages are counted. The expressions refer to a row
 * `p` of the table expression `place` (see `placesOf`).
 */
export interface CountScope {
  /** Value of the column `key` in `message_count`. */
  readonly key: Prisma.Sql;
  /** Condition that the message `m` is currently in the channel, topic or conversation. */
  readonly stands: Prisma.Sql;
  /** Whether an index contains the messages of the scope, sorted by id. */
  readonly isIndexed: boolean;
}

/** Scope that includes all messages of the channel in row `p`. */
export const IN_CHANNEL: CountScope = {
  key: Prisma.sql`''`,
  stands: Prisma.sql`m.channel_id = p.channel_id`,
  isIndexed: true,
};
/** Scope that includes all messages of the conversation in row `p`. */
export const IN_CONVERSATION: CountScope = {
  key: Prisma.sql`''`,
  stands: Prisma.sql`m.conversation_id = p.conversation_id`,
  isIndexed: true,
};
/**
 * Returns the scope that includes the messages of one topic of the channel in row `p`.
 *
 * @param topic SQL for the key of the topic.
 */
export const inTopic = (topic: Prisma.Sql): CountScope => ({
  key: Prisma.sql`':' || ${topic}`,
  stands: Prisma.sql`m.channel_id = p.channel_id AND topic_key(m.topic) = ${topic}`,
  isIndexed: false,
});

/**
 * Number of messages up to which messages are counted one by one. Reading so few entries of the index of messages costs less
 * than two entries of the index of stored counts.
 */
const FEW = Prisma.sql`16`;

/**
 * Builds SQL for the number of messages in a scope, by any sender, with an id above `p.above`. Includes only messages that the
 * count worker has counted. Fewer than `FEW` messages are counted one by one. Otherwise, the result is the stored total minus
 * the number of messages up to `p.above`. The latter is the last stored count before `p.above`, plus the few messages between
 * that count and `p.above`.
 */
export function countedAbove(organizationId: number, { key, stands, isIndexed }: CountScope): Prisma.Sql {
  const stays = Prisma.sql`m.channel_id IS NOT DISTINCT FROM m.sent_channel_id`;
  const few = Prisma.sql`
    CASE WHEN p.above > 0 THEN NULLIF((SELECT count(*) FROM (
      SELECT FROM message m
      WHERE m.realm_id = ${organizationId} AND ${stands} AND m.id > p.above AND m.id <= (SELECT id FROM tallied) AND ${stays}
      ORDER BY m.id LIMIT ${FEW}) AS newest), ${FEW}) END,`;
  return Prisma.sql`
    CASE WHEN p.above >= (SELECT id FROM tallied) THEN 0 ELSE COALESCE(${isIndexed ? few : Prisma.empty}
      COALESCE((SELECT c.count FROM message_count c
                WHERE c.realm_id = ${organizationId} AND c.recipient_id = p.recipient_id AND c.key = ${key} AND c.through_id = ${ALL}), 0)
      - CASE WHEN p.above = 0 THEN 0 ELSE (
          SELECT COALESCE(known.count, 0) + (
            SELECT count(*) FROM message m
            WHERE m.realm_id = ${organizationId} AND ${stands}
              AND m.id > COALESCE(known.through_id, 0) AND m.id <= p.above AND ${stays})
          FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT c.through_id, c.count FROM message_count c
            WHERE c.realm_id = ${organizationId} AND c.recipient_id = p.recipient_id AND c.key = ${key} AND c.through_id <= p.above
            ORDER BY c.through_id DESC LIMIT 1) AS known ON true)
        END)
    END`;
}

/**
 * Builds a query of corrections to the result of `countedAbove`. Each row is a message, with the columns `n`, `is_unread`, and
 * `is_muted` of its channel. `n` is the number to add to the count. It is 1 if the message is unread but `countedAbove` omits
 * it, and -1 if `countedAbove` includes it although it is read. It is 0 if the message is unread and included.
 *
 * @param base Table with the rows of `place` and the column `n`, the result of `countedAbove`. For rows whose `n` is 0, the
 *   user's own messages are not subtracted, because nothing was counted.
 */
export function countedOtherwise({ organizationId, userId }: AnyHolder, base: Prisma.Sql): Prisma.Sql {
  const columns = Prisma.sql`m.id, m.channel_id, m.conversation_id, m.topic`;
  const isExcepted = Prisma.sql`EXISTS (SELECT FROM read_exception x WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id)`;
  const byMark = Prisma.sql`NOT (m.sender_id = ${userId} AND m.read_by_sender) AND NOT ${isExcepted}`;
  const stays = Prisma.sql`m.channel_id IS NOT DISTINCT FROM m.sent_channel_id`;
  const tallied = Prisma.sql`(SELECT id FROM tallied)`;
  const inPeriod = Prisma.sql`
    m.id > GREATEST(p.began_message_id, r.read_through) AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)`;
  const parts = [
    // Messages that the worker has not counted yet.
    Prisma.sql`
      SELECT ${columns}, 1 AS n, true AS is_unread, p.is_muted
      FROM late m JOIN place p ON p.recipient_id = ${SENT_RECIPIENT} AND m.id > p.above WHERE ${byMark}`,
    // Messages that were sent during a subscription period that has ended. Usually, the user has read them.
    Prisma.sql`
      SELECT past.*, 1, true, place.is_muted FROM subscription_period p JOIN place ON place.channel_id = p.channel_id
      LEFT JOIN read_mark r ON r.realm_id = p.realm_id AND r.user_id = p.user_id AND r.recipient_id = p.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = p.channel_id AND m.sent_channel_id = m.channel_id
          AND ${inPeriod} AND ${byMark} OFFSET 0) AS past
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.ended_message_id > COALESCE(r.read_through, 0)`,
    // Messages that were moved from another channel.
    Prisma.sql`
      SELECT moved.*, 1, true, place.is_muted FROM subscription_period p
      LEFT JOIN read_mark r ON r.realm_id = p.realm_id AND r.user_id = p.user_id AND r.recipient_id = p.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
          AND ${inPeriod} AND ${byMark} OFFSET 0
      ) AS moved JOIN place ON place.channel_id = moved.channel_id
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId}`,
    // Messages with an exception: marked as read or unread one by one, or left unread when the read mark was moved.
    Prisma.sql`
      SELECT excepted.id, excepted.channel_id, excepted.conversation_id, excepted.topic,
             (NOT x.is_read)::int - (excepted.stays AND x.message_id > p.above AND x.message_id <= ${tallied})::int,
             NOT x.is_read, p.is_muted
      FROM read_exception x CROSS JOIN LATERAL (
        SELECT ${columns}, ${stays} AS stays FROM message m WHERE m.realm_id = ${organizationId} AND m.id = x.message_id OFFSET 0
      ) AS excepted
      JOIN place p ON p.recipient_id = COALESCE(excepted.channel_id::bigint * 2, excepted.conversation_id::bigint * 2 + 1)
      WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId}`,
    // Subtracts those of the user's own messages that count as read.
    Prisma.sql`
      SELECT own.*, -1, false, p.is_muted FROM ${base} p CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.realm_id = ${organizationId} AND m.sender_id = ${userId} AND ${SENT_RECIPIENT} = p.recipient_id
          AND m.read_by_sender AND ${stays}
          AND m.id > p.above AND m.id <= ${tallied} AND NOT ${isExcepted} OFFSET 0) AS own
      WHERE p.n > 0`,
  ];
  return Prisma.join(parts, ' UNION ALL ');
}

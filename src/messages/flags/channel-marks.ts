import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { lockReaders } from './read-state.ts';

/** Builds SQL for the id of the organization's last message. 0 if there is none. */
export const lastMessage = (organizationId: number): Prisma.Sql =>
  Prisma.sql`COALESCE((SELECT max(m.id) FROM message m WHERE m.realm_id = ${organizationId}), 0)`;

/** A user, and a channel whose messages are marked as read for this user. */
export interface ReadChannel {
  readonly userId: number;
  readonly channelId: number;
}

const READER = Prisma.sql`reader.id`;

/**
 * Marks the messages that are currently in the channels as read, by moving the users' read marks. A read mark is the id up to
 * which messages of a channel count as read. A read exception overrides the mark for one message. Deletes the exceptions that
 * the new marks make unnecessary.
 *
 * A read mark applies to all messages that were sent to its channel, even if they were moved. So unread messages that were
 * moved away get an exception and stay unread. Messages that were moved to the channel are marked as read individually.
 *
 * `OFFSET 0` makes the planner start with the users, and read their marks and exceptions before messages. The redundant
 * condition on `x.user_id` has the same purpose.
 *
 * @param through Id of the last message to be marked as read.
 */
export async function readChannels(
  tx: Tx,
  organizationId: number,
  read: readonly ReadChannel[],
  through: number,
): Promise<void> {
  const userIds = read.map(({ userId }) => userId);
  const channelIds = read.map(({ channelId }) => channelId);
  // All reads come first, and are materialized: they see the exceptions before the changes.
  await tx.$executeRaw`
    WITH reader AS MATERIALIZED (
      SELECT u.id, u.channel_id, u.channel_id::bigint * 2 AS recipient_id, COALESCE(r.read_through, 0) AS read_through
      FROM unnest(${userIds}::int[], ${channelIds}::int[]) AS u(id, channel_id)
      LEFT JOIN read_mark r ON r.realm_id = ${organizationId} AND r.user_id = u.id AND r.recipient_id = u.channel_id::bigint * 2
    ), moved_away AS MATERIALIZED (
      SELECT reader.id AS user_id, away.id, reader.recipient_id FROM reader CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = reader.channel_id AND m.channel_id <> m.sent_channel_id
          AND m.id > reader.read_through AND m.id <= ${through} AND ${isUnreadBy(organizationId, READER)}
          -- Except if this call also marks the current channel of the message as read.
          AND NOT EXISTS (SELECT FROM reader too WHERE too.id = reader.id AND too.channel_id = m.channel_id)
        OFFSET 0 FOR KEY SHARE) AS away
    ), moved_there AS MATERIALIZED (
      SELECT reader.id AS user_id, there.id, period.channel_id::bigint * 2 AS recipient_id FROM reader
      CROSS JOIN LATERAL (SELECT * FROM subscription_period p WHERE p.realm_id = ${organizationId} AND p.user_id = reader.id OFFSET 0) AS period
      LEFT JOIN read_mark r ON r.realm_id = ${organizationId} AND r.user_id = reader.id AND r.recipient_id = period.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = period.channel_id AND m.channel_id <> m.sent_channel_id
          AND m.channel_id = reader.channel_id AND m.id <= ${through}
          AND m.id > GREATEST(period.began_message_id, r.read_through)
          AND m.id <= COALESCE(period.ended_message_id, 9223372036854775807)
          AND NOT (m.sender_id = reader.id AND m.read_by_sender)
        OFFSET 0 FOR KEY SHARE) AS there
    ), held AS MATERIALIZED (
      SELECT reader.id, reader.channel_id, e.message_id FROM reader
      CROSS JOIN LATERAL (
        SELECT e.message_id FROM read_exception e
        WHERE e.realm_id = ${organizationId} AND e.user_id = reader.id AND NOT e.is_read AND e.message_id <= ${through} OFFSET 0) AS e
    ), needless AS MATERIALIZED (
      -- Unread messages that are in the channels, and read messages that were sent to them.
      SELECT held.id AS user_id, held.message_id FROM held
      CROSS JOIN LATERAL (
        SELECT m.channel_id FROM message m WHERE m.realm_id = ${organizationId} AND m.id = held.message_id OFFSET 0) AS placed
      WHERE placed.channel_id = held.channel_id
      UNION ALL
      SELECT reader.id, e.message_id FROM reader
      CROSS JOIN LATERAL (
        SELECT e.message_id FROM read_exception e
        WHERE e.realm_id = ${organizationId} AND e.user_id = reader.id AND e.recipient_id = reader.recipient_id
          AND e.is_read AND e.message_id <= ${through} OFFSET 0) AS e
    ), gone AS (
      DELETE FROM read_exception x USING needless
      WHERE x.realm_id = ${organizationId} AND x.user_id = needless.user_id AND x.message_id = needless.message_id
        AND x.user_id = ANY(${userIds})
    ), put AS (
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT ${organizationId}::int, user_id, id, recipient_id, false FROM moved_away
      UNION ALL SELECT ${organizationId}::int, user_id, id, recipient_id, true FROM moved_there
      ON CONFLICT DO NOTHING
    )
    INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
    SELECT ${organizationId}, id, recipient_id, LEAST(${through}::bigint, ${lastMessage(organizationId)}) FROM reader
    ON CONFLICT (realm_id, user_id, recipient_id)
      DO UPDATE SET read_through = GREATEST(read_mark.read_through, EXCLUDED.read_through)`;
}

/**
 * Marks the unread messages of channels as read for users who leave the channels, as part of the change that ends their
 * subscriptions. The messages stay read if the user returns. No event is sent, because clients derive the read state from the
 * end of the subscription.
 *
 * Locks the users' rows. Messages that are sent afterwards are marked by `readToTheEnd`.
 */
export async function readWhatIsLeft(tx: Tx, organizationId: number, left: readonly ReadChannel[]): Promise<void> {
  await lockReaders(
    tx,
    organizationId,
    left.map(({ userId }) => userId),
  );
  await readChannels(tx, organizationId, left, Number.MAX_SAFE_INTEGER);
}

/**
 * Marks the messages as read that were sent after the call of `readWhatIsLeft`. Must be called after the event that ends the
 * subscriptions was assigned its id. From then on, every new message comes after this event in the event log.
 */
export async function readToTheEnd(tx: Tx, organizationId: number, left: readonly ReadChannel[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE read_mark r SET read_through = ${lastMessage(organizationId)}
    FROM unnest(${left.map(({ userId }) => userId)}::int[], ${left.map(({ channelId }) => channelId)}::int[])
      AS l(user_id, channel_id)
    WHERE r.realm_id = ${organizationId} AND r.user_id = l.user_id AND r.recipient_id = l.channel_id::bigint * 2`;
}

import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { receivedBy } from './access.ts';
import type { UserFlags } from './wire.ts';

/**
 * SQL for the recipient id of the channel or conversation to which the message `m` was sent: twice the channel id, or twice the
 * conversation id plus 1. It is the key of users' read marks. A read mark is the id up to which messages count as read.
 */
export const SENT_RECIPIENT = Prisma.sql`COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)`;

/**
 * Builds the SQL condition that the message `m` is unread for the user, whether or not they received it. A message that was
 * not received counts as read, unless the user marked it unread in the channel's history.
 */
export function isUnreadBy(organizationId: number, userId: number | Prisma.Sql): Prisma.Sql {
  return unreadFrom(userId, {
    isRead: Prisma.sql`(SELECT x.is_read FROM read_exception x WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id)`,
    readThrough: Prisma.sql`
      (SELECT r.read_through FROM read_mark r WHERE r.realm_id = ${organizationId} AND r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT})`,
    received: receivedBy(organizationId, userId),
  });
}

/** SQL expressions from which the unread state of a message is decided. They can be columns or subqueries. */
interface ReadStateSql {
  /** Read state that the user set for this message alone. Null if there is none. */
  readonly isRead: Prisma.Sql;
  /**
   * Position of the read mark that covers the message: the id of the last message that it marks as read. Null if there is no
   * mark.
   */
  readonly readThrough: Prisma.Sql;
  readonly received: Prisma.Sql;
}

const unreadFrom = (
  userId: number | Prisma.Sql,
  { isRead, readThrough, received }: ReadStateSql,
): Prisma.Sql => Prisma.sql`
  COALESCE(NOT ${isRead}, NOT (m.sender_id = ${userId} AND m.read_by_sender) AND m.id > COALESCE(${readThrough}, 0)
    AND ${received})`;

/**
 * Bits that encode the properties of a message for one user. The database returns all properties as one number, because reading
 * many columns takes longer.
 */
const BITS = {
  received: 1,
  unread: 2,
  starred: 4,
  collapsed: 8,
  mentioned: 16,
  channelWildcard: 32,
  topicWildcard: 64,
  alerted: 128,
} as const;

/** Builds SQL for the sum of those bits whose conditions are true. */
const bitsOf = (conditions: Readonly<Record<keyof typeof BITS, Prisma.Sql>>): Prisma.Sql =>
  Prisma.join(
    Object.entries(BITS).map(([name, bit]) => {
      const condition = conditions[name as keyof typeof BITS];
      return Prisma.sql`CASE WHEN ${condition} THEN ${Prisma.raw(String(bit))} ELSE 0 END`;
    }),
    ' + ',
  );

interface UserFlagsRow {
  /** Position of the pair of message and user in the request, from 1. */
  readonly place: number;
  readonly bits: number;
}

/** A message id, and the user whose flags of that message are requested. */
export interface OwnMessage {
  readonly userId: number;
  readonly messageId: number;
}

/** Reads a user's flags of messages in one query. Returns them by message id. Does not check access. */
export async function readFlags(
  db: SqlClient,
  { id, organization }: { readonly id: number; readonly organization: { readonly id: number } },
  messageIds: readonly number[],
): Promise<Map<number, UserFlags>> {
  const own = messageIds.map((messageId) => ({ userId: id, messageId }));
  const flags = await readFlagsOfEach(db, organization.id, own);
  return new Map(own.flatMap(({ messageId }, i) => (flags[i] === undefined ? [] : [[messageId, flags[i]]])));
}

/**
 * Reads the flags of each pair of message and user, in one query. The result has the order of `wanted`. An entry is undefined
 * if the message does not exist.
 */
export async function readFlagsOfEach(
  db: SqlClient,
  organizationId: number,
  wanted: readonly OwnMessage[],
): Promise<(UserFlags | undefined)[]> {
  if (wanted.length === 0) return [];
  const user = Prisma.sql`wanted.user_id`;
  const received = Prisma.sql`received.so`;
  const unread = unreadFrom(user, {
    ...{ isRead: Prisma.sql`x.is_read`, readThrough: Prisma.sql`r.read_through` },
    received,
  });
  const bits = bitsOf({
    ...{ received, unread },
    starred: Prisma.sql`um.starred`,
    collapsed: Prisma.sql`um.collapsed`,
    mentioned: Prisma.sql`um.mentioned`,
    channelWildcard: Prisma.sql`m.channel_wildcard`,
    topicWildcard: Prisma.sql`um.topic_wildcard_mentioned`,
    alerted: Prisma.sql`um.has_alert_word`,
  });
  const userIds = wanted.map(({ userId }) => userId);
  const messageIds = wanted.map(({ messageId }) => messageId);
  // `received` is computed once per row. OFFSET 0 makes the planner look up each row of the other tables by its key. Without
  // it, the planner would read the rows of all users.
  const rows = await readRows<UserFlagsRow>(
    db,
    Prisma.sql`
    SELECT wanted.place::int AS place, ${bits} AS bits
    FROM unnest(${listOf('int', userIds)}, ${listOf('bigint', messageIds)})
      WITH ORDINALITY AS wanted (user_id, message_id, place)
    JOIN message m ON m.realm_id = ${organizationId} AND m.id = wanted.message_id
    LEFT JOIN LATERAL (
      SELECT um.starred, um.collapsed, um.mentioned, um.topic_wildcard_mentioned, um.has_alert_word
      FROM user_message um WHERE um.realm_id = ${organizationId} AND um.user_id = wanted.user_id AND um.message_id = m.id OFFSET 0) AS um ON true
    LEFT JOIN LATERAL (
      SELECT x.is_read FROM read_exception x
      WHERE x.realm_id = ${organizationId} AND x.user_id = wanted.user_id AND x.message_id = m.id OFFSET 0) AS x ON true
    LEFT JOIN LATERAL (
      SELECT r.read_through FROM read_mark r
      WHERE r.realm_id = ${organizationId} AND r.user_id = wanted.user_id AND r.recipient_id = ${SENT_RECIPIENT} OFFSET 0) AS r ON true
    CROSS JOIN LATERAL (SELECT ${receivedBy(organizationId, user)} AS so OFFSET 0) AS received`,
  );
  const flags = new Array<UserFlags | undefined>(wanted.length).fill(undefined);
  for (const { place, bits: sum } of rows) flags[place - 1] = FLAGS_BY_BITS[sum];
  return flags;
}

function toFlags(bits: number): UserFlags {
  const is = (name: keyof typeof BITS) => (bits & BITS[name]) !== 0;
  return {
    read: !is('unread'),
    starred: is('starred'),
    collapsed: is('collapsed'),
    mentioned: is('mentioned'),
    channelWildcard: is('channelWildcard') && is('received'),
    topicWildcard: is('topicWildcard'),
    hasAlertWord: is('alerted'),
    historical: !is('received'),
  };
}

/** All 256 combinations of flags. The index is the sum of the bits in `BITS`. */
const FLAGS_BY_BITS: readonly UserFlags[] = Array.from({ length: 256 }, (_, bits) => toFlags(bits));

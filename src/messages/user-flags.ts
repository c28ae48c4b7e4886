import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { receivedBy } from './access.ts';
import type { UserFlags } from './wire.ts';

/** The key of the read mark that the message `m` falls under, as SQL: that of where it was sent. */
export const SENT_RECIPIENT = Prisma.sql`COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)`;

/** Whether the user, who received the message `m`, has read it, as SQL. */
export function isReadBy(userId: number | Prisma.Sql): Prisma.Sql {
  return Prisma.sql`COALESCE(
    (SELECT x.is_read FROM read_exception x WHERE x.realm_id = m.realm_id AND x.user_id = ${userId} AND x.message_id = m.id),
    (m.sender_id = ${userId} AND m.read_by_sender) OR m.id <= COALESCE(
      (SELECT r.read_through FROM read_mark r WHERE r.realm_id = m.realm_id AND r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT}), 0))`;
}

/**
 * Whether the message `m` is unread for the user, whether they received it or not, as SQL. What was never received is
 * read, because nobody waits for it, unless the user took it up from the channel's history and marked it unread.
 */
export function isUnreadBy(userId: number | Prisma.Sql): Prisma.Sql {
  return unreadFrom(userId, {
    isRead: Prisma.sql`(SELECT x.is_read FROM read_exception x WHERE x.realm_id = m.realm_id AND x.user_id = ${userId} AND x.message_id = m.id)`,
    readThrough: Prisma.sql`
      (SELECT r.read_through FROM read_mark r WHERE r.realm_id = m.realm_id AND r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT})`,
    received: receivedBy(userId),
  });
}

/** What decides whether a message is unread, as SQL, wherever it is taken from. */
interface ReadFacts {
  /** What was said of this message alone, or null. */
  readonly isRead: Prisma.Sql;
  /** The mark it falls under, or null. */
  readonly readThrough: Prisma.Sql;
  readonly received: Prisma.Sql;
}

const unreadFrom = (
  userId: number | Prisma.Sql,
  { isRead, readThrough, received }: ReadFacts,
): Prisma.Sql => Prisma.sql`
  COALESCE(NOT ${isRead}, NOT (m.sender_id = ${userId} AND m.read_by_sender) AND m.id > COALESCE(${readThrough}, 0)
    AND ${received})`;

/** What there may be to say of a message and a user, each a bit of one number: of many columns most of the time is in reading. */
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

/** The bits of what is so, as SQL. */
const bitsOf = (facts: Readonly<Record<keyof typeof BITS, Prisma.Sql>>): Prisma.Sql =>
  Prisma.join(
    Object.entries(BITS).map(([name, bit]) => {
      const so = facts[name as keyof typeof BITS];
      return Prisma.sql`CASE WHEN ${so} THEN ${Prisma.raw(String(bit))} ELSE 0 END`;
    }),
    ' + ',
  );

interface UserFlagsRow {
  /** Which of those asked for, from 1. */
  readonly place: number;
  readonly bits: number;
}

/** A message, as one user has it. */
export interface OwnMessage {
  readonly userId: number;
  readonly messageId: number;
}

/** What the user has with each of the messages, by id, in one query. Whether they may read them is not asked. */
export async function readFlags(
  db: SqlClient,
  { id, realm }: { readonly id: number; readonly realm: { readonly id: number } },
  messageIds: readonly number[],
): Promise<Map<number, UserFlags>> {
  const own = messageIds.map((messageId) => ({ userId: id, messageId }));
  const flags = await readFlagsOfEach(db, realm.id, own);
  return new Map(own.flatMap(({ messageId }, i) => (flags[i] === undefined ? [] : [[messageId, flags[i]]])));
}

/** What each user has with a message, in the order in which it was asked for, in one query; nothing with one that is not there. */
export async function readFlagsOfEach(
  db: SqlClient,
  realmId: number,
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
  // Whether a message was received is worked out once. OFFSET 0 has each row of another table found by its key: the planner
  // would rather read all that everybody has with any message.
  const rows = await readRows<UserFlagsRow>(
    db,
    Prisma.sql`
    SELECT wanted.place::int AS place, ${bits} AS bits
    FROM unnest(${listOf('int', userIds)}, ${listOf('bigint', messageIds)})
      WITH ORDINALITY AS wanted (user_id, message_id, place)
    JOIN message m ON m.realm_id = ${realmId} AND m.id = wanted.message_id
    LEFT JOIN LATERAL (
      SELECT um.starred, um.collapsed, um.mentioned, um.topic_wildcard_mentioned, um.has_alert_word
      FROM user_message um WHERE um.realm_id = ${realmId} AND um.user_id = wanted.user_id AND um.message_id = m.id OFFSET 0) AS um ON true
    LEFT JOIN LATERAL (
      SELECT x.is_read FROM read_exception x
      WHERE x.realm_id = ${realmId} AND x.user_id = wanted.user_id AND x.message_id = m.id OFFSET 0) AS x ON true
    LEFT JOIN LATERAL (
      SELECT r.read_through FROM read_mark r
      WHERE r.realm_id = ${realmId} AND r.user_id = wanted.user_id AND r.recipient_id = ${SENT_RECIPIENT} OFFSET 0) AS r ON true
    CROSS JOIN LATERAL (SELECT ${receivedBy(user)} AS so OFFSET 0) AS received`,
  );
  const flags = new Array<UserFlags | undefined>(wanted.length).fill(undefined);
  for (const { place, bits: of } of rows) flags[place - 1] = FLAGS_BY_BITS[of];
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

/** All there can be, made once. */
const FLAGS_BY_BITS: readonly UserFlags[] = Array.from({ length: 256 }, (_, bits) => toFlags(bits));

import { organizationSetting } from '../../access/organization-settings.ts';
import { type Organization, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';

/**
 * Maximum number of messages that one transaction deletes. Also the maximum number of copies of deleted messages, and of stored
 * responses, that it deletes. Further ones are deleted by the next transaction. Other changes of the organization wait for the
 * transaction.
 */
export const BATCH = 100;
/**
 * Maximum number of oldest messages that one query compares with their retention limit: for each channel, and for all direct
 * messages. The oldest messages are those with the lowest ids. Ids ascend with time, except for clock skew and times that were
 * changed in the database. Later messages are compared once the oldest ones are deleted.
 */
const WINDOW = { channel: 100, direct: 1_000 };
/**
 * Number of the oldest messages of a channel that are checked first. If none of them exceeds the retention limit, the channel
 * is skipped. One message is not enough. If a node whose clock was ahead sent that message, its time is too late, and the
 * expired messages after it would be missed.
 *
 * For 5,000 channels with 180 messages each, the first check takes 80 ms, whether it reads one or five messages per channel.
 * Fetching `WINDOW.channel` messages of each channel would take 1,300 ms.
 */
const PROBE = 5;
/**
 * Number of messages that one statement reads when all messages of an organization are compared with their limits. Such a
 * statement takes a few milliseconds. So other statements do not wait for long, even in the embedded database, which has one
 * connection.
 */
const RANGE = 1_000;

/** A message that is older than its retention limit. */
export interface Expired {
  readonly id: number;
  /** Id of the channel. Null for a direct message. */
  readonly channelId: number | null;
  readonly overdueSeconds: number;
}

/** Reads the ids of organizations that limit the age of messages, for the whole organization or for a channel. Ascending. */
export async function organizationIdsWithRetention(db: SqlClient): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    SELECT r.id FROM realm r
    WHERE (r.settings->>'message_retention_days')::bigint > 0
      OR EXISTS (SELECT FROM channel c WHERE c.realm_id = r.id AND c.message_retention_days > 0)
    ORDER BY r.id`;
  return rows.map(({ id }) => id);
}

/**
 * Builds SQL for the number of seconds by which a message that was sent at `sentAt` is older than a limit in days. Negative if
 * the message is not older. Computed without intervals, because the longest limits exceed the range of intervals.
 */
const overdue = (now: Date, sentAt: Prisma.Sql, days: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(extract(epoch FROM ${now}::timestamptz - ${sentAt})::float8 - ${days}::float8 * 86400)`;

/** Builds SQL for the time that is `days` before now. 1970 or later, because long limits exceed the range of timestamps. */
const cutoff = (now: Date, days: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`to_timestamp(GREATEST(extract(epoch FROM ${now}::timestamptz)::float8 - ${days}::float8 * 86400, 0))`;

/**
 * Reads the oldest messages of an organization that exceed their retention limit, at most `BATCH`, ascending by id. A message
 * has the limit of its channel. If the channel has none, and for direct messages, the limit of the organization applies.
 *
 * In most channels only a few messages are fetched: if none of the `PROBE` oldest messages exceeds the limit, the channel is
 * skipped. So messages with a time that does not fit their id can be missed. `expiredInRange` finds them.
 */
export async function expiredMessages(
  db: Pick<Tx, '$queryRaw'>,
  organization: Pick<Organization, 'id' | 'settings'>,
  now: Date,
): Promise<Expired[]> {
  const ofOrganization = organizationSetting(organization, 'message_retention_days');
  const daysOf = Prisma.sql`COALESCE(c.message_retention_days, ${ofOrganization}::int)`;
  // The inner query has no equality condition on the channel. With one, the planner would read and sort all messages of a
  // channel that it estimates to be small. Without one, it reads the index from the beginning of the channel.
  const oldest = (channelId: Prisma.Sql, count: number) => Prisma.sql`
    SELECT next.id, next.channel_id, next.sent_at FROM (
      SELECT m.id, m.channel_id, m.sent_at FROM message m
      WHERE m.realm_id = ${organization.id} AND m.channel_id IS NOT NULL AND (m.channel_id, m.id) > (${channelId}, 0::bigint)
      ORDER BY m.channel_id, m.id LIMIT ${count}
    ) AS next WHERE next.channel_id = ${channelId}`;
  // MATERIALIZED makes the database choose the channels first. Otherwise it could read messages of channels that have none to
  // delete.
  const due = Prisma.sql`
    SELECT c.id, ${daysOf} AS days FROM channel c CROSS JOIN LATERAL (
      SELECT min(sent_at) AS sent_at FROM (${oldest(Prisma.sql`c.id`, PROBE)}) AS probe
    ) AS oldest
    WHERE c.realm_id = ${organization.id} AND ${daysOf} > 0
      AND ${overdue(now, Prisma.sql`oldest.sent_at`, daysOf)} >= 0`;
  const inChannels = Prisma.sql`
    SELECT m.id, m.channel_id, ${overdue(now, Prisma.sql`m.sent_at`, Prisma.sql`due.days`)} AS overdue
    FROM due CROSS JOIN LATERAL (${oldest(Prisma.sql`due.id`, WINDOW.channel)}) AS m`;
  const direct = Prisma.sql`
    SELECT m.id, NULL::int AS channel_id, ${overdue(now, Prisma.sql`m.sent_at`, Prisma.sql`${ofOrganization}`)} AS overdue
    FROM (
      SELECT m.id, m.sent_at FROM message m
      WHERE m.realm_id = ${organization.id} AND m.channel_id IS NULL ORDER BY m.id LIMIT ${WINDOW.direct}) AS m`;
  const all = ofOrganization > 0 ? Prisma.sql`${inChannels} UNION ALL ${direct}` : inChannels;
  const rows = await db.$queryRaw<ExpiredRow[]>`
    WITH due AS MATERIALIZED (${due})
    SELECT id, channel_id, overdue FROM (${all}) AS aged WHERE overdue >= 0 ORDER BY id LIMIT ${BATCH}`;
  return rows.map(toExpired);
}

/** The messages in a range of ids that exceed their retention limit. */
export interface ExpiredRange {
  /** Messages that exceed their limit, ascending by id. At most `BATCH`; the range then ends at the last of them. */
  readonly expired: readonly Expired[];
  /** Id of the last message in the range. Null if the range contains no message. */
  readonly last: number | null;
}

/**
 * Reads up to `RANGE` messages of an organization in the order of ids, and compares each message with its retention limit. So
 * all expired messages in the range are found, even if their times are not in the order of their ids. The range ends early when
 * `BATCH` expired messages were found.
 *
 * @param after Id of the message after which the range begins. 0 for the first range.
 */
export async function expiredInRange(
  db: SqlClient,
  organization: Pick<Organization, 'id' | 'settings'>,
  now: Date,
  after: number,
): Promise<ExpiredRange> {
  const ofOrganization = organizationSetting(organization, 'message_retention_days');
  const daysOf = Prisma.sql`COALESCE(c.message_retention_days, ${ofOrganization}::int)`;
  // `after` is a subquery: for a constant the planner can estimate that few messages follow, and would then read and sort all of
  // them instead of reading the primary key in its order. The last message of the range is returned even if it has not expired.
  const rows = await db.$queryRaw<ExpiredRow[]>`
    WITH range AS MATERIALIZED (
      SELECT m.id, m.channel_id, m.sent_at FROM message m
      WHERE m.realm_id = ${organization.id} AND m.id > (SELECT ${after}::bigint) ORDER BY m.id LIMIT ${RANGE})
    SELECT id, channel_id, overdue FROM (
      SELECT m.id, m.channel_id,
        CASE WHEN ${daysOf} > 0 THEN ${overdue(now, Prisma.sql`m.sent_at`, daysOf)} ELSE -1 END AS overdue
      FROM range m LEFT JOIN channel c ON c.realm_id = ${organization.id} AND c.id = m.channel_id
    ) AS aged WHERE overdue >= 0 OR id = (SELECT max(id) FROM range) ORDER BY id LIMIT ${BATCH}`;
  return { expired: rows.map(toExpired).filter(({ overdueSeconds }) => overdueSeconds >= 0), last: lastId(rows) };
}

/** Returns those of the given messages that exceed their retention limit, ascending by id. */
export async function expiredAmong(
  db: Pick<Tx, '$queryRaw'>,
  organization: Pick<Organization, 'id' | 'settings'>,
  now: Date,
  ids: readonly number[],
): Promise<Expired[]> {
  const ofOrganization = organizationSetting(organization, 'message_retention_days');
  const daysOf = Prisma.sql`COALESCE(c.message_retention_days, ${ofOrganization}::int)`;
  const rows = await db.$queryRaw<ExpiredRow[]>`
    SELECT id, channel_id, overdue FROM (
      SELECT m.id, m.channel_id, ${overdue(now, Prisma.sql`m.sent_at`, daysOf)} AS overdue
      FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
      WHERE m.realm_id = ${organization.id} AND m.id = ANY(${[...ids]}::bigint[]) AND ${daysOf} > 0
    ) AS aged WHERE overdue >= 0 ORDER BY id`;
  return rows.map(toExpired);
}

interface ExpiredRow {
  readonly id: bigint;
  readonly channel_id: number | null;
  readonly overdue: number;
}

const toExpired = (row: ExpiredRow): Expired => ({
  id: Number(row.id),
  channelId: row.channel_id,
  overdueSeconds: row.overdue,
});

const lastId = (rows: readonly ExpiredRow[]): number | null => {
  const last = rows.at(-1);
  return last === undefined ? null : Number(last.id);
};

/** A copy of a deleted message, kept for the operator, whose message is older than its retention limit. */
export interface ExpiredCopy {
  readonly id: bigint;
  /** Id of the channel. Null for a direct message. */
  readonly channel_id: number | null;
  readonly sent_event_id: bigint;
}

/**
 * Reads copies of those deleted messages of an organization that were sent longer ago than the retention limit of their channel
 * or organization. Returns at most `BATCH` of them; the next call returns further ones.
 */
export async function expiredCopies(
  db: Pick<Tx, '$queryRaw'>,
  { id, settings }: Pick<Organization, 'id' | 'settings'>,
  now: Date,
): Promise<ExpiredCopy[]> {
  const ofOrganization = organizationSetting({ settings }, 'message_retention_days');
  const daysOf = Prisma.sql`COALESCE(c.message_retention_days, ${ofOrganization}::int)`;
  const columns = Prisma.sql`d.id, d.channel_id, (d.body->>'sent_event_id')::bigint AS sent_event_id`;
  const inChannels = Prisma.sql`
    SELECT d.* FROM channel c CROSS JOIN LATERAL (
      SELECT ${columns} FROM deleted_message d
      WHERE d.realm_id = ${id} AND d.channel_id = c.id AND d.sent_at <= ${cutoff(now, daysOf)}
      ORDER BY d.sent_at LIMIT ${BATCH}) AS d
    WHERE c.realm_id = ${id} AND ${daysOf} > 0`;
  const direct = Prisma.sql`
    (SELECT ${columns} FROM deleted_message d
    WHERE d.realm_id = ${id} AND d.channel_id IS NULL AND d.sent_at <= ${cutoff(now, Prisma.sql`${ofOrganization}`)}
    ORDER BY d.sent_at LIMIT ${BATCH})`;
  const all = ofOrganization > 0 ? Prisma.sql`${inChannels} UNION ALL ${direct}` : inChannels;
  return db.$queryRaw<ExpiredCopy[]>`SELECT * FROM (${all}) AS copies LIMIT ${BATCH}`;
}

/**
 * Erases those stored responses of an organization that are older than its shortest retention limit, at most `BATCH`. The
 * shortest limit applies because a response can contain the text of messages of any channel. The idempotency keys stay, so that
 * a repeated request makes no second change. Stored ids of sent messages, from which responses are rendered, stay as well.
 *
 * @returns Number of erased responses.
 */
export async function eraseExpiredReplies(
  db: Pick<Tx, '$executeRaw'>,
  { id, settings }: Pick<Organization, 'id' | 'settings'>,
  now: Date,
): Promise<number> {
  const ofOrganization = organizationSetting({ settings }, 'message_retention_days');
  const shortest = Prisma.sql`(
    SELECT min(days) FROM (
      SELECT ${ofOrganization}::int AS days UNION SELECT message_retention_days FROM channel WHERE realm_id = ${id}
    ) AS limits WHERE days > 0)`;
  // The index `idempotency_record_replies` has the predicate `jsonb_typeof(result) = 'string'`.
  return db.$executeRaw`
    UPDATE idempotency_record SET result = NULL, reply_bytes = 0 WHERE realm_id = ${id} AND (user_id, key) IN (
      SELECT user_id, key FROM idempotency_record
      WHERE realm_id = ${id} AND jsonb_typeof(result) = 'string' AND created_at <= ${cutoff(now, shortest)}
      LIMIT ${BATCH})`;
}

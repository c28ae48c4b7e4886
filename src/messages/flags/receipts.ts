import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { USER_SETTINGS } from '../../access/user-settings.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { isUserWithin, type UserPage, userKey, usersInOrder } from '../../people/user-pages.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { type FetchedRowKey, type RowKey, rowKeyOf } from '../../platform/db/keyset.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { accessMessage } from '../access.ts';
import { isUnreadBy } from '../flag-conditions.ts';

/** Returns whether the organization shows read receipts. */
export const showsReceipts = ({ viewer }: Pick<Ctx, 'viewer'>): boolean =>
  organizationSetting(viewer.organization, 'enable_read_receipts');

/**
 * Reads the ids of users who have read a message, ascending. Includes only active users who share their read receipts. Excludes
 * the sender.
 *
 * @throws NotFoundError if the viewer cannot read the message.
 * @throws ForbiddenError if the organization does not show read receipts.
 */
export async function listReceipts(ctx: Ctx, messageId: number): Promise<readonly number[]> {
  const message = await accessMessage(ctx, messageId);
  if (!showsReceipts(ctx)) throw new ForbiddenError('Read receipts are disabled in this organization.');
  const pageOf = await readReceiptPages(ctx.work.db, ctx.organizationId, [Number(message.id)], ALL);
  return pageOf(Number(message.id)).map(({ id }) => id);
}

const ALL: UserPage = {
  field: 'id',
  above: undefined,
  below: undefined,
  limit: Number.MAX_SAFE_INTEGER,
  descending: false,
};

/**
 * Builds SQL for the users who have read the message `m` and share their read receipts. It follows FROM in a query, and defines
 * `user_account AS u`. It does not check whether the viewer can read the message.
 *
 * Includes users who received the message and users who flagged it. Excludes users who lost access because the message was
 * moved to a private channel to which they are not subscribed.
 */
const readersOf = (organizationId: number): Prisma.Sql => Prisma.sql`(
    SELECT p.user_id FROM subscription_period p
    WHERE p.realm_id = ${organizationId} AND p.channel_id = m.sent_channel_id AND p.began_message_id < m.id
      AND (p.ended_message_id IS NULL OR m.id <= p.ended_message_id)
    UNION SELECT unnest(c.member_ids) FROM conversation c WHERE c.realm_id = ${organizationId} AND c.id = m.conversation_id
    UNION SELECT um.user_id FROM user_message um WHERE um.realm_id = ${organizationId} AND um.message_id = m.id
  ) AS holder JOIN user_account u ON u.realm_id = ${organizationId} AND u.id = holder.user_id
  WHERE u.is_active AND u.id <> m.sender_id
    AND COALESCE((u.settings->>'send_read_receipts')::boolean, ${USER_SETTINGS.send_read_receipts.initial})
    AND NOT ${isUnreadBy(organizationId, Prisma.sql`u.id`)}
    AND (m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
      OR NOT EXISTS (SELECT FROM channel c WHERE c.realm_id = ${organizationId} AND c.id = m.channel_id AND c.invite_only)
      OR EXISTS (SELECT FROM subscription s WHERE s.realm_id = ${organizationId} AND s.user_id = u.id AND s.channel_id = m.channel_id AND s.active))`;

/**
 * Loads, with one query, a page of the users who have read each message. All pages have the same bounds and order. Returns a
 * function from a message id to its page.
 */
export async function readReceiptPages(
  db: SqlClient,
  organizationId: number,
  messageIds: readonly number[],
  page: UserPage,
): Promise<(messageId: number) => readonly RowKey[]> {
  const rows = await readRows<FetchedRowKey & { readonly message_id: bigint }>(
    db,
    Prisma.sql`
    SELECT m.id AS message_id, page.id, page.key FROM message m
    CROSS JOIN LATERAL (
      SELECT u.id, ${userKey(page)} AS key, row_number() OVER (ORDER BY ${usersInOrder(page)}) AS place
      FROM ${readersOf(organizationId)} AND ${isUserWithin(page)}
      ORDER BY place LIMIT ${page.limit}::bigint
    ) AS page
    WHERE m.realm_id = ${organizationId} AND m.id = ANY(${[...messageIds]}::bigint[]) ORDER BY page.place`,
  );
  const pages = Map.groupBy(rows, ({ message_id }) => Number(message_id));
  return (id) => (pages.get(id) ?? []).map(rowKeyOf);
}

/** Counts, with one query, the users who have read each message. Returns a function from a message id to the count. */
export async function countReceipts(
  db: SqlClient,
  organizationId: number,
  messageIds: readonly number[],
): Promise<(messageId: number) => number> {
  const rows = await db.$queryRaw<{ id: bigint; count: number }[]>`
    SELECT m.id, (SELECT count(*)::int FROM ${readersOf(organizationId)}) AS count FROM message m
    WHERE m.realm_id = ${organizationId} AND m.id = ANY(${[...messageIds]}::bigint[])`;
  const counts = new Map(rows.map(({ id, count }) => [Number(id), count]));
  return (id) => counts.get(id) ?? 0;
}

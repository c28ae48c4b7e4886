import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { USER_SETTINGS } from '../../access/user-settings.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { accessMessage } from '../access.ts';
import { isUnreadBy } from '../user-flags.ts';

/** Whether the organisation shows who has read what. */
export const showsReceipts = ({ viewer }: Pick<Ctx, 'viewer'>): boolean =>
  realmSetting(viewer.realm, 'enable_read_receipts');

/**
 * Who has read a message and lets others know it: active users but its sender, ascending by id.
 *
 * @throws BadRequestError when the viewer may not read the message, or the organisation does not show it.
 */
export async function listReceipts(ctx: Ctx, messageId: number): Promise<readonly number[]> {
  const message = await accessMessage(ctx, messageId);
  if (!showsReceipts(ctx)) throw new BadRequestError('Read receipts are disabled in this organization.');
  const readersOf = await readReceiptPages(ctx.app.db, ctx.realmId, [Number(message.id)], ALL);
  return readersOf(Number(message.id));
}

/** Where a page of users lies. */
export interface ReceiptPage {
  /** User ids above this one. */
  readonly after: number;
  /** User ids below this one. */
  readonly before: number;
  readonly limit: number;
  readonly descending: boolean;
}

const ALL: ReceiptPage = {
  after: 0,
  before: Number.MAX_SAFE_INTEGER,
  limit: Number.MAX_SAFE_INTEGER,
  descending: false,
};

/**
 * The same page of those who have read each of the messages, by user id: one query, however many messages. Whether the
 * viewer may read them is not asked.
 */
export async function readReceiptPages(
  db: SqlClient,
  realmId: number,
  messageIds: readonly number[],
  { after, before, limit, descending }: ReceiptPage,
): Promise<(messageId: number) => readonly number[]> {
  const order = Prisma.raw(descending ? 'DESC' : 'ASC');
  // Those who received it, and those who took it up from the channel's history; without those to whom it is gone, because
  // it went to a private channel without them.
  const rows = await db.$queryRaw<{ message_id: bigint; user_id: number }[]>`
    SELECT m.id AS message_id, page.user_id FROM message m
    LEFT JOIN conversation c ON c.id = m.conversation_id
    CROSS JOIN LATERAL (
      SELECT u.id AS user_id FROM (
        SELECT p.user_id FROM subscription_period p
        WHERE p.channel_id = m.sent_channel_id AND p.began_message_id < m.id
          AND (p.ended_message_id IS NULL OR m.id <= p.ended_message_id)
        UNION SELECT unnest(c.member_ids)
        UNION SELECT um.user_id FROM user_message um WHERE um.realm_id = m.realm_id AND um.message_id = m.id
      ) AS holder JOIN user_account u ON u.id = holder.user_id
      WHERE u.is_active AND u.id <> m.sender_id AND u.id > ${after}::bigint AND u.id < ${before}::bigint
        AND COALESCE((u.settings->>'send_read_receipts')::boolean, ${USER_SETTINGS.send_read_receipts.initial})
        AND NOT ${isUnreadBy(Prisma.sql`u.id`)}
        AND (m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
          OR NOT EXISTS (SELECT FROM channel c WHERE c.id = m.channel_id AND c.invite_only)
          OR EXISTS (SELECT FROM subscription s WHERE s.user_id = u.id AND s.channel_id = m.channel_id AND s.active))
      ORDER BY u.id ${order} LIMIT ${limit}::bigint
    ) AS page
    WHERE m.realm_id = ${realmId} AND m.id = ANY(${[...messageIds]}::bigint[])`;
  const pages = Map.groupBy(rows, ({ message_id }) => Number(message_id));
  const sign = descending ? -1 : 1;
  return (id) => (pages.get(id) ?? []).map(({ user_id }) => user_id).sort((a, b) => sign * (a - b));
}

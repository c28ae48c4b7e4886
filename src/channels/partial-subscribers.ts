import type { SqlClient } from '../platform/db/client.ts';

/** Minimum number of users in a subscriber list that can be sent in part. Shorter lists are always sent whole. */
export const WHOLE_LIST_BELOW = 250;
const ACTIVE_MS = 14 * 86_400_000;

/**
 * Returns the partial subscriber list of each channel, for clients that request partial lists. The list contains all bots, and
 * the users who joined the organization or polled an event queue in the last 14 days. Deactivated users are left out.
 *
 * @returns User ids, ascending, by channel id.
 */
export async function partialSubscribers(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
  now: Date,
): Promise<Map<number, number[]>> {
  if (channelIds.length === 0) return new Map();
  const since = new Date(now.getTime() - ACTIVE_MS);
  const rows = await db.$queryRaw<{ channel_id: number; user_ids: number[] }[]>`
    SELECT s.channel_id, array_agg(s.user_id ORDER BY s.user_id) AS user_ids
    FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    WHERE s.realm_id = ${organizationId} AND s.channel_id = ANY(${[...channelIds]}) AND s.active AND u.is_active AND (
      u.bot_type IS NOT NULL OR u.joined_at >= ${since}
      OR EXISTS (
        SELECT 1 FROM event_queue q
        WHERE q.realm_id = ${organizationId} AND q.user_id = u.id AND q.last_active_at >= ${since}))
    GROUP BY s.channel_id`;
  return new Map(rows.map(({ channel_id, user_ids }) => [channel_id, user_ids]));
}

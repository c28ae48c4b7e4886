import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { readRows } from '../platform/db/rows.ts';

/**
 * Maximum time, in milliseconds, by which a message can have a later `sent_at` than a message with a higher id. Messages that
 * are sent concurrently can have ids that are not in the order of their times.
 */
const SKEW_MS = 60_000;

/**
 * Returns a message id of an organization above which no message was sent at or before a time. Few messages up to this id were
 * sent after the time.
 *
 * @param time Not before 1970.
 */
export const highestIdUntil = (db: SqlClient, organizationId: number, time: Date): Promise<number> =>
  // The message with the returned id was sent at least `SKEW_MS` after the time, or is the last one.
  lowestIdSince(db, organizationId, new Date(time.getTime() + 2 * SKEW_MS));

/**
 * Returns a message id of an organization below which no message was sent at or after a time. Few messages from this id on were
 * sent before the time. Searches by bisection, because ids ascend with time, except for concurrent messages.
 *
 * @param time Not before 1970.
 */
export async function lowestIdSince(db: SqlClient, organizationId: number, time: Date): Promise<number> {
  const before = new Date(time.getTime() - SKEW_MS);
  const [row] = await readRows<{ low: bigint }>(
    db,
    Prisma.sql`
    WITH RECURSIVE halving (low, high) AS (
      SELECT 0::bigint, COALESCE((SELECT m.id FROM message m WHERE m.realm_id = ${organizationId} ORDER BY m.id DESC LIMIT 1), 0)
      UNION ALL
      SELECT CASE WHEN probe.sent_at < ${before}::timestamptz THEN probe.id + 1 ELSE h.low END,
             CASE WHEN probe.sent_at < ${before}::timestamptz THEN h.high ELSE middle.id END
      FROM halving h CROSS JOIN LATERAL (SELECT (h.low + h.high) / 2 AS id) AS middle
      CROSS JOIN LATERAL (
        SELECT m.id, m.sent_at FROM message m WHERE m.realm_id = ${organizationId} AND m.id >= middle.id ORDER BY m.id LIMIT 1
      ) AS probe
      WHERE h.low < h.high
    )
    SELECT low FROM halving ORDER BY high - low LIMIT 1`,
  );
  return Number(row?.low ?? 0);
}

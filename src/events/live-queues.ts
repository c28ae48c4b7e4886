import { databaseClock } from '../platform/db/clock.ts';
import type { LogContext } from './context.ts';

/** An event queue from which a client can still read. */
export interface LiveQueue {
  readonly id: string;
  readonly userId: number;
  readonly clientName: string;
  /** Number of events in the organization's log after the position of the queue. */
  readonly behind: number;
  readonly lastActiveAt: Date;
  readonly expiresAt: Date;
}

interface Row extends Omit<LiveQueue, 'behind'> {
  readonly behind: bigint;
}

/**
 * Returns the live queues of an organization, or of one of its users, with the positions that the nodes last wrote. The queue
 * that is furthest behind is first.
 */
export async function listLiveQueues(
  app: LogContext,
  { organizationId, userId = null }: { readonly organizationId: number; readonly userId?: number | null },
): Promise<LiveQueue[]> {
  const rows = await app.db.$queryRaw<Row[]>`
    SELECT q.id::text AS id, q.user_id AS "userId", q.client_name AS "clientName",
      GREATEST(c.last_id - q.scanned_through, 0) AS behind, q.last_active_at AS "lastActiveAt",
      q.expires_at AS "expiresAt"
    FROM event_queue q JOIN event_counter c ON c.realm_id = q.realm_id
    WHERE q.realm_id = ${organizationId} AND (${userId}::int IS NULL OR q.user_id = ${userId}::int)
      AND q.ended_at IS NULL AND q.expires_at > ${databaseClock(app)}
    ORDER BY behind DESC, q.last_active_at, q.id`;
  return rows.map((row) => ({ ...row, behind: Number(row.behind) }));
}

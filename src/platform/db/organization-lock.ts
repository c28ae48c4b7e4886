import type { Prisma } from '../../generated/prisma/client.ts';

/**
 * Returns whether another transaction holds a lock on the organization's event counter or its own row. All changes of the
 * organization need these locks sooner or later. A separate query is needed, because a lock timeout does not name the row.
 *
 * If the lock is released right after the query, the result is outdated. If the query fails, the result is true.
 */
export async function isOrganizationHeld(
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  realmId: number,
): Promise<boolean> {
  try {
    const free = await db.$queryRaw<unknown[]>`
      SELECT 1 AS free FROM realm r JOIN event_counter c ON c.realm_id = r.id WHERE r.id = ${realmId}
      FOR SHARE OF r, c SKIP LOCKED`;
    return free.length === 0;
  } catch {
    // If the database is unavailable, another query would only add to its load.
    return true;
  }
}

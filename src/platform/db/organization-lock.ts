import type { Prisma } from '../../generated/prisma/client.ts';

/**
 * Returns whether another transaction holds a lock on the row of the organization or of its event counter. All changes of the
 * organization need these locks sooner or later. A separate query is needed, because the error of a lock timeout does not name
 * the locked row.
 *
 * If the lock is released right after the query, the result is outdated. If the query fails, the result is true.
 */
export async function isOrganizationHeld(
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  organizationId: number,
): Promise<boolean> {
  try {
    const free = await db.$queryRaw<unknown[]>`
      SELECT 1 AS free FROM realm r JOIN event_counter c ON c.realm_id = r.id WHERE r.id = ${organizationId}
      FOR SHARE OF r, c SKIP LOCKED`;
    return free.length === 0;
  } catch {
    // If the database is unavailable, the organization counts as locked, so that fewer of its changes add to the load.
    return true;
  }
}

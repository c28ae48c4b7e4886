import type { Prisma } from '../../generated/prisma/client.ts';

/**
 * Whether somebody holds the organisation's event counter or its own row, for which all of its changes wait sooner or
 * later. Asked of the database, because a statement that waited in vain does not say for which of its rows.
 *
 * It may be that a change holds them that is over in a moment: for a moment then this errs.
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
    // When the database cannot answer, asking it again would only add to the load.
    return true;
  }
}

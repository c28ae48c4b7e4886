import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
/**
 * Locks the organization's row until the end of the transaction. A transaction takes this lock before it checks a condition on
 * all users, for example that an owner remains or that a name is free.
 */
export async function lockOrganization(tx: Tx, organizationId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${organizationId} FOR NO KEY UPDATE`;
}

/**
 * Locks a user's row until the end of the transaction. If the organization's row is locked too, it must be locked
 * first.
 */
export async function lockUser(tx: Tx, { organizationId, id }: Pick<User, 'organizationId' | 'id'>): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM user_account WHERE realm_id = ${organizationId} AND id = ${id} FOR NO KEY UPDATE`;
}

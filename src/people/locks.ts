import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
/**
 * Locks the organization's row until the end of the transaction. Changes take this lock to preserve conditions on all users: at
 * least one is an owner, and names are unique.
 */
export async function lockRealm(tx: Tx, realmId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR NO KEY UPDATE`;
}

/**
 * Locks a user's row until the end of the transaction. If the organization's row is locked too, it must be locked
 * first.
 */
export async function lockUser(tx: Tx, { realmId, id }: Pick<User, 'realmId' | 'id'>): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM user_account WHERE realm_id = ${realmId} AND id = ${id} FOR NO KEY UPDATE`;
}

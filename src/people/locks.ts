import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
/** Guards what is true of all users together: that one of them is an owner, and that names are unique where they must. */
export async function lockRealm(tx: Tx, realmId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR NO KEY UPDATE`;
}

/** Keeps a user as they are until the change is over. A change that locks the organisation's row too does so before. */
export async function lockUser(tx: Tx, { realmId, id }: Pick<User, 'realmId' | 'id'>): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM user_account WHERE realm_id = ${realmId} AND id = ${id} FOR NO KEY UPDATE`;
}

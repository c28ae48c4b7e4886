import { createHash } from 'node:crypto';
import type { Tx } from '../platform/db/client.ts';
import type { Runtime } from './context.ts';

/**
 * Maximum number of expired records of tokens that each insert deletes, so that the table does not accumulate them. Further
 * expired records remain until later inserts.
 */
const PURGED_AT_ONCE = 100;

/**
 * Records the use of a one-time token. The record is stored until the token expires. The database decides which use is the
 * first, across all nodes.
 *
 * @param id Identifies the token, and no other one-time token of the organization.
 * @returns True for the first use. False if the token was used before.
 */
export async function useUp(
  { app, work: { db } }: { readonly app: Runtime; readonly work: { readonly db: Tx } },
  organizationId: number,
  id: string,
  expiresAt: Date,
): Promise<boolean> {
  const idHash = new Uint8Array(createHash('sha256').update(id).digest());
  const { count } = await db.usedToken.createMany({
    data: [{ organizationId, idHash, expiresAt }],
    skipDuplicates: true,
  });
  if (count === 0) return false;
  await db.$executeRaw`
    DELETE FROM used_token WHERE (realm_id, id_hash) IN (
      SELECT realm_id, id_hash FROM used_token WHERE expires_at < ${app.now()}
        -- The rows of an organization that is moving to another database can be held.
        AND NOT EXISTS (SELECT FROM realm_move m WHERE m.realm_id = used_token.realm_id)
      LIMIT ${PURGED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
  return true;
}

import { createHash } from 'node:crypto';
import type { App } from './context.ts';

/** Our choice: expired rows removed with each one added, so that the table never grows by itself. */
const PURGED_AT_ONCE = 100;

/**
 * Remembers something that may be shown once, for as long as it could be shown again. The database decides who is first,
 * on whatever node.
 *
 * @param id What names it: nothing else of the organisation that may be shown once has the same.
 * @returns False when it was shown before.
 */
export async function useUp({ db, now }: App, realmId: number, id: string, expiresAt: Date): Promise<boolean> {
  const idHash = new Uint8Array(createHash('sha256').update(id).digest());
  const { count } = await db.usedToken.createMany({ data: [{ realmId, idHash, expiresAt }], skipDuplicates: true });
  if (count === 0) return false;
  await db.$executeRaw`
    DELETE FROM used_token WHERE (realm_id, id_hash) IN (
      SELECT realm_id, id_hash FROM used_token WHERE expires_at < ${now()}
      LIMIT ${PURGED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
  return true;
}

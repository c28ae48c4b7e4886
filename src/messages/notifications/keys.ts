import { createECDH } from 'node:crypto';
import type { Runtime } from '../../access/context.ts';
import type { Tx } from '../../platform/db/client.ts';

/** The key pair with which push messages of an organization are signed, in base64url. @see RFC 8292 */
export interface PushKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/**
 * Returns the stored key pair of an organization. Before the first device is registered, no pair is stored: returns the pair
 * that `storePushKeys` will store. It is derived from SECRET_KEY, so all nodes return the same pair without a write.
 */
export async function pushKeysOf(
  db: Pick<Tx, 'pushKey'>,
  { keys }: Pick<Runtime, 'keys'>,
  organizationId: number,
): Promise<PushKeys> {
  const stored = await db.pushKey.findUnique({ where: { organizationId } });
  return stored !== null && keys.canOpen(stored.sealedPrivateKey)
    ? { publicKey: stored.publicKey, privateKey: keys.open(stored.sealedPrivateKey) }
    : derivedKeys(keys, organizationId);
}

/**
 * Stores the key pair of an organization, if it has none, so that it stays the same after a change of SECRET_KEY. If the private
 * key was sealed with a lost SECRET_KEY, a new pair replaces it, and the devices that were registered with the old one are
 * deleted: they must register again.
 */
export async function storePushKeys(
  tx: Pick<Tx, 'pushKey' | '$executeRaw'>,
  { keys, now }: Pick<Runtime, 'keys' | 'now'>,
  organizationId: number,
): Promise<void> {
  const stored = await tx.pushKey.findUnique({ where: { organizationId } });
  if (stored !== null && keys.canOpen(stored.sealedPrivateKey)) return;
  const { publicKey, privateKey } = derivedKeys(keys, organizationId);
  // Another request may have stored a pair meanwhile: the first one stays.
  await tx.$executeRaw`
    WITH made AS (
      INSERT INTO push_key AS k (realm_id, public_key, sealed_private_key, created_at)
      VALUES (${organizationId}, ${publicKey}, ${keys.seal(privateKey)}, ${now()}::timestamptz)
      ON CONFLICT (realm_id) DO UPDATE
        SET public_key = excluded.public_key, sealed_private_key = excluded.sealed_private_key, created_at = excluded.created_at
        WHERE k.public_key = ${stored?.publicKey ?? null}::text
      RETURNING k.realm_id
    )
    DELETE FROM push_device d USING made
    WHERE d.realm_id = ${organizationId} AND d.realm_id = made.realm_id AND d.kind = 'web' AND ${stored !== null}`;
}

/**
 * Returns the key pair that SECRET_KEY determines for an organization. About one secret in 2³² does not yield a valid private
 * key: the function then throws.
 */
function derivedKeys(keys: Runtime['keys'], organizationId: number): PushKeys {
  const privateKey = keys.token(`push messages of organization ${organizationId}`);
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(privateKey, 'base64url');
  return { publicKey: pair.getPublicKey('base64url'), privateKey };
}

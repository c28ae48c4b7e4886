import { join } from 'node:path';
import type { App } from '../access/context.ts';
import { rotateKey } from '../access/sign-in.ts';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/client.ts';
import { KeyVault, keptSecretKey, loadSecretKey } from '../platform/key-vault.ts';

/** The error if the database contains API keys that were sealed with another SECRET_KEY. */
export class WrongSecretKeyError extends Error {
  override name = 'WrongSecretKeyError';
}

const IF_LOST =
  'or, if it is lost, stop the service and give all users new API keys with "npm run cli -- secret-key renew"';

/**
 * Returns the vault, which seals and opens API keys with the SECRET_KEY of this service. Only the API key that was sealed last
 * is checked, so that a service that used another SECRET_KEY for a while can start.
 *
 * @param isNew Whether to accept a SECRET_KEY that did not seal the API keys, and to create one if there is none.
 * @throws WrongSecretKeyError if another SECRET_KEY sealed the API key.
 * @throws ConfigError if DATA_DIR/secret-key contains no key.
 */
export async function openVault(config: Config, db: Db, isNew: boolean): Promise<KeyVault> {
  const sealed = isNew ? undefined : await lastSealed(db);
  if (sealed === undefined) return new KeyVault(loadSecretKey(config));
  const path = join(config.dataDir, 'secret-key');
  const isOwn = config.secretKey === undefined;
  // This is checked before `loadSecretKey` creates a key. An operator who searches for the right key could mistake the new file
  // for it.
  if (isOwn && keptSecretKey(config) === undefined) {
    throw new WrongSecretKeyError(
      `${path}, which sealed the API keys in the database, is missing: restore it from a backup, or set SECRET_KEY ` +
        `to its content, ${IF_LOST}.`,
    );
  }
  const vault = new KeyVault(loadSecretKey(config));
  if (opens(vault, sealed)) return vault;
  throw new WrongSecretKeyError(
    isOwn
      ? `${path} is not the key that sealed the API keys in the database: restore that key from a backup, ${IF_LOST}.`
      : `SECRET_KEY is not the key that sealed the API keys in the database: set it to the previous value, ${IF_LOST}.`,
  );
}

/** Returns the encrypted API key that was sealed last. Undefined if there is none. */
async function lastSealed(db: Db): Promise<Uint8Array | undefined> {
  const sample = await db.apiKey.findFirst({ orderBy: { createdAt: 'desc' }, select: { sealed: true } });
  return sample?.sealed;
}

/**
 * Returns the number of API keys that the current SECRET_KEY can decrypt (`opened`), and the number of those that it cannot
 * (`closed`).
 */
export async function countOpened({ db, keys }: App): Promise<{ opened: number; closed: number }> {
  const all = await db.apiKey.findMany({ select: { sealed: true } });
  const opened = all.filter(({ sealed }) => opens(keys, sealed)).length;
  return { opened, closed: all.length - opened };
}

/**
 * Replaces all API keys that were sealed with a lost SECRET_KEY. Deletes the video call tokens that were sealed with it: their
 * users must connect their accounts again.
 *
 * @returns Number of replaced keys and of deleted tokens.
 */
export async function renewSealed(app: App): Promise<{ keys: number; tokens: number }> {
  const { db, keys } = app;
  const lost = (await db.apiKey.findMany({ orderBy: { userId: 'asc' } })).filter(({ sealed }) => !opens(keys, sealed));
  for (const { realmId, userId } of lost) await rotateKey({ app, realmId }, userId);
  const tokens = (await db.callToken.findMany()).filter(({ sealed }) => !opens(keys, sealed));
  await db.callToken.deleteMany({ where: { userId: { in: tokens.map(({ userId }) => userId) } } });
  return { keys: lost.length, tokens: tokens.length };
}

function opens(keys: KeyVault, sealed: Uint8Array): boolean {
  try {
    keys.open(sealed);
    return true;
  } catch {
    return false;
  }
}

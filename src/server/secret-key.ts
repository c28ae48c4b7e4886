import { join } from 'node:path';
import type { App } from '../access/context.ts';
import { rotateKey } from '../access/sign-in.ts';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/client.ts';
import { KeyVault, keptSecretKey, loadSecretKey } from '../platform/key-vault.ts';

/** The database holds what was sealed with a SECRET_KEY that the service does not have. */
export class WrongSecretKeyError extends Error {
  override name = 'WrongSecretKeyError';
}

const IF_LOST =
  'or, if it is lost for good, give everybody a new API key by "npm run cli -- secret-key renew" with the service stopped';

/**
 * The vault of this service's SECRET_KEY. The key that was sealed last decides: a service that ran with another key for a
 * while goes on.
 *
 * @param isNew Whether another key than the database's is taken, and made where there is none.
 * @throws WrongSecretKeyError when the database's is another.
 * @throws ConfigError when DATA_DIR/secret-key holds no key.
 */
export async function openVault(config: Config, db: Db, isNew: boolean): Promise<KeyVault> {
  const sealed = isNew ? undefined : await lastSealed(db);
  if (sealed === undefined) return new KeyVault(loadSecretKey(config));
  const path = join(config.dataDir, 'secret-key');
  const isOwn = config.secretKey === undefined;
  // Looked at before one is made: a new file would be taken for the right one by whoever looks for it.
  if (isOwn && keptSecretKey(config) === undefined) {
    throw new WrongSecretKeyError(
      `${path} is gone, which sealed the API keys in the database: put it back from a back-up, or set SECRET_KEY to what it held, ${IF_LOST}.`,
    );
  }
  const vault = new KeyVault(loadSecretKey(config));
  if (opens(vault, sealed)) return vault;
  throw new WrongSecretKeyError(
    isOwn
      ? `${path} is not the key that sealed the API keys in the database: put that one back from a back-up, ${IF_LOST}.`
      : `SECRET_KEY is not the one that sealed the API keys in the database: set it to what it was before, ${IF_LOST}.`,
  );
}

/** What was sealed last; undefined: nothing. */
async function lastSealed(db: Db): Promise<Uint8Array | undefined> {
  const sample = await db.apiKey.findFirst({ orderBy: { createdAt: 'desc' }, select: { sealed: true } });
  return sample?.sealed;
}

/** How many API keys this service's SECRET_KEY opens, and how many it does not. */
export async function countOpened({ db, keys }: App): Promise<{ opened: number; closed: number }> {
  const all = await db.apiKey.findMany({ select: { sealed: true } });
  const opened = all.filter(({ sealed }) => opens(keys, sealed)).length;
  return { opened, closed: all.length - opened };
}

/**
 * Gives a new API key to everybody whose own was sealed with a SECRET_KEY that is lost, and forgets the tokens of video
 * calls that were: their users are asked again.
 *
 * @returns How many.
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

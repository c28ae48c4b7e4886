import { join } from 'node:path';
import type { App } from '../access/context.ts';
import { rotateKey } from '../access/sign-in.ts';
import { removeLostFactor } from '../administration/second-factor/service.ts';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/client.ts';
import { KeyVault, keptSecretKey, loadSecretKey } from '../platform/key-vault.ts';
import { PeriodicWorker } from '../platform/periodic-worker.ts';

/** The error if the database contains API keys that were sealed with another SECRET_KEY. */
export class WrongSecretKeyError extends Error {
  override name = 'WrongSecretKeyError';
}

const IF_LOST =
  'or, if it is lost, stop the service and give all users new API keys with "npm run cli -- secret-key renew"';

/**
 * Returns the vault, which encrypts (seals) and decrypts (opens) API keys with the SECRET_KEY of this service. Only the API key
 * that was sealed last is checked. A service that used another SECRET_KEY for a while can therefore start.
 *
 * @param isNew Whether to accept a SECRET_KEY that did not seal the API keys, and to create a key if there is none.
 * @throws WrongSecretKeyError if another SECRET_KEY sealed the last API key, or the file with the SECRET_KEY is missing.
 * @throws ConfigError if DATA_DIR/secret-key contains no key.
 */
export async function openVault(config: Config, db: Db, isNew: boolean): Promise<KeyVault> {
  const sealed = isNew ? undefined : await lastSealed(db);
  const { previousSecretKey } = config;
  if (sealed === undefined) return new KeyVault(loadSecretKey(config), previousSecretKey);
  const path = join(config.dataDir, 'secret-key');
  const isOwn = config.secretKey === undefined;
  // This is checked before `loadSecretKey` creates a key, because an operator who searches for the right key could mistake the
  // new file for it.
  if (isOwn && keptSecretKey(config) === undefined) {
    throw new WrongSecretKeyError(
      `${path}, which sealed the API keys in the database, is missing: restore it from a backup, or set SECRET_KEY ` +
        `to its content, ${IF_LOST}.`,
    );
  }
  const vault = new KeyVault(loadSecretKey(config), previousSecretKey);
  if (vault.canOpen(sealed)) return vault;
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
 * Counts the sealed values: API keys, tokens of video calls, invitation links, secrets of identity providers and second factors,
 * and keys of push messages.
 *
 * @returns `opened`: values that SECRET_KEY or SECRET_KEY_PREVIOUS can decrypt. `closed`: values that neither can decrypt.
 *   `previous`: values of `opened` that are sealed with SECRET_KEY_PREVIOUS.
 */
export async function countOpened({
  db,
  keys,
}: App): Promise<{ readonly opened: number; readonly closed: number; readonly previous: number }> {
  const select = { sealed: true } as const;
  const all = [
    ...(await db.apiKey.findMany({ select })),
    ...(await db.callToken.findMany({ select })),
    ...(await db.secondFactor.findMany()).map(({ sealedSecret: sealed }) => ({ sealed })),
    ...(await sealedLinks(db)).map(({ sealedToken: sealed }) => ({ sealed })),
    ...(await sealedSecrets(db)).map(({ sealedSecret: sealed }) => ({ sealed })),
    ...(await db.pushKey.findMany({ select: { sealedPrivateKey: true } })).map(({ sealedPrivateKey: sealed }) => ({
      sealed,
    })),
  ];
  const opened = all.filter(({ sealed }) => keys.canOpen(sealed));
  const previous = opened.filter(({ sealed }) => !keys.isCurrent(sealed)).length;
  return { opened: opened.length, closed: all.length - opened.length, previous };
}

/** Interval between two passes of the worker, in milliseconds. */
const RESEAL_EVERY_MS = 10_000;
/** Number of rows that the worker reads at a time. */
const RESEAL_ROWS = 500;

/**
 * Returns a worker that seals values with SECRET_KEY that were sealed with SECRET_KEY_PREVIOUS. If its first run finds
 * none, it does nothing afterwards: SECRET_KEY_PREVIOUS is then the future key, with which other nodes will seal.
 */
export function resealWorker(app: Pick<App, 'db' | 'keys' | 'log'>): PeriodicWorker {
  let isFormer: boolean | undefined;
  return new PeriodicWorker(app.log, {
    everyMs: RESEAL_EVERY_MS,
    failure: 'values were not sealed with the new SECRET_KEY',
    run: async (isStopped) => {
      if (isFormer === false) return;
      const count = await reseal(app, isStopped);
      isFormer ??= count > 0;
      if (count > 0) app.log.info({ count }, 'sealed values with the new SECRET_KEY');
    },
  });
}

/** Returns the reusable invitations whose token is stored. */
async function sealedLinks(db: Db) {
  const rows = await db.invitation.findMany({
    where: { isReusable: true, closedAt: null },
    orderBy: { id: 'asc' },
    select: { organizationId: true, id: true, sealedToken: true },
  });
  return rows.flatMap(({ sealedToken, ...row }) => (sealedToken === null ? [] : [{ ...row, sealedToken }]));
}

/** Returns the identity providers whose client secret is stored. */
async function sealedSecrets(db: Db) {
  const rows = await db.identityProvider.findMany({
    where: { sealedSecret: { not: null } },
    orderBy: { id: 'asc' },
    select: { organizationId: true, id: true, sealedSecret: true },
  });
  return rows.flatMap(({ sealedSecret, ...row }) => (sealedSecret === null ? [] : [{ ...row, sealedSecret }]));
}

/**
 * Encrypts the values that are sealed with SECRET_KEY_PREVIOUS again, with SECRET_KEY: API keys, tokens of video calls, invitation
 * links, secrets of identity providers and second factors, and keys of push messages. Skips values that neither key can decrypt.
 *
 * @param isStopped Checked before each page of rows. If it returns true, the remaining rows are not processed.
 * @returns Number of changed values.
 */
export async function reseal({ db, keys }: Pick<App, 'db' | 'keys'>, isStopped = () => false): Promise<number> {
  let count = 0;
  const renewed = (sealed: Uint8Array) =>
    !keys.isCurrent(sealed) && keys.canOpen(sealed) ? keys.seal(keys.open(sealed)) : undefined;
  for (let after = 0; !isStopped(); ) {
    const page = { where: { userId: { gt: after } }, orderBy: { userId: 'asc' }, take: RESEAL_ROWS } as const;
    const [apiKeys, tokens] = [await db.apiKey.findMany(page), await db.callToken.findMany(page)];
    const factors = await db.secondFactor.findMany(page);
    for (const { organizationId, userId, sealedSecret } of factors) {
      const data = renewed(sealedSecret);
      const where = { organizationId, userId, sealedSecret };
      if (data !== undefined)
        count += (await db.secondFactor.updateMany({ where, data: { sealedSecret: data } })).count;
    }
    for (const { organizationId, userId, sealed } of apiKeys) {
      const data = renewed(sealed);
      // The old value is a condition: a key that was replaced in the meantime stays.
      const where = { organizationId, userId, sealed };
      if (data !== undefined) count += (await db.apiKey.updateMany({ where, data: { sealed: data } })).count;
    }
    for (const { organizationId, userId, sealed } of tokens) {
      const data = renewed(sealed);
      const where = { organizationId, userId, sealed };
      if (data !== undefined) count += (await db.callToken.updateMany({ where, data: { sealed: data } })).count;
    }
    const ends = [apiKeys, tokens, factors]
      .filter((rows) => rows.length === RESEAL_ROWS)
      .map((rows) => rows.at(-1)?.userId ?? 0);
    if (ends.length === 0) break;
    after = Math.min(...ends);
  }
  for (const { sealedToken, ...row } of await sealedLinks(db)) {
    const data = renewed(sealedToken);
    const where = { ...row, sealedToken };
    if (data !== undefined) count += (await db.invitation.updateMany({ where, data: { sealedToken: data } })).count;
  }
  for (const { sealedSecret, ...row } of await sealedSecrets(db)) {
    const data = renewed(sealedSecret);
    const where = { ...row, sealedSecret };
    if (data !== undefined) {
      count += (await db.identityProvider.updateMany({ where, data: { sealedSecret: data } })).count;
    }
  }
  for (const { organizationId, sealedPrivateKey } of await db.pushKey.findMany({
    orderBy: { organizationId: 'asc' },
  })) {
    const data = renewed(sealedPrivateKey);
    const where = { organizationId, sealedPrivateKey };
    if (data !== undefined) count += (await db.pushKey.updateMany({ where, data: { sealedPrivateKey: data } })).count;
  }
  return count;
}

/**
 * Replaces all API keys that were sealed with a lost SECRET_KEY. Deletes the video call tokens that were sealed with it, so
 * that their users must connect their accounts again. Disables the identity providers whose secrets were sealed with it, until
 * an owner enters the secret again. Removes authenticator apps whose secrets were sealed with it, and deletes keys of push
 * messages: devices must be registered again. Invitation links continue to work, but are no longer shown.
 *
 * @returns Number of replaced keys, of deleted tokens, of disabled identity providers and of removed authenticator apps.
 */
export async function renewSealed(
  app: App,
): Promise<{ keys: number; tokens: number; identity_providers: number; second_factors: number }> {
  const { db, keys } = app;
  const lost = (await db.apiKey.findMany({ orderBy: { userId: 'asc' } })).filter(({ sealed }) => !keys.canOpen(sealed));
  for (const { organizationId, userId } of lost) await rotateKey({ app, work: app.work, organizationId }, userId);
  const tokens = (await db.callToken.findMany()).filter(({ sealed }) => !keys.canOpen(sealed));
  await db.callToken.deleteMany({ where: { userId: { in: tokens.map(({ userId }) => userId) } } });
  const secrets = (await sealedSecrets(db)).filter(({ sealedSecret }) => !keys.canOpen(sealedSecret));
  for (const { organizationId, id, sealedSecret } of secrets) {
    const where = { organizationId, id, sealedSecret };
    await db.identityProvider.updateMany({ where, data: { sealedSecret: null, isEnabled: false } });
  }
  const pushKeys = (await db.pushKey.findMany()).filter(({ sealedPrivateKey }) => !keys.canOpen(sealedPrivateKey));
  for (const { organizationId } of pushKeys) {
    await db.pushDevice.deleteMany({ where: { organizationId, kind: 'web' } });
    await db.pushKey.deleteMany({ where: { organizationId } });
  }
  const factors = (await db.secondFactor.findMany()).filter(({ sealedSecret }) => !keys.canOpen(sealedSecret));
  for (const factor of factors) await removeLostFactor(app, factor);
  return {
    ...{ keys: lost.length, tokens: tokens.length, identity_providers: secrets.length },
    second_factors: factors.length,
  };
}

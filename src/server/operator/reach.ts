import { randomUUID } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { Redis } from 'ioredis';
import type { App } from '../../access/context.ts';
import { urlOf } from '../../platform/hosts.ts';
import { openTransport } from '../../platform/mail/worker.ts';
import { objectStoreOf, StoreRefusedError, StoreUnavailableError } from '../../platform/object-store.ts';
import { redisPrefix } from '../../platform/redis-names.ts';
import { pingScanner, ScannerUnavailableError } from '../../platform/virus-scanner.ts';
import { DEPLOYMENT_HEADER, deploymentsOf } from '../health.ts';

// Checks of the command `doctor` for everything outside the process except the database. Each returns a text for the operator,
// or throws an error that describes the problem.

/** Timeout of each check, in milliseconds. Afterwards, the check fails. */
const PATIENCE_MS = 5_000;
/** Minimum free disk space, in bytes. With less, the embedded database and its write-ahead log cannot work for an hour. */
const LEAST_FREE_BYTES = 512 * 2 ** 20;

const took = (since: number) => `${(performance.now() - since).toFixed(1)} ms`;

/**
 * Redis script that writes a key, like the scripts of the rate limits. It is executed for `KEYS` different keys, so that
 * several nodes of a Redis cluster execute it.
 */
const WRITE = "redis.call('SET', KEYS[1], '1', 'PX', 1000) return 1";
const KEYS = 16;

/** Checks that Redis executes the commands that the service sends, and measures how long one command takes. */
export async function checkRedis({ config }: Pick<App, 'config'>): Promise<string> {
  const { redisUrl } = config;
  if (redisUrl === undefined) return 'REDIS_URL is not set: Redis is not used';
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    retryStrategy: () => null,
  });
  let reason: Error | undefined;
  redis.on('error', (error) => {
    reason ??= error;
  });
  try {
    await withinPatience(redis.connect(), () =>
      redis.status === 'connect' ? 'connected but not ready: it may be loading its data' : 'no connection',
    );
    const asked = performance.now();
    await redis.ping();
    const time = took(asked);
    await requireCommands(redis, redisPrefix(config));
    // The client continues if the server refuses the database of the URL, and uses another one.
    if (reason !== undefined) throw refused(reason);
    return `replied in ${time}`;
  } catch (error) {
    if (error instanceof RefusedCommandError) throw error;
    throw new Error(`no reply: ${(reason ?? (error as Error)).message}`);
  } finally {
    redis.disconnect();
  }
}

/** The error if Redis refused a command that the service needs. */
class RefusedCommandError extends Error {
  override name = 'RefusedCommandError';
}

const refused = ({ message }: Error) =>
  new RefusedCommandError(`replies, but refuses a command that the service needs: ${message}`);

async function requireCommands(redis: Redis, prefix: string): Promise<void> {
  try {
    const keys = Array.from({ length: KEYS }, (_, i) => `${prefix}doctor:${i}`);
    await Promise.all(keys.map((key) => redis.eval(WRITE, 1, key)));
    await redis.publish(`${prefix}doctor`, '');
  } catch (error) {
    throw refused(error as Error);
  }
}

async function withinPatience<T>(work: Promise<T>, late: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(late())), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Checks that the mail server accepts a connection and a greeting. If SMTP_URL contains a password, also checks the sign-in.
 */
export async function checkMail({ config: { smtpUrl } }: Pick<App, 'config'>): Promise<string> {
  if (smtpUrl === undefined) return 'SMTP_URL is not set: email stays queued';
  const transport = openTransport(smtpUrl, PATIENCE_MS);
  const asked = performance.now();
  try {
    await transport.verify();
    return `accepts email, checked in ${took(asked)}`;
  } catch (error) {
    throw new Error(`does not accept email: ${(error as Error).message}`);
  } finally {
    transport.close();
  }
}

/**
 * Checks that an object can be written to the bucket, read and deleted. Without a bucket, checks that no file is in one.
 */
export async function checkFiles({ config, db }: Pick<App, 'config' | 'db'>): Promise<string> {
  const store = objectStoreOf(config);
  const newest = await db.storedObject.findFirst({
    where: { attachmentId: { not: null } },
    orderBy: { attachmentId: 'desc' },
  });
  if (store === undefined) {
    if (newest === null) return 'S3_BUCKET is not set: files are stored in the database';
    throw new Error('files are in a bucket, but S3_BUCKET is not set: their readers get errors');
  }
  const asked = performance.now();
  try {
    const key = `doctor/${randomUUID()}`;
    const content = Buffer.from('doctor');
    await store.put(key, content.length, async function* () {
      yield content;
    });
    for await (const _ of store.read(key, { start: 0, end: content.length - 1 }));
    await store.delete(key);
    const isThere = newest === null || (await store.size(`${newest.organizationId}/${newest.id}`)) !== undefined;
    if (!isThere)
      throw new Error(`the object of attachment ${newest.attachmentId} does not exist: another bucket has it`);
    return `${store.place} can be written, checked in ${took(asked)}`;
  } catch (error) {
    throw new Error(`${store.place}: ${reasonOf(error)}`);
  }
}

/** Checks that the virus scanner replies. */
export async function checkScanner({ config: { scanner } }: Pick<App, 'config'>): Promise<string> {
  if (scanner === undefined) return 'CLAMD_URL is not set: uploads are not scanned for viruses';
  const asked = performance.now();
  try {
    await pingScanner(scanner);
    return `replied in ${took(asked)}`;
  } catch (error) {
    throw new Error(`uploads are refused: ${reasonOf(error)}`);
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof StoreRefusedError) return `the store refuses a request: ${error.reason}`;
  if (error instanceof StoreUnavailableError || error instanceof ScannerUnavailableError)
    return `no answer: ${error.cause instanceof Error ? error.cause.message : error.message}`;
  return error instanceof Error ? error.message : String(error);
};

/** Checks that the disk of the data directory has enough free space. */
export function checkDisk({ config: { dataDir } }: Pick<App, 'config'>): string {
  const { bavail, bsize } = statfsSync(dataDir);
  const free = `${((bavail * bsize) / 2 ** 30).toFixed(1)} GiB free`;
  if (bavail * bsize < LEAST_FREE_BYTES) throw new Error(`${free}: free some disk space`);
  return free;
}

/** Checks that EXTERNAL_HOST leads to a node of this deployment. */
export async function checkAddress({ config, keys }: App): Promise<string> {
  if (config.externalHost === undefined) return 'EXTERNAL_HOST is not set: only this machine can reach the service';
  const url = urlOf(config, '');
  const response = await fetch(`${url}/healthz`, {
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch(({ message, cause }: Error) => {
    throw new Error(
      `no reply from ${url}: ${cause instanceof Error && cause.message !== '' ? cause.message : message}`,
    );
  });
  await response.body?.cancel();
  const found = response.headers.get(DEPLOYMENT_HEADER);
  if (found === null || !deploymentsOf(keys).includes(found)) {
    throw new Error(`another server replies at ${url}, with status ${response.status}`);
  }
  return `${url} leads to this service`;
}

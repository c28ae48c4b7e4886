import { statfsSync } from 'node:fs';
import { Redis } from 'ioredis';
import type { App } from '../../access/context.ts';
import { urlOf } from '../../platform/hosts.ts';
import { openTransport } from '../../platform/mail/worker.ts';
import { DEPLOYMENT_HEADER, deploymentOf } from '../health.ts';

// What the service needs besides its database, for `doctor`: each says what it found, or throws what is wrong.

/** Our choice: what has not answered by then is as good as away. */
const PATIENCE_MS = 5_000;
/** Our choice: below, the embedded database and its log have no room for an hour of work. */
const LEAST_FREE_BYTES = 512 * 2 ** 20;

const took = (since: number) => `${(performance.now() - since).toFixed(1)} ms`;

/** Whether Redis answers, and how soon. */
export async function checkRedis({ config: { redisUrl } }: App): Promise<string> {
  if (redisUrl === undefined) return 'REDIS_URL is not set: there is none';
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
    await redis.connect();
    const asked = performance.now();
    await redis.ping();
    return `answers in ${took(asked)}`;
  } catch (error) {
    throw new Error(`does not answer: ${(reason ?? (error as Error)).message}`);
  } finally {
    redis.disconnect();
  }
}

/** Whether the mail server takes us: it is connected to, greeted and, where the address has a password, signed in to. */
export async function checkMail({ config: { smtpUrl } }: App): Promise<string> {
  if (smtpUrl === undefined) return 'SMTP_URL is not set: mail stays queued';
  const transport = openTransport(smtpUrl, PATIENCE_MS);
  const asked = performance.now();
  try {
    await transport.verify();
    return `takes mail, after ${took(asked)}`;
  } catch (error) {
    throw new Error(`does not take mail: ${(error as Error).message}`);
  } finally {
    transport.close();
  }
}

/** How much room is left for what is in the data directory. */
export function checkDisk({ config: { dataDir } }: App): string {
  const { bavail, bsize } = statfsSync(dataDir);
  const free = `${((bavail * bsize) / 2 ** 30).toFixed(1)} GiB free`;
  if (bavail * bsize < LEAST_FREE_BYTES) throw new Error(`${free}: make room`);
  return free;
}

/** Whether it is this service that people reach by the name it has. */
export async function checkAddress({ config, keys }: App): Promise<string> {
  if (config.externalHost === undefined) return 'EXTERNAL_HOST is not set: it answers to this machine alone';
  const url = urlOf(config, '');
  const response = await fetch(`${url}/healthz`, {
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch(({ message, cause }: Error) => {
    throw new Error(
      `${url} does not answer: ${cause instanceof Error && cause.message !== '' ? cause.message : message}`,
    );
  });
  await response.body?.cancel();
  if (response.headers.get(DEPLOYMENT_HEADER) !== deploymentOf(keys)) {
    throw new Error(`at ${url} something else answers, with status ${response.status}`);
  }
  return `${url} is this service`;
}

import { hkdfSync } from 'node:crypto';
import { resolve } from 'node:path';
import type { Config } from './config.ts';

/**
 * Returns the prefix of this installation's keys and channels in Redis, which several installations can share. All nodes of an
 * installation have the same SECRET_KEY, and so the same prefix. The prefix does not reveal the key.
 */
export function redisPrefix({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  // Without SECRET_KEY, the database is embedded: its only node is identified by the data directory.
  const own = hkdfSync('sha256', secretKey ?? resolve(dataDir), '', 'names on redis', 9);
  return `team-chat:${Buffer.from(own).toString('base64url')}:`;
}

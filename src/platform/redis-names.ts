import { hkdfSync } from 'node:crypto';
import { resolve } from 'node:path';
import type { Config } from './config.ts';

/**
 * Returns the prefix of this installation's keys and channels in Redis, which can be shared with others. All nodes of
 * an installation have the same SECRET_KEY, and so the same prefix. The prefix does not reveal the key.
 */
export function redisPrefix({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  // The embedded database has only one node.
  const own = hkdfSync('sha256', secretKey ?? resolve(dataDir), '', 'names on redis', 9);
  return `team-chat:${Buffer.from(own).toString('base64url')}:`;
}

import { hkdfSync } from 'node:crypto';
import { resolve } from 'node:path';
import type { Config } from './config.ts';

/**
 * What the names of this service on a Redis begin with, keys and channels alike: others may use the same one, another
 * installation of this service too. All nodes of one have the same, because they share SECRET_KEY; who reads it does not
 * learn that.
 */
export function redisPrefix({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  // The embedded database has one node.
  const own = hkdfSync('sha256', secretKey ?? resolve(dataDir), '', 'names on redis', 9);
  return `team-chat:${Buffer.from(own).toString('base64url')}:`;
}

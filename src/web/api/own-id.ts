import type { Cache } from '@urql/exchange-graphcache';

/** Returns the id of the signed-in user from the cache; empty if the user is not loaded. */
export function ownId(cache: Cache): string {
  const viewer = cache.resolve('Query', 'viewer');
  return typeof viewer === 'string' ? String(cache.resolve(viewer, 'id')) : '';
}

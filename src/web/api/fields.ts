import type { Cache } from '@urql/exchange-graphcache';

/** Returns the cache key of an entity. */
export const keyOf = (cache: Cache, __typename: string, id: string): string =>
  cache.keyOfEntity({ __typename, id }) ?? '';

/** Returns the id of the signed-in user from the cache; empty if the user is not loaded. */
export function ownId(cache: Cache): string {
  const viewer = cache.resolve('Query', 'viewer');
  return typeof viewer === 'string' ? String(cache.resolve(viewer, 'id')) : '';
}

/** Invalidates fields of an entity, for all arguments. Components that show them read them again. */
export function forget(cache: Cache, fields: readonly string[], entity = 'Query'): void {
  for (const { fieldName, arguments: args } of cache.inspectFields(entity)) {
    if (fields.includes(fieldName)) cache.invalidate(entity, fieldName, args);
  }
}

/** Removes a node from a list, for all arguments, and adds it at an end of the first page if `end` is given. */
export function place(cache: Cache, entity: string, field: string, node: string, end?: 'first' | 'last'): void {
  for (const { fieldName, fieldKey, arguments: args } of cache.inspectFields(entity)) {
    const list = fieldName === field ? cache.resolve(entity, fieldKey) : null;
    if (typeof list !== 'string') continue;
    const nodes = cache.resolve(list, 'nodes') as string[];
    // A link, even to the same nodes, would have components read the list from the cache again.
    if (end === 'first' && nodes[0] === node) continue;
    const others = nodes.filter((one) => one !== node);
    const isIn = end !== undefined && (args?.['after'] ?? null) === null;
    cache.link(list, 'nodes', isIn ? (end === 'first' ? [node, ...others] : [...others, node]) : others);
  }
}

import type { Cache } from '@urql/exchange-graphcache';
import { noteForgotten } from './reread.ts';

// If an event does not contain the new value of a field, the field is invalidated. Components that show it read it again.

/** Returns the cache key of an entity. */
export const keyOf = (cache: Cache, __typename: string, id: string): string =>
  cache.keyOfEntity({ __typename, id }) ?? '';

/** Invalidates a field of `Query` in the cache, for all arguments that it was read with. */
export function forget(cache: Cache, field: string): void {
  noteForgotten(field);
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName === field) cache.invalidate('Query', fieldName, args);
  }
}

/** Invalidates fields of one entity in the cache, for all arguments that they were read with. */
export function forgetOf(cache: Cache, type: string, id: string, fields: readonly string[]): void {
  const key = keyOf(cache, type, id);
  for (const field of fields) noteForgotten(field);
  for (const { fieldName, arguments: args } of cache.inspectFields(key)) {
    if (fields.includes(fieldName)) cache.invalidate(key, fieldName, args);
  }
}

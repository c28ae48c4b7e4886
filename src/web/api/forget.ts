import type { Cache } from '@urql/exchange-graphcache';
import { noteForgotten } from './reread.ts';

// Fields whose new value an event does not contain are invalidated. Components that show them read them again.

/** Returns the cache key of an entity. */
export const keyOf = (cache: Cache, __typename: string, id: string): string =>
  cache.keyOfEntity({ __typename, id }) ?? '';

/** Invalidates all lists of a root field, whatever their arguments. */
export function forget(cache: Cache, field: string): void {
  noteForgotten(field);
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName === field) cache.invalidate('Query', fieldName, args);
  }
}

/** Invalidates fields of one entity. */
export function forgetOf(cache: Cache, type: string, id: string, fields: readonly string[]): void {
  const key = keyOf(cache, type, id);
  for (const field of fields) noteForgotten(field);
  for (const { fieldName, arguments: args } of cache.inspectFields(key)) {
    if (fields.includes(fieldName)) cache.invalidate(key, fieldName, args);
  }
}

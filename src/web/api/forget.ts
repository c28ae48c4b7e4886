import type { Cache } from '@urql/exchange-graphcache';
import { noteForgotten } from './reread.ts';

// What an event says too little of is read again by whoever shows it.

/** Under which the cache has an entity. */
export const keyOf = (cache: Cache, __typename: string, id: string): string =>
  cache.keyOfEntity({ __typename, id }) ?? '';

/** Has every list of that name read again. */
export function forget(cache: Cache, field: string): void {
  noteForgotten(field);
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName === field) cache.invalidate('Query', fieldName, args);
  }
}

/** Has fields of one entity read again, by whoever shows them. */
export function forgetOf(cache: Cache, type: string, id: string, fields: readonly string[]): void {
  const key = keyOf(cache, type, id);
  for (const field of fields) noteForgotten(field);
  for (const { fieldName, arguments: args } of cache.inspectFields(key)) {
    if (fields.includes(fieldName)) cache.invalidate(key, fieldName, args);
  }
}

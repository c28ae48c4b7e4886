import { useRef } from 'react';

/**
 * Returns the last value that was present. While an outdated field is read again, the cache has no value for the object that
 * contains it. Components that show it must not be unmounted then, because they contain edits and the focus.
 */
export function useKept<T>(value: T | null | undefined): T | undefined {
  const kept = useRef<T>(undefined);
  if (value != null) kept.current = value;
  return kept.current;
}

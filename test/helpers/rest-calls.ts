import { ALL_CALLS, gather } from './calls/all.ts';
import type { RestCall } from './calls/feature.ts';
import type { Names } from './scene.ts';

export type { RestCall } from './calls/feature.ts';

/**
 * Calls of every endpoint, in an order in which the organization's owner can make them. Together they set every parameter. If
 * the names are those of nonexistent objects, each call must be refused or have no effect.
 */
export const REST_CALLS: Readonly<Record<string, (names: Names) => readonly RestCall[]>> = gather(
  ALL_CALLS.map(({ rest }) => rest),
);

/** Returns the path with its slots filled in. */
export function pathOf(path: string, { slots = {} }: RestCall): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(slots[name])));
}

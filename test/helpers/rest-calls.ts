import type { RestCall } from './feature.ts';
import { FEATURES, gather } from './features.ts';
import type { Names } from './scene.ts';

export type { RestCall } from './feature.ts';

/**
 * Calls of every endpoint, in an order in which the organization's owner can make them. Together they set every parameter. If
 * the names are those of nonexistent objects, each call must be refused or have no effect.
 */
export const REST_CALLS: Readonly<Record<string, (names: Names) => readonly RestCall[]>> = gather(
  FEATURES.map(({ rest }) => rest),
);

/** Returns a path with values in place of its slots, such as `{user_id}`. */
export function pathOf(path: string, { slots = {} }: RestCall): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(slots[name])));
}

import { ALL_CALLS, gather } from './calls/all.ts';
import type { RestCall } from './calls/feature.ts';
import type { Names } from './scene.ts';

export type { RestCall } from './calls/feature.ts';

/**
 * Calls of every endpoint that the organisation's owner may make one after the other: together they give each parameter.
 * With the names of things that are not there they are calls that have to be refused, or come to nothing.
 */
export const REST_CALLS: Readonly<Record<string, (names: Names) => readonly RestCall[]>> = gather(
  ALL_CALLS.map(({ rest }) => rest),
);

/** The path with its slots filled. */
export function pathOf(path: string, { slots = {} }: RestCall): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(slots[name])));
}

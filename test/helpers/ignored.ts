import { expect } from 'vitest';
import type { Method, Parameters, Person } from './person.ts';

/**
 * Returns the path and parameters of one successful call of an endpoint. Runs for each attempt, because a call may consume
 * objects that it needs.
 */
export type Call = () => Promise<{ readonly path: string; readonly parameters?: Parameters }>;

/**
 * Checks that an endpoint returns the names of exactly the parameters that it did not read: none, one, or several in order.
 *
 * @param slot Name of a path slot. A parameter with this name counts as unknown.
 */
export async function expectIgnoredParameters(
  person: Person,
  method: Method,
  call: Call,
  slot = 'unknown_too',
): Promise<void> {
  const ignored = async (extra: Parameters) => {
    const { path, parameters } = await call();
    return (await person.ok(method, path, { ...parameters, ...extra })).ignored_parameters_unsupported;
  };
  expect(await ignored({})).toBeUndefined();
  expect(await ignored({ client: 'test' })).toBeUndefined();
  expect(await ignored({ unknown: 1 })).toEqual(['unknown']);
  expect(await ignored({ zebra: 'z', 'apple[]': 'a', [slot]: 1 })).toEqual(['apple[]', slot, 'zebra'].sort());
}

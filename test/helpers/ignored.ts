import { expect } from 'vitest';
import type { Method, Parameters, Person } from './person.ts';

/** One call of an endpoint that succeeds, made anew each time: what it needs may be used up by a call. */
export type Call = () => Promise<{ readonly path: string; readonly parameters?: Parameters }>;

/**
 * Checks that an endpoint names the parameters it did not read, and no others: none, one, several in order, and the
 * name of the path's slot, which is no parameter.
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

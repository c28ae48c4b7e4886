import { send } from '../helpers/http.ts';
import { AS_SERVED, ServerProcess } from '../helpers/process.ts';
import { createOrganization } from '../helpers/server.ts';
import { NamedCounters, type Outcome } from './outcome.ts';
import { seeded } from './random.ts';

/**
 * Number of failed sign-ins for an email address after which the service refuses further attempts without checking the
 * password.
 */
const FAILURES = 5;
/** Largest accepted difference of two median durations, relative to the smaller one. */
const TOLERANCE = 0.05;

/**
 * Sends failing password sign-ins of several kinds in random order, one at a time. The durations must not reveal which email
 * addresses have an account, nor why a sign-in failed.
 *
 * Two kinds take equally long if their medians differ by at most the width of their interquartile range, or by 5 %. The width
 * is the mean of both ranges: the range of the combined times would grow with the difference itself.
 *
 * @param attempts Number of sign-ins of each kind.
 */
export async function signInTimingTrial({ attempts, seed }: { attempts: number; seed: number }): Promise<Outcome> {
  await using server = await ServerProcess.start({
    env: { ...AS_SERVED, DATABASE_URL: undefined, REDIS_URL: undefined },
  });
  const { owner, signUp } = await createOrganization({}, { on: server });
  const people = Math.ceil(attempts / FAILURES);
  const addresses: Record<string, string[]> = {
    'unknown address': Array.from({ length: people }, (_, i) => `nobody${i}@example.com`),
    'wrong password': [],
    'deactivated user': [],
    'no password': [],
  };
  for (let i = 0; i < people; i++) {
    const known = await signUp(`known ${i}`, 'member', 'the right password');
    const gone = await signUp(`gone ${i}`, 'member', 'the right password');
    const without = await signUp(`without ${i}`);
    await owner.ok('DELETE', `/users/${gone.id}`);
    addresses['wrong password']?.push(known.email);
    addresses['deactivated user']?.push(gone.email);
    addresses['no password']?.push(without.email);
  }
  const random = seeded(seed);
  const todo = Object.entries(addresses)
    .flatMap(([kind, all]) =>
      Array.from({ length: attempts }, (_, i) => ({ kind, username: all[i % people] ?? '', at: random() })),
    )
    .sort((a, b) => a.at - b.at);
  const answers = new NamedCounters();
  const times = new Map<string, number[]>(Object.keys(addresses).map((kind) => [kind, []]));
  const ask = async (username: string): Promise<number> => {
    const startedAt = performance.now();
    const { status, text } = await send(server.url, {
      method: 'POST',
      path: '/api/v1/fetch_api_key',
      headers: { host: owner.host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ username, password: 'another password' }).toString(),
    });
    const took = performance.now() - startedAt;
    answers.add(`${status} ${text}`);
    return took;
  };
  // The first sign-ins of a process are slower than later ones, whatever their kind.
  for (let i = 0; i < 4; i++) await ask(`warm${i}@example.com`);
  for (const { kind, username } of todo) times.get(kind)?.push(await ask(username));
  const spreads = new Map([...times].map(([kind, all]) => [kind, spreadOf(all)]));
  const violations = answers.lines.length === 1 ? [] : [`failing sign-ins get different answers: ${answers}`];
  return {
    trial: `${attempts} failing sign-ins of each of ${spreads.size} kinds`,
    facts: Object.fromEntries([...spreads].map(([kind, spread]) => [kind, told(spread)])),
    violations: [...violations, ...differencesOf(spreads)],
  };
}

/** Quartiles of durations, in milliseconds. */
interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** Returns the median of some times, and their lower (`low`) and upper (`high`) quartile. */
export function spreadOf(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}

const told = ({ low, median, high }: Spread): string =>
  `median ${median.toFixed(1)} ms, middle half ${low.toFixed(1)} to ${high.toFixed(1)} ms`;

/** Returns one sentence for each pair of kinds of sign-ins whose durations differ measurably. */
export function differencesOf(spreads: ReadonlyMap<string, Spread>): string[] {
  const all = [...spreads];
  return all.flatMap(([kind, one], i) =>
    all.slice(i + 1).flatMap(([other, two]) => {
      const width = (one.high - one.low + two.high - two.low) / 2;
      const allowed = Math.max(width, TOLERANCE * Math.min(one.median, two.median));
      const apart = Math.abs(one.median - two.median);
      if (apart <= allowed) return [];
      return [`${kind} and ${other} are ${apart.toFixed(1)} ms apart, of ${allowed.toFixed(1)} that may be`];
    }),
  );
}

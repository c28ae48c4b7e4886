// npm run test:faults [-- --seed=1 --only=kill,cut --small --minutes=5 --hostile-minutes=1]: causes faults of many kinds, and
// checks the guarantees of the service during these faults.
import { parseArgs } from 'node:util';
import { clocksTrial, cutOffTrial, redisTrial } from './apart.ts';
import { backupTrial } from './backup.ts';
import { cellsTrial } from './cells.ts';
import { eightWritersTrial, heartbeatTrial } from './commits.ts';
import { copyTrial } from './copy.ts';
import { crowdTrial } from './crowd.ts';
import { cutTrial } from './cuts.ts';
import { dueTrial } from './due.ts';
import { failoverTrial } from './failover.ts';
import { tableOf } from './felt.ts';
import { fullTrial } from './full.ts';
import { hostileTrial } from './hostile.ts';
import { killTrial } from './kills.ts';
import { lossTrial } from './losses.ts';
import { markdownTrial } from './markdown.ts';
import { narrowTrial } from './narrow.ts';
import type { Outcome } from './outcome.ts';
import { registrationsTrial } from './registrations.ts';
import { restoreTrial } from './restore.ts';
import { scheduledTrial } from './scheduled.ts';
import { searchTrial } from './search.ts';
import { signInTimingTrial } from './sign-in.ts';
import { soakTrial } from './soak.ts';
import { stallTrial } from './stalls.ts';
import { steadyTrial } from './steady.ts';
import { heldCounterTrial, pausedNodeTrial } from './stuck.ts';
import { uploadTrial } from './uploads.ts';
import { windowsTrial } from './windows.ts';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    small: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '30' },
    'hostile-minutes': { type: 'string', default: '10' },
  },
});
const seed = Number(options.seed);
const databaseServer = process.env['DATABASE_URL_FOR_TESTS'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
/** Returns a tenth of a number if --small is set, which only checks that the trials themselves work. */
const much = (count: number) => (options.small ? Math.ceil(count / 10) : count);

/** Whether durations are checked against their limits. With --small, trials are too short for a conclusive result. */
const isTimed = !options.small;

const TRIALS: Readonly<Record<string, () => Promise<Outcome>>> = {
  'kill-embedded': () => killTrial({ databaseServer: undefined, kills: much(20), seed }),
  'kill-postgresql': () => killTrial({ databaseServer, kills: much(20), seed, isTimed }),
  'uploads-embedded': () => uploadTrial({ databaseServer: undefined, users: much(10), files: 2, seed }),
  'uploads-postgresql': () => uploadTrial({ databaseServer, users: much(10), files: 2, seed }),
  writers: () => eightWritersTrial({ databaseServer, events: much(20_000), seed }),
  heartbeats: () => heartbeatTrial({ databaseServer, events: much(1_500), nodes: 3, seed }),
  cuts: () => cutTrial({ databaseServer: undefined, positions: much(500), seed }),
  'full-embedded': () => fullTrial({ on: 'embedded', fills: much(5), seed }),
  'full-postgresql': () => fullTrial({ on: 'postgresql', fills: much(5), seed }),
  backup: () => backupTrial({ backups: options.small ? 2 : 10, seed }),
  cells: () => cellsTrial({ messages: much(100_000), seed, isTimed }),
  copy: () => copyTrial({ databaseServer, messages: much(200_000), seed }),
  losses: () => lossTrial({ databaseServer, losses: much(20), seed }),
  failover: () => failoverTrial({ failovers: options.small ? 2 : 6, seed }),
  stalls: () => stallTrial({ databaseServer, isTimed }),
  'scheduled-embedded': () =>
    scheduledTrial({ databaseServer: undefined, messages: much(2_000), kills: much(20), seed }),
  'scheduled-postgresql': () => scheduledTrial({ databaseServer, messages: much(2_000), kills: much(20), seed }),
  steady: () => steadyTrial({ databaseServer, perSecond: 220, seconds: much(60) }),
  paused: () => pausedNodeTrial({ databaseServer, seconds: 10, isTimed: true }),
  held: () => heldCounterTrial({ databaseServer, seconds: 15, isTimed: true }),
  registrations: () =>
    registrationsTrial({ databaseServer, users: much(10_000), rounds: options.small ? 2 : 6, isTimed }),
  crowd: () => crowdTrial({ databaseServer, sockets: much(10_000), isTimed }),
  due: () => dueTrial({ databaseServer, messages: much(10_000), isTimed }),
  windows: () =>
    windowsTrial({
      databaseServer,
      organizations: much(60),
      // With --small, the heap is smaller, so that fewer events fill it.
      heapMegabytes: options.small ? 384 : 1_024,
      seed,
      isTimed,
    }),
  search: () => searchTrial({ databaseServer, seconds: much(40), size: much(300_000), isTimed }),
  narrow: () => narrowTrial({ databaseServer, seconds: 10, backlog: much(300_000), isTimed }),
  'cut-off': () => cutOffTrial({ databaseServer, seconds: 15, isTimed }),
  redis: () => redisTrial({ databaseServer, seconds: 10, isTimed }),
  clocks: () => clocksTrial({ databaseServer, seconds: 10, isTimed }),
  soak: () => soakTrial({ databaseServer, minutes: much(Number(options.minutes)), seed, isTimed }),
  hostile: () =>
    hostileTrial({
      databaseServer,
      minutes: Number(options['hostile-minutes']) / (options.small ? 10 : 1),
      seed,
      isTimed,
    }),
  restore: () => restoreTrial({ seed }),
  'sign-in-timing': () => signInTimingTrial({ attempts: much(75), seed }),
  markdown: () => markdownTrial({ texts: much(20_000), seed }),
};

function print({ trial, facts, violations }: Outcome, seconds: number): void {
  console.log(`${violations.length === 0 ? 'kept ' : 'BROKEN'}  ${trial}  (${Math.round(seconds)} s)`);
  for (const [name, value] of Object.entries(facts)) console.log(`        ${name}: ${value}`);
  for (const violation of violations.slice(0, 20)) console.log(`     !  ${violation}`);
  if (violations.length > 20) console.log(`     !  … ${violations.length} in total`);
}

async function main(): Promise<void> {
  console.log(`seed ${seed} (--seed=${seed} repeats this run)\n`);
  const wanted = options.only?.split(',');
  const outcomes: Outcome[] = [];
  for (const [name, run] of Object.entries(TRIALS)) {
    if (wanted !== undefined && !wanted.some((part) => name.startsWith(part))) continue;
    const startedAt = performance.now();
    // A trial that cannot run counts as failed.
    const outcome = await run().catch(
      (error: unknown): Outcome => ({ trial: name, facts: {}, violations: [String(error)] }),
    );
    print(outcome, (performance.now() - startedAt) / 1000);
    outcomes.push(outcome);
  }
  console.log('\ntrial                                         violations');
  for (const { trial, violations } of outcomes) console.log(`${trial.padEnd(45)} ${violations.length || 'none'}`);
  const felt = outcomes.flatMap((outcome) => outcome.felt ?? []);
  if (felt.length > 0) console.log(`\n${tableOf(felt)}`);
  process.exit(outcomes.some(({ violations }) => violations.length > 0) ? 1 : 0);
}

await main();

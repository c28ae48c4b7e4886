// npm run test:fuzz [-- --seed=1 --only=rest,sockets --inputs=20000 --seconds=30]: sends hostile input to the service and
// checks its answers.
import { parseArgs } from 'node:util';
import type { Outcome } from '../faults/outcome.ts';
import { type Kind, runCampaign } from './campaign.ts';
import { graphqlKind } from './graphql.ts';
import { guestTrial } from './guest.ts';
import { restKind } from './rest.ts';
import { slowTrial } from './slow.ts';
import { socketKind } from './sockets.ts';
import { openStage } from './stage.ts';
import { uploadKind } from './uploads.ts';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    inputs: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '30' },
  },
});
const seed = Number(options.seed);
const inputs = Number(options.inputs);
/** URL of the PostgreSQL server for tests, if configured. Undefined: the embedded database. */
const databaseServer = process.env['DATABASE_URL_FOR_TESTS'] || undefined;

const campaign = (make: (url: string) => Kind | Promise<Kind>) => async (): Promise<Outcome> => {
  await using stage = await openStage({ databaseServer });
  const kind = await make(stage.url);
  return await runCampaign({ kind, target: stage, inputs, seed, progress: (sent) => tell(`${kind.name}: ${sent}`) });
};

const TRIALS: Readonly<Record<string, () => Promise<Outcome>>> = {
  rest: campaign(restKind),
  graphql: campaign(graphqlKind),
  sockets: campaign(socketKind),
  uploads: campaign(uploadKind),
  slow: () => slowTrial({ databaseServer }),
  guest: () => guestTrial({ seconds: Number(options.seconds) }),
};

/** Prints a progress line that replaces the previous one, on terminals only. */
function tell(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${line}\x1b[K`);
}

function print({ trial, facts, violations }: Outcome, seconds: number): void {
  tell('');
  console.log(`${violations.length === 0 ? 'kept ' : 'BROKEN'}  ${trial}  (${Math.round(seconds)} s)`);
  for (const [name, value] of Object.entries(facts)) console.log(`        ${name}: ${value}`);
  for (const violation of violations.slice(0, 40)) console.log(`     !  ${violation}`);
  if (violations.length > 40) console.log(`     !  … ${violations.length} in all`);
}

async function main(): Promise<void> {
  console.log(`seed ${seed} (--seed=${seed} sends the same again), ${databaseServer ?? 'embedded database'}\n`);
  const wanted = options.only?.split(',');
  const outcomes: Outcome[] = [];
  for (const [name, run] of Object.entries(TRIALS)) {
    if (wanted !== undefined && !wanted.some((part) => name.startsWith(part))) continue;
    const startedAt = performance.now();
    // A trial that cannot run counts as failed.
    const outcome = await run().catch((error: unknown) => ({
      ...{ trial: name, facts: {} },
      violations: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
    }));
    print(outcome, (performance.now() - startedAt) / 1000);
    outcomes.push(outcome);
  }
  console.log('\ntrial                                         violations');
  for (const { trial, violations } of outcomes) console.log(`${trial.padEnd(45)} ${violations.length || 'none'}`);
  const failed = outcomes.filter(({ violations }) => violations.length > 0).length;
  console.log(`\n${outcomes.length - failed} passed, ${failed} failed`);
  process.exit(failed > 0 || outcomes.length === 0 ? 1 : 0);
}

await main();

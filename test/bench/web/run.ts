// npm run bench:web [-- --quick] [--only=writing,reading] [--minutes=3] [--asleep=60]: measures the chat in a browser and
// compares the results with the highest accepted values.
import { parseArgs } from 'node:util';
import { printFigures } from './figures.ts';
import { measureLong } from './long.ts';
import { measureReading } from './reading.ts';
import { setWebStage, type WebStage } from './stage.ts';
import { measureFirstStart, measureStart } from './start.ts';
import { measureWriting } from './writing.ts';

const { values: options } = parseArgs({
  options: {
    /** Whether to use a tenth of the data, to check that the benchmark itself works. */
    quick: { type: 'boolean', default: false },
    /** Names of the parts to run, separated by commas. Default: all. The names are below. */
    only: { type: 'string' },
    /** Number of times that each part is measured. */
    rounds: { type: 'string', default: '1' },
    /** Duration of the traffic during which memory is measured, in minutes. */
    minutes: { type: 'string', default: '3' },
    /** Time for which the browser is suspended, in seconds. */
    asleep: { type: 'string', default: '60' },
  },
});

/** Parts of the benchmark that use a large organization, in the order in which they run. */
const LARGE = {
  start: (stage: WebStage) => measureStart(stage, { isMarked: false }),
  writing: measureWriting,
  reading: measureReading,
  long: (stage: WebStage) =>
    measureLong(stage, { minutes: Number(options.minutes), asleepSeconds: Number(options.asleep) }),
};
const PARTS = ['first', 'small', ...Object.keys(LARGE)];
const chosen = options.only?.split(',') ?? PARTS;
const unknown = chosen.filter((part) => !PARTS.includes(part));
if (unknown.length > 0) throw new Error(`--only accepts ${PARTS.join(', ')}, not ${unknown.join(', ')}`);

async function print(measure: () => Promise<Parameters<typeof printFigures>[0]>): Promise<void> {
  for (let round = 0; round < Number(options.rounds); round++) printFigures(await measure());
}

if (chosen.includes('first')) await print(async () => [await measureFirstStart()]);
if (chosen.includes('small')) {
  await using stage = await setWebStage({ channels: 20, messages: 500 });
  await print(() => measureStart(stage, { isMarked: true }));
}
const large = Object.entries(LARGE).filter(([part]) => chosen.includes(part));
if (large.length > 0) {
  const size = options.quick ? { channels: 100, messages: 1000 } : { channels: 1000, messages: 10_000 };
  console.log(`Creating ${size.channels} channels and ${size.messages} messages`);
  await using stage = await setWebStage(size);
  for (const [, measure] of large) await print(() => measure(stage));
}

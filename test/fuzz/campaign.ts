import { type Outcome, Tally } from '../faults/outcome.ts';
import { Dice, poolsOf } from './dice.ts';
import type { MemoryReading } from './probe.ts';
import { type Cast, endedAmong, makeCast, type Stage, type Target } from './stage.ts';

/** What came of one input. */
export interface Verdict {
  /** What was answered, for the count: "200", "400 BAD_REQUEST". */
  readonly label: string;
  /** Whether the service did what it was asked. */
  readonly isSuccess: boolean;
  /** From sending to the end of the answer; undefined where nothing was to be answered. */
  readonly milliseconds?: number | undefined;
  /** What must not be. */
  readonly faults: readonly string[];
}

/** One input, ready to be sent. */
export interface Input {
  /** For the report: what it is, shortened. */
  readonly what: string;
  send(): Promise<Verdict>;
}

/** Makes inputs for one organisation. */
export interface Battery {
  /** @param lane Which of those that send at the same time. */
  next(dice: Dice, lane: number): Input;
  /** Ends what the inputs left open, so that what memory is held after it is kept for nothing. */
  close(): Promise<void>;
}

export interface Kind {
  readonly name: string;
  /** How many are sent at the same time. */
  readonly lanes: number;
  /** How many inputs one organisation takes: its things are used up by them. */
  readonly batch: number;
  open(cast: Cast): Battery | Promise<Battery>;
}

interface Run {
  readonly kind: Kind;
  readonly target: Target & Partial<Pick<Stage, 'memory' | 'faults' | 'waited'>>;
  readonly inputs: number;
  readonly seed: number;
  /** Called after each batch, with how many inputs there were so far. */
  readonly progress?: (inputs: number) => void;
}

/** The longest an answer may take. */
export const MAX_ANSWER_MS = 2_000;
/** Fewer successes than this, and what lies behind the checks was not reached. */
const MIN_SUCCESS = 0.2;
/** Our choice: of fewer inputs a share says little. */
const MEANINGFUL = 500;
/** Our choice: enough to tell growth from the unevenness of what is cached. */
const MIN_READINGS = 8;
const MIB = 1024 * 1024;

/**
 * Sends `inputs` inputs of one kind, each from a seed of its own, and watches the server: its answers, its log, its
 * memory, and whether those in whose names they were sent can still sign in.
 */
export async function runCampaign({ kind, target, inputs, seed, progress = () => {} }: Run): Promise<Outcome> {
  const pools = poolsOf(seed);
  const labels = new Tally();
  const violations = new Tally();
  const readings: MemoryReading[] = [];
  let [sent, successes, slowest, slowestWhat, longestWait, signIns] = [0, 0, 0, '', 0, 0];
  const startedAt = performance.now();
  while (sent < inputs) {
    const cast = await makeCast(target);
    const battery = await kind.open(cast);
    const end = Math.min(inputs, sent + kind.batch);
    const sendInTurn = async (number: number): Promise<void> => {
      while (sent < end) {
        const index = sent++;
        const input = battery.next(new Dice(seed * 1_000_003 + index, pools), number);
        const waitedBefore = target.waited?.() ?? 0;
        const { label, isSuccess, milliseconds: elapsed = 0, faults } = await input.send();
        // Time in which others had the processors is no time the service took.
        const waited = Math.min(elapsed, (target.waited?.() ?? 0) - waitedBefore);
        const milliseconds = elapsed - waited;
        longestWait = Math.max(longestWait, waited);
        labels.add(label);
        if (isSuccess) successes++;
        if (milliseconds > slowest) [slowest, slowestWhat] = [milliseconds, input.what];
        const late =
          target.waited !== undefined && milliseconds > MAX_ANSWER_MS
            ? [`answered after ${(milliseconds / 1000).toFixed(1)} s`]
            : [];
        for (const fault of [...faults, ...late]) violations.add(`${fault}: ${input.what}`);
      }
    };
    await Promise.all(Array.from({ length: kind.lanes }, (_, i) => sendInTurn(i)));
    await battery.close();
    for (const ended of await endedAmong(cast)) violations.add(`the fuzzer ended an account it sends from: ${ended}`);
    signIns += cast.actors.length;
    if (target.memory !== undefined) readings.push(await target.memory());
    progress(sent);
  }
  for (const fault of target.faults?.() ?? []) violations.add(`the server logged a fault of its own: ${fault}`);
  for (const name of readings.at(-1)?.polluted ?? []) violations.add(`the prototype of all objects got ${name}`);
  for (const growth of growthIn(readings)) violations.add(growth);
  const share = successes / sent;
  if (share < MIN_SUCCESS && sent >= MEANINGFUL)
    violations.add(`only ${percent(share)} came to something: nothing deep was reached`);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    trial: kind.name,
    facts: {
      inputs: `${sent} in ${Math.round(seconds)} s (${Math.round(sent / seconds)} a second)`,
      successes: `${successes} (${percent(share)})`,
      answers: labels.toString(),
      slowest: `${Math.round(slowest)} ms: ${slowestWhat}`,
      'longest wait for a processor, not counted': `${Math.round(longestWait)} ms`,
      'sign-ins that worked after the batches': signIns,
      ...memoryFacts(readings),
    },
    violations: violations.lines,
  };
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;

/** What each may gain over the second half: what moves by itself from one collection to the next. */
const ALLOWANCES = { heap: 12 * MIB, external: 48 * MIB, rss: 96 * MIB } as const;

type Measure = keyof typeof ALLOWANCES;
const MEASURES = Object.keys(ALLOWANCES) as Measure[];

function memoryFacts(readings: readonly MemoryReading[]): Record<string, string> {
  const [middle, last] = [readings[Math.floor(readings.length / 2)], readings.at(-1)];
  if (middle === undefined || last === undefined || readings.length < 2) return {};
  const told = MEASURES.map((measure) => `${measure} ${mib(middle[measure])} → ${mib(last[measure])}`);
  const trends = MEASURES.map((measure) => `${measure} ${mib(gainOf(readings, measure))}`);
  return { 'memory at half → at the end': told.join(', '), 'growth over the second half': trends.join(', ') };
}

function growthIn(readings: readonly MemoryReading[]): string[] {
  if (readings.length < MIN_READINGS) return [];
  return MEASURES.flatMap((measure) => {
    const gain = gainOf(readings, measure);
    return gain <= ALLOWANCES[measure] ? [] : [`memory grew over the second half: ${measure} by ${mib(gain)}`];
  });
}

/** Of the second half's trend, which one reading that is out of line does not turn: the median slope of all pairs. */
function gainOf(readings: readonly MemoryReading[], measure: Measure): number {
  const half = readings.slice(Math.floor(readings.length / 2)).map((reading) => reading[measure]);
  const slopes = half
    .flatMap((from, i) => half.slice(i + 1).map((to, j) => (to - from) / (j + 1)))
    .sort((a, b) => a - b);
  return (slopes[Math.floor(slopes.length / 2)] ?? 0) * (half.length - 1);
}

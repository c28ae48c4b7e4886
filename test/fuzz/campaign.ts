import { NamedCounters, type Outcome } from '../faults/outcome.ts';
import { Dice, poolsOf } from './dice.ts';
import type { MemoryReading } from './probe.ts';
import { type Cast, endedAmong, makeCast, type Stage, type Target } from './stage.ts';

/** Result of sending one input to the service. */
export interface Verdict {
  /** Status and error code of the answer: "200", "400 BAD_REQUEST". Inputs are counted by this label. */
  readonly label: string;
  /** Whether the service executed the request successfully. */
  readonly isSuccess: boolean;
  /** Time from sending to the end of the answer, in milliseconds. Undefined if no answer was expected. */
  readonly milliseconds?: number | undefined;
  /** Violations, one sentence each. */
  readonly faults: readonly string[];
}

/** One input, ready to be sent. */
export interface Input {
  /** Short description of the input for the report. */
  readonly what: string;
  send(): Promise<Verdict>;
}

/** A source of inputs for one organization. */
export interface Battery {
  /** Returns the next input. @param lane Index of the sender among the concurrent senders. */
  next(dice: Dice, lane: number): Input;
  /** Closes the connections and queues that inputs left open. Memory that the server still uses afterwards counts as a leak. */
  close(): Promise<void>;
}

export interface Kind {
  readonly name: string;
  /** Number of senders that send inputs concurrently. */
  readonly lanes: number;
  /**
   * Number of inputs sent to one organization. After that, a new organization is created, because inputs use up its objects.
   */
  readonly batch: number;
  open(cast: Cast): Battery | Promise<Battery>;
}

interface Run {
  readonly kind: Kind;
  readonly target: Target & Partial<Pick<Stage, 'memory' | 'faults' | 'waiting'>>;
  readonly inputs: number;
  readonly seed: number;
  /** Called after each batch with the number of inputs sent so far. */
  readonly progress?: (inputs: number) => void;
}

/** Longest accepted duration of an answer to an input, in milliseconds. */
export const MAX_ANSWER_MS = 2_000;
/**
 * Lowest accepted share of inputs that succeed. With a lower share, most inputs fail in the validation and test nothing else.
 */
const MIN_SUCCESS = 0.2;
/** Smallest number of inputs for which the share of successes is checked. With fewer inputs, the share is not conclusive. */
const MEANINGFUL = 500;
/**
 * Smallest number of memory readings for which growth of memory is checked. With fewer readings, code that is loaded or compiled
 * at its first use looks like growth.
 */
const MIN_READINGS = 8;
const MIB = 1024 * 1024;

/**
 * Sends `inputs` inputs of one kind, each made from its own seed. Checks the server's answers, its log and its memory, and that
 * the sending accounts can still authenticate.
 */
export async function runCampaign({ kind, target, inputs, seed, progress = () => {} }: Run): Promise<Outcome> {
  const pools = poolsOf(seed);
  const labels = new NamedCounters();
  const violations = new NamedCounters();
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
        const waitedSince = target.waiting?.();
        const { label, isSuccess, milliseconds: elapsed = 0, faults } = await input.send();
        // Subtracts the time in which the processes waited for a processor, because the service did not use that time.
        const waited = Math.min(elapsed, waitedSince?.() ?? 0);
        const milliseconds = elapsed - waited;
        longestWait = Math.max(longestWait, waited);
        labels.add(label);
        if (isSuccess) successes++;
        if (milliseconds > slowest) [slowest, slowestWhat] = [milliseconds, input.what];
        const late =
          waitedSince !== undefined && milliseconds > MAX_ANSWER_MS
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
      ...memoryFigures(readings),
    },
    violations: violations.lines,
  };
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;

/**
 * Accepted growth of memory over the second half of a run, in bytes. Memory in use varies this much between garbage
 * collections. `heap` is without bounded caches, which the probe empties before each reading.
 */
const ALLOWANCES = { heap: 12 * MIB, external: 48 * MIB, rss: 96 * MIB } as const;

type Measure = keyof typeof ALLOWANCES;
const MEASURES = Object.keys(ALLOWANCES) as Measure[];

function memoryFigures(readings: readonly MemoryReading[]): Record<string, string> {
  const [middle, last] = [readings[Math.floor(readings.length / 2)], readings.at(-1)];
  if (middle === undefined || last === undefined || readings.length < 2) return {};
  const told = MEASURES.map((measure) => `${measure} ${mib(middle[measure])} → ${mib(last[measure])}`);
  const trends = MEASURES.map((measure) => `${measure} ${mib(gainOf(readings, measure))}`);
  return {
    'memory at half → at the end': told.join(', '),
    'growth over the second half': trends.join(', '),
    'heap of bounded caches, emptied before each reading': `${mib(middle.cached)} → ${mib(last.cached)}`,
  };
}

function growthIn(readings: readonly MemoryReading[]): string[] {
  if (readings.length < MIN_READINGS) return [];
  return MEASURES.flatMap((measure) => {
    const gain = gainOf(readings, measure);
    return gain <= ALLOWANCES[measure] ? [] : [`memory grew over the second half: ${measure} by ${mib(gain)}`];
  });
}

/**
 * Returns how much a memory measure has grown over the second half of the readings, in bytes. It uses the median slope of all
 * pairs (Theil-Sen), so that outliers have little effect.
 */
function gainOf(readings: readonly MemoryReading[], measure: Measure): number {
  const half = readings.slice(Math.floor(readings.length / 2)).map((reading) => reading[measure]);
  const slopes = half
    .flatMap((from, i) => half.slice(i + 1).map((to, j) => (to - from) / (j + 1)))
    .sort((a, b) => a - b);
  return (slopes[Math.floor(slopes.length / 2)] ?? 0) * (half.length - 1);
}

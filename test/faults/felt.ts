import type { Listener } from './listeners.ts';
import type { Writer } from './load.ts';

/** Number of violations of each guarantee about changes. */
export interface Broken {
  /** Number of changes that were acknowledged but are missing, or that a recipient did not receive. */
  readonly lost: number;
  /** Number of changes that took effect more than once. */
  readonly repeated: number;
  readonly outOfOrder: number;
  /** Number of changes that were refused but took effect. */
  readonly refusedButDone: number;
}

/** Durations, in milliseconds, that clients of organizations measured which a fault should not affect. */
export interface Fared {
  /** 95th percentile of the duration of sends without the fault, under the same load on the machine as during the fault. */
  readonly before: number;
  /** 95th percentile of the duration of sends during the fault. */
  readonly meanwhile: number;
  /** Longest time without an acknowledged send. */
  readonly gap: number;
}

/** Effects of one fault: a row of the table that the trials print at the end. */
export interface Felt extends Broken {
  readonly fault: string;
  /**
   * Longest time, in milliseconds, in which the affected organization could not make a change. If this was not measured: a text
   * with the reason.
   */
  readonly gap: number | string;
  /**
   * Measurements of organizations that the fault does not affect. If the fault affects all organizations: the reason, and the
   * longest time without a change if known.
   */
  readonly neighbours: Fared | { readonly gap?: number; readonly why: string };
}

/** Adds up the numbers of violations of several users or kinds of changes. */
export const addUp = (parts: readonly Broken[]): Broken => ({
  lost: parts.reduce((sum, { lost }) => sum + lost, 0),
  repeated: parts.reduce((sum, { repeated }) => sum + repeated, 0),
  outOfOrder: parts.reduce((sum, { outOfOrder }) => sum + outOfOrder, 0),
  refusedButDone: parts.reduce((sum, { refusedButDone }) => sum + refusedButDone, 0),
});

/** Returns the total number of events that reached a listener after a later event. */
export const disorderedEventsOf = (listeners: readonly Pick<Listener, 'received'>[]): number =>
  listeners.reduce((sum, { received }) => sum + received.disordered, 0);

/**
 * Returns the longest interval between successive times after `since`, in milliseconds. The first interval starts at `since`.
 */
export function longestBetween(moments: readonly number[], since: number): number {
  const later = moments.filter((at) => at > since).sort((a, b) => a - b);
  return later.reduce((longest, at, i) => Math.max(longest, at - (later[i - 1] ?? since)), 0);
}

/**
 * Returns the longest time in which no writer received an acknowledgement. Counts from `since`, which is a time of
 * `performance.now()`.
 */
export const gapOf = (
  { writers }: { readonly writers: readonly Pick<Writer, 'acknowledgedAt'>[] },
  since: number,
): number =>
  longestBetween(
    writers.flatMap(({ acknowledgedAt }) => acknowledgedAt),
    since,
  );

const HEAD = [
  'fault',
  'lost',
  'repeated',
  'out of order',
  'refused but done',
  'longest gap',
  "neighbours'",
  "neighbours' p95",
];

const seconds = (ms: number) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

function cellsOf({ fault, lost, repeated, outOfOrder, refusedButDone, gap, neighbours }: Felt): string[] {
  return [
    fault,
    ...[lost, repeated, outOfOrder, refusedButDone].map(String),
    typeof gap === 'string' ? gap : seconds(gap),
    neighbours.gap === undefined ? '–' : seconds(neighbours.gap),
    'why' in neighbours
      ? neighbours.why
      : `${seconds(neighbours.before)} before, ${seconds(neighbours.meanwhile)} meanwhile`,
  ];
}

/** Returns the table of all faults in Markdown. */
export function tableOf(felt: readonly Felt[]): string {
  const rows = [HEAD, HEAD.map(() => '---'), ...felt.map(cellsOf)];
  const widths = HEAD.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`).join('\n');
}

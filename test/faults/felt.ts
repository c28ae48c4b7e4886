import type { Listener } from './listeners.ts';
import type { Writer } from './load.ts';

/** Number of violations of each guarantee about changes. */
export interface Broken {
  /** Changes that were acknowledged but are missing, or that a recipient did not receive. */
  readonly lost: number;
  /** Changes that are present more than once. */
  readonly repeated: number;
  readonly outOfOrder: number;
  /** Changes that were refused but are present. */
  readonly refusedButDone: number;
}

/** Measurements of organizations that a fault should not affect, in milliseconds. */
export interface Fared {
  /**
   * 95th percentile of the duration of sends without the fault, while everything else on the machine runs as it does during the
   * fault.
   */
  readonly before: number;
  /** 95th percentile of the duration of sends during the fault. */
  readonly meanwhile: number;
  /** Longest time without an acknowledged send. */
  readonly gap: number;
}

/** Effects of a fault: one row of the table that is printed at the end. */
export interface Felt extends Broken {
  readonly fault: string;
  /**
   * Longest time in which the affected organization could not make a change, in milliseconds, or a text that says why there is
   * no such time.
   */
  readonly gap: number | string;
  /**
   * Measurements of other organizations. If the fault affects all organizations: the reason, and the longest time without a
   * change if known.
   */
  readonly neighbours: Fared | { readonly gap?: number; readonly why: string };
}

/** Adds up the violations of several users or kinds. */
export const addUp = (parts: readonly Broken[]): Broken => ({
  lost: parts.reduce((sum, { lost }) => sum + lost, 0),
  repeated: parts.reduce((sum, { repeated }) => sum + repeated, 0),
  outOfOrder: parts.reduce((sum, { outOfOrder }) => sum + outOfOrder, 0),
  refusedButDone: parts.reduce((sum, { refusedButDone }) => sum + refusedButDone, 0),
});

/** Returns how many events reached a listener after a later event, in total. */
export const disorderedEventsOf = (listeners: readonly Pick<Listener, 'received'>[]): number =>
  listeners.reduce((sum, { received }) => sum + received.disordered, 0);

/**
 * Returns the longest interval between successive times after `since`, in milliseconds. `since` is the beginning of the first
 * interval.
 */
export function longestBetween(moments: readonly number[], since: number): number {
  const later = moments.filter((at) => at > since).sort((a, b) => a - b);
  return later.reduce((longest, at, i) => Math.max(longest, at - (later[i - 1] ?? since)), 0);
}

/** Returns the longest time without an acknowledged change of any writer, from `since` (by `performance.now()`). */
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

import type { Listener } from './listeners.ts';
import type { Writer } from './load.ts';

/** Which promises about changes were kept: how often each was not. */
export interface Broken {
  /** Acknowledged, and not there; or never heard by somebody who was to hear it. */
  readonly lost: number;
  /** There more than once. */
  readonly repeated: number;
  readonly outOfOrder: number;
  /** Refused as if nothing was changed, and there. */
  readonly refusedButDone: number;
}

/** How other organisations fared, in milliseconds. */
export interface Fared {
  /** How long 95 of 100 sends took at the most, without the fault, beside as much other work on the machine. */
  readonly before: number;
  /** As before, as long as the fault lasted. */
  readonly meanwhile: number;
  /** The longest time in which none of their sends was acknowledged. */
  readonly gap: number;
}

/** How a fault was felt: a line of the table at the end. */
export interface Felt extends Broken {
  readonly fault: string;
  /** The longest time in which the organisation hit could not change anything, in milliseconds; or why there is none. */
  readonly gap: number | string;
  /** Why there are none: the fault is everybody's by nature. With their gap, where that is known. */
  readonly neighbours: Fared | { readonly gap?: number; readonly why: string };
}

/** Of several people, or several kinds. */
export const addUp = (parts: readonly Broken[]): Broken => ({
  lost: parts.reduce((sum, { lost }) => sum + lost, 0),
  repeated: parts.reduce((sum, { repeated }) => sum + repeated, 0),
  outOfOrder: parts.reduce((sum, { outOfOrder }) => sum + outOfOrder, 0),
  refusedButDone: parts.reduce((sum, { refusedButDone }) => sum + refusedButDone, 0),
});

/** How often events came to a listener after later ones. */
export const disorderedFor = (listeners: readonly Pick<Listener, 'heard'>[]): number =>
  listeners.reduce((sum, { heard }) => sum + heard.disordered, 0);

/** The longest stretch between moments, from `since` on, in milliseconds. */
export function longestBetween(moments: readonly number[], since: number): number {
  const later = moments.filter((at) => at > since).sort((a, b) => a - b);
  return later.reduce((longest, at, i) => Math.max(longest, at - (later[i - 1] ?? since)), 0);
}

/** The longest time in which none of them could change anything, from `since` (by `performance.now()`) on. */
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

/** The table of all faults, as Markdown has it. */
export function tableOf(felt: readonly Felt[]): string {
  const rows = [HEAD, HEAD.map(() => '---'), ...felt.map(cellsOf)];
  const widths = HEAD.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`).join('\n');
}

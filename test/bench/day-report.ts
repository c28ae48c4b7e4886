import { MIB } from '../faults/metrics.ts';
import { assumed, ratesOf } from './day-model.ts';
import type { DayPart, DayResult } from './day-run.ts';
import { isOverloaded } from './day-run.ts';
import { POOL_SIZE } from './stage.ts';

/** Tables whose rows are kept. All others have as many rows as there are people, or delete old rows. */
const KEPT = [
  ...['message', 'searchable_message', 'message_count', 'message_edit', 'reaction', 'user_message'],
  ...['conversation', 'conversation_member'],
];
/** Time for which the event log and idempotency records are kept, in days. Working days are 5 of 7. */
const [LOG_DAYS, RECORD_DAYS] = [8, 7];
const WORKING = 5 / 7;
/** Defaults of the service. */
const [LOG_ROWS, MAX_SOCKETS] = [1_000_000, 20_000];
/**
 * Changes per second of one organization, which lock its event counter one after another. Measured with single messages
 * on two cores; messages that are sent at the same time share a lock.
 */
const MOST_CHANGES = 1_100;

/** CPU of all nodes, of PostgreSQL, and of the busiest main thread of a node. */
interface Cores {
  readonly service: number;
  readonly database: number;
  readonly mainThread: number;
}

/** What a day needs, at real time. CPU is in cores, sizes are in bytes. */
interface Needs {
  readonly morning: Cores;
  readonly busiest: Cores;
  readonly keptPerDay: number;
  readonly logPerDay: number;
  readonly recordsPerDay: number;
  readonly eventsPerDay: number;
  readonly diskPerYear: number;
  readonly database: number;
}

/**
 * Returns the use of a resource in real time. The use by clients that are only connected (`idle`) is the same at every speed, and
 * the rest is proportional to the speed.
 */
const atRealTime = (value: number, idle: number, speed: number): number => idle + Math.max(0, value - idle) / speed;

function needsOf({ idle: { used: idle }, morning, work, speed, morningSpeed, before, after }: DayResult): Needs {
  /** Number of days, usually less than one, in which people do as many actions as in the simulated part of the busiest hour. */
  const days = (work.figures.seconds * speed * assumed('busiestHour')) / 3600;
  const grown = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + (after.tables[name] ?? 0) - (before.tables[name] ?? 0), 0) / days;
  const [keptPerDay, logPerDay, recordsPerDay] = [grown(KEPT), grown(['event']), grown(['idempotency_record'])];
  const eventsPerDay = (after.events - before.events) / days;
  const logDays = Math.min(LOG_DAYS * WORKING, LOG_ROWS / eventsPerDay);
  const coresOf = ({ used }: DayPart, at: number) => ({
    service: atRealTime(used.serviceCores, idle.serviceCores, at),
    database: atRealTime(used.databaseCores, idle.databaseCores, at),
    mainThread: atRealTime(used.mainThread, idle.mainThread, at),
  });
  return {
    morning: coresOf(morning, morningSpeed),
    busiest: coresOf(work, speed),
    ...{ keptPerDay, logPerDay, recordsPerDay, eventsPerDay },
    diskPerYear: keptPerDay * assumed('workdays') + logPerDay * logDays + recordsPerDay * RECORD_DAYS * WORKING,
    database: before.database,
  };
}

/** Use of each resource at real time, as a share of its limit, highest first. */
export function bottlenecksOf(result: DayResult): { readonly what: string; readonly share: number }[] {
  const { busiest, morning, eventsPerDay } = needsOf(result);
  const { work, idle, speed, online, nodes, people } = result;
  const changes = ratesOf(people);
  const logged = [
    'send to a channel',
    'send to a person',
    'send to a group',
    'announce',
    'typing',
    'react',
    'edit',
    'read',
  ] as const;
  return [
    { what: 'main thread of a node in the busiest hour, of a core', share: busiest.mainThread },
    { what: 'main thread of a node in the morning, of a core', share: morning.mainThread },
    {
      what: 'database connections of a node',
      share: atRealTime(work.used.poolUsed, idle.used.poolUsed, speed) / POOL_SIZE,
    },
    {
      what: `the organization's event counter, of ${MOST_CHANGES} changes/s`,
      share: logged.reduce((sum, name) => sum + changes[name], 0) / MOST_CHANGES,
    },
    { what: `sockets of a node (MAX_SOCKETS), of ${MAX_SOCKETS}`, share: online / nodes / MAX_SOCKETS },
    {
      what: `events of a day in the log (EVENT_LOG_ROWS_PER_ORGANIZATION), of ${LOG_ROWS}`,
      share: eventsPerDay / LOG_ROWS,
    },
  ].sort((a, b) => b.share - a.share);
}

const percent = (share: number) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const cores = (value: number) => value.toFixed(value < 0.1 ? 3 : 2);
const size = (bytes: number) =>
  bytes < 1_024 * MIB ? `${(bytes / MIB).toFixed(0)} MB` : `${(bytes / 1_024 / MIB).toFixed(1)} GB`;
const ms = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? '–' : `${value.toFixed(0)}`);

export const headOf = (): string[] => [
  ...['people', 'online', 'nodes', 'speed', 'morning: service + database', 'busiest hour: service + database'],
  ...['a node', 'PostgreSQL', 'p95 ms: send, read, search, deliver, sign in', 'disk a day, a year', 'first bottleneck'],
];

/** Returns the row of the table of all results. */
export function rowOf(result: DayResult): string[] {
  const { people, online, nodes, speed, work, morning } = result;
  const needs = needsOf(result);
  const { actions, delivery } = work.figures;
  const signIn = Math.max(...Object.values(morning.figures.actions).map(({ p95 }) => p95));
  const [first] = bottlenecksOf(result);
  const both = ({ service, database }: { service: number; database: number }) =>
    `${cores(service)} + ${cores(database)}`;
  const p95 = [actions['send to a channel']?.p95, actions['read']?.p95, actions['search']?.p95, delivery.p95, signIn];
  return [
    ...[String(people), String(online), String(nodes), `${speed}${isOverloaded(work) ? ' (overloaded)' : ''}`],
    ...[both(needs.morning), both(needs.busiest), size(work.used.nodeBytes), size(work.used.databaseBytes)],
    p95.map(ms).join(', '),
    `${size(needs.keptPerDay)}, ${size(needs.diskPerYear)}`,
    first === undefined ? '' : `${first.what}: ${percent(first.share)}`,
  ];
}

/** Returns the table of all results in Markdown, for the operations page. @param machine The machine and the date. */
export function tableOf(results: readonly DayResult[], machine: string): string {
  const head = headOf();
  const lines = [head, head.map(() => '---'), ...results.map(rowOf)].map((cells) => `| ${cells.join(' | ')} |`);
  return [
    `${machine}; service, PostgreSQL and load generator on this machine. CPU in cores at real time.`,
    '',
    ...lines,
    '',
  ].join('\n');
}

/** Returns lines that describe a result completely. */
export function detailsOf(result: DayResult): string[] {
  const { nodes, speed, morningSpeed, tooFast, idle, morning, work, online, before } = result;
  const needs = needsOf(result);
  return [
    `${nodes} ${nodes === 1 ? 'node' : 'nodes'}, ${online} online`,
    `all connected, without actions: ${cores(idle.used.serviceCores)} cores of the service, ${cores(idle.used.databaseCores)} of PostgreSQL; a node ${size(idle.used.nodeBytes)}`,
    ...partLines('morning', morning, morningSpeed),
    ...partLines('busiest hour', work, speed),
    ...(tooFast.length > 0 ? [`speed halved, because the machine was overloaded at ${tooFast.join(', ')}`] : []),
    `deliveries: ${Math.round(work.figures.deliveries / work.figures.seconds / speed)}/s at real time`,
    `database: ${size(before.database)} before; a day adds ${size(needs.keptPerDay)} that are kept, ${size(needs.logPerDay)} of events (${Math.round(needs.eventsPerDay)}), ${size(needs.recordsPerDay)} of idempotency records`,
    ...bottlenecksOf(result).map(({ what, share }) => `${percent(share)}: ${what}`),
  ];
}

function partLines(name: string, part: DayPart, speed: number): string[] {
  const { figures, used, busy, machine } = part;
  const waits = Object.entries(used.waits).sort(([, a], [, b]) => b - a);
  const generator = percent(figures.cpuSeconds / figures.seconds);
  return [
    `${name}, ${figures.seconds} s at ${speed} times the speed: ${cores(used.serviceCores)} cores of the service (main thread of a node ${cores(used.mainThread)}), ${cores(used.databaseCores)} of PostgreSQL; of the machine's cores these and the load generator take ${percent(busy)}, all processes ${percent(machine)}; generator ${generator} of a core${isOverloaded(part) ? ', OVERLOADED' : ''}`,
    `    memory: node ${size(used.nodeBytes)}, PostgreSQL ${size(used.databaseBytes)}; connections in use ${used.poolUsed.toFixed(1)}; sessions wait for ${
      waits
        .slice(0, 5)
        .map(([wait, average]) => `${wait} ${average.toFixed(2)}`)
        .join(', ') || 'nothing'
    }`,
    ...Object.entries(figures.actions).map(
      ([action, { count, failed, p50, p95 }]) =>
        `    ${action}: ${count}${failed > 0 ? ` and ${failed} FAILED` : ''}, p50 ${ms(p50)} ms, p95 ${ms(p95)} ms`,
    ),
    ...(figures.delivery.count > 0
      ? [
          `    send to delivery: ${figures.delivery.count}, p50 ${ms(figures.delivery.p50)} ms, p95 ${ms(figures.delivery.p95)} ms`,
        ]
      : []),
    ...(figures.unanswered > 0 ? [`    unanswered: ${figures.unanswered} of ${figures.planned}`] : []),
    ...[...figures.failures, ...figures.interruptions].map(
      (failure) => `    ! ${failure.replaceAll(/\s+/g, ' ').slice(0, 250)}`,
    ),
  ];
}

import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { isHere } from '../platform/db/organization-moves.ts';
import { readRows } from '../platform/db/rows.ts';
import { PeriodicWorker } from '../platform/periodic-worker.ts';
import { committing, type Trace } from './commit.ts';
import type { LogContext } from './context.ts';

/** Time between two runs, in milliseconds. It bounds the delay of the work. One indexed query if there are no events. */
const EVERY_MS = 1_000;
/** Number of organizations whose logs are read in parallel. */
const MAX_PARALLEL = 3;
/** Time, in milliseconds, after which an organization with further events waits until the others had their turn. */
const SHARE_MS = 1_000;
/** Pause after the first failure of an organization, in milliseconds. Doubled by each further failure, up to the maximum. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/** The part of a log that one transaction reads. */
export interface LogRange {
  readonly organizationId: number;
  /** Id of the last event that was read before. */
  readonly throughId: bigint;
  /** Id of the last event of the log. All events up to it are visible to the transaction. */
  readonly lastId: bigint;
  /** Maximum number of events to read, at least 1. */
  readonly atOnce: number;
}

/** Result of reading a part of a log. */
export interface LogRead {
  /** Id of the last event that was read: the new position. */
  readonly throughId: bigint;
  /** Whether work that the events cause can now be done. */
  readonly isDue: boolean;
}

/**
 * A background reader of the logs of all organizations. Any number of nodes can run it on one database. Its position in each log
 * is stored in the transaction that reads the events and stores their results, so each event is read exactly once, even if a
 * process is killed. Events after the position are kept for a day: see `retention.ts`.
 */
export interface BackgroundReader {
  /** Table with the positions. */
  readonly table: 'notification_progress' | 'link_preview_progress';
  /** SQL condition that the log of the organization `r` is read. Default: all logs are. */
  readonly condition?: Prisma.Sql;
  /** Returns the SQL of the first position of an organization, whose event counter is `c`. */
  start(organizationId: number): Prisma.Sql;
  /** Maximum number of events that one transaction reads. */
  readonly atOnce: number;
  /** Message to log if a log could not be read. */
  readonly failure: string;
  /** Reads the next events of a log, and stores their results. */
  read(tx: Tx, range: LogRange): Promise<LogRead>;
}

type ReaderApp = Pick<LogContext, 'database' | 'db' | 'log'>;

/** Failures of an organization since its last success. */
interface Failures {
  readonly count: number;
  /** Time of the next attempt, in milliseconds of `performance.now`. */
  readonly pausedUntil: number;
  /** Number of events that the next transaction reads. */
  readonly atOnce: number;
}

/** Failures of organizations, by id. Kept from run to run. */
export type FailuresByOrganization = Map<number, Failures>;

/** Options of `readLogs`. */
export interface ReadingRun {
  /** Called when the events that were read have made work due. */
  readonly onDue?: () => void;
  /** Returns whether to stop. Called before each transaction. */
  readonly isOver?: () => boolean;
  readonly failures?: FailuresByOrganization;
}

/**
 * Reads all events that were logged since the last run, in all organizations.
 *
 * Organizations do not depend on each other. Each has a time share, and one that fails is left out for a pause, which grows. Its
 * next transaction reads half as many events, down to one.
 */
export async function readLogs(app: ReaderApp, reader: BackgroundReader, run: ReadingRun = {}): Promise<void> {
  const { isOver = () => false, failures = new Map() } = run;
  const isPaused = (id: number) => (failures.get(id)?.pausedUntil ?? 0) > performance.now();
  for (let isMore = true; isMore && !isOver(); ) {
    isMore = false;
    const organizations = (await organizationsBehind(app, reader)).filter((id) => !isPaused(id));
    const readSome = async () => {
      for (let id = organizations.shift(); id !== undefined && !isOver(); id = organizations.shift()) {
        if (await readShare(app, reader, id, { ...run, isOver, failures })) isMore = true;
      }
    };
    await Promise.all(Array.from({ length: MAX_PARALLEL }, readSome));
  }
}

/** Returns the worker that repeats `readLogs`. @param prepare Called before each run. */
export function backgroundReading(
  app: ReaderApp,
  reader: BackgroundReader,
  { onDue, prepare }: { readonly onDue: () => void; readonly prepare?: () => Promise<void> },
): PeriodicWorker {
  const failures: FailuresByOrganization = new Map();
  return new PeriodicWorker(app.log, {
    everyMs: EVERY_MS,
    failure: reader.failure,
    async run(isOver) {
      await prepare?.();
      await readLogs(app, reader, { onDue, isOver, failures });
    },
  });
}

/**
 * Returns the organizations whose logs have events after the position. Omits suspended organizations, and those that this
 * database does not serve (`isHere`).
 */
async function organizationsBehind(
  { db }: Pick<ReaderApp, 'db'>,
  { table, condition = Prisma.sql`true` }: BackgroundReader,
): Promise<number[]> {
  const rows = await readRows<{ id: number }>(
    db,
    Prisma.sql`
    SELECT c.realm_id AS id FROM event_counter c JOIN realm r ON r.id = c.realm_id AND r.deactivated_at IS NULL
    LEFT JOIN ${Prisma.raw(table)} p ON p.realm_id = c.realm_id
    WHERE c.last_id > COALESCE(p.through_id, 0) AND ${condition} AND ${isHere(Prisma.sql`c.realm_id`)}`,
  );
  return rows.map(({ id }) => id);
}

/** Reads the log of one organization for the duration of its share. @returns Whether there are further events. */
async function readShare(
  app: ReaderApp,
  reader: BackgroundReader,
  organizationId: number,
  { onDue, isOver, failures }: ReadingRun & Required<Pick<ReadingRun, 'isOver' | 'failures'>>,
): Promise<boolean> {
  const end = performance.now() + SHARE_MS;
  let isMore = true;
  while (isMore && performance.now() < end && !isOver()) {
    const failed = failures.get(organizationId);
    const atOnce = failed?.atOnce ?? reader.atOnce;
    try {
      const read = await readNext(app, reader, organizationId, atOnce);
      if (failed !== undefined) noteSuccess(failures, organizationId, Math.min(atOnce * 2, reader.atOnce), reader);
      if (read.isDue) onDue?.();
      isMore = read.isMore;
    } catch (err) {
      const count = (failed?.count ?? 0) + 1;
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), MAX_PAUSE_MS);
      failures.set(organizationId, {
        count,
        pausedUntil: performance.now() + pause,
        atOnce: Math.max(1, Math.floor(atOnce / 2)),
      });
      app.log.warn({ err, organization: organizationId }, reader.failure);
      return false;
    }
  }
  return isMore;
}

/** Stores the number of events for the next transaction, until it is the usual one. */
function noteSuccess(
  failures: FailuresByOrganization,
  organizationId: number,
  atOnce: number,
  reader: BackgroundReader,
): void {
  if (atOnce >= reader.atOnce) failures.delete(organizationId);
  else failures.set(organizationId, { count: 0, pausedUntil: 0, atOnce });
}

/** Result of one transaction. */
interface ReadNext {
  /** Whether the log has further events. */
  readonly isMore: boolean;
  readonly isDue: boolean;
  /** Always absent. If the outcome of the commit is unknown, the events are read again. */
  readonly trace?: Trace;
}

/** Reads the next events of an organization's log in one transaction. Does nothing if another node reads this log. */
function readNext(app: ReaderApp, reader: BackgroundReader, organizationId: number, atOnce: number): Promise<ReadNext> {
  return committing<ReadNext>({ app, organizationId }, async (tx) => {
    const position = await lockPosition(tx, reader, organizationId);
    if (position === undefined) return { isMore: false, isDue: false };
    const { throughId, isDue } = await reader.read(tx, { organizationId, ...position, atOnce });
    await tx.$executeRaw`
      UPDATE ${Prisma.raw(reader.table)} SET through_id = ${throughId} WHERE realm_id = ${organizationId}`;
    return { isMore: throughId < position.lastId, isDue };
  });
}

/** Locks the position of an organization. Undefined if another node has locked it. */
async function lockPosition(
  tx: Tx,
  { table, start }: BackgroundReader,
  organizationId: number,
): Promise<Pick<LogRange, 'throughId' | 'lastId'> | undefined> {
  const name = Prisma.raw(table);
  await tx.$executeRaw`
    INSERT INTO ${name} (realm_id, through_id)
    SELECT c.realm_id, ${start(organizationId)} FROM event_counter c
    WHERE c.realm_id = ${organizationId} AND EXISTS (SELECT FROM realm r WHERE r.id = ${organizationId} OFFSET 0)
      AND NOT EXISTS (SELECT FROM ${name} p WHERE p.realm_id = ${organizationId} OFFSET 0)
    ON CONFLICT DO NOTHING`;
  const [locked] = await tx.$queryRaw<{ throughId: bigint }[]>`
    SELECT through_id AS "throughId" FROM ${name} WHERE realm_id = ${organizationId} FOR UPDATE SKIP LOCKED`;
  if (locked === undefined) return undefined;
  // All events up to this id are visible to the next statement: see `EventCounter`.
  const [counter] = await tx.$queryRaw<{ lastId: bigint }[]>`
    SELECT last_id AS "lastId" FROM event_counter WHERE realm_id = ${organizationId}`;
  return counter && { throughId: locked.throughId, lastId: counter.lastId };
}

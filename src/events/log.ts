import type { Tx } from '../platform/db/client.ts';
import { isBusy, isLostRace } from '../platform/db/errors.ts';
import { noteCommitted } from './act.ts';
import { type Appended, appendAll, type EventsReading, type LoggingStatement, type LogStep } from './append.ts';
import type { Audience } from './audience.ts';
import { committing, retrying } from './commit.ts';
import type { LogContext, Publisher } from './context.ts';
import type { EventDraft } from './define.ts';
import type { StoredEvent } from './stored.ts';

/**
 * Adds an event to the change. `withId` is called with the event's id, still inside the transaction, for rows that
 * must hold it; such rows must be new, or locked by the change before.
 */
export interface Emit {
  (event: EventDraft, audience: Audience, withId?: (id: number) => Promise<unknown>): void;
  /** Adds, in this place among the events, a statement that takes ids from the counter and logs events itself. */
  writing(write: LoggingStatement): void;
  /**
   * Adds, in this place among the events, some that tell the state at the time they are logged, not only what the change
   * makes of it. `read` sees what all earlier events have told and no later one has. It may be called twice.
   *
   * @param harmless Types of others' events that change nothing of what `read` finds.
   */
  reading(read: EventsReading, harmless: readonly string[]): void;
}

/** The transaction of a request that is to have its effect once: all its changes are parts of it. */
export interface RequestTransaction {
  readonly tx: Tx;
  /** What logs the events of its changes that are still to be logged, in order. */
  readonly unlogged: (() => Promise<Logged>)[];
  /** Takes note of events that readers are to hear of after the commit. */
  published(realmId: number, events: readonly StoredEvent[]): void;
}

/** Where a change happens. */
export interface ChangeScope {
  readonly app: LogContext & {
    readonly hub: Publisher;
    /** Of the request that the change is a part of, where that one is to have its effect once. */
    readonly transaction?: RequestTransaction;
  };
  readonly realmId: number;
}

function collect(steps: LogStep[]): Emit {
  const emit = (event: EventDraft, audience: Audience, withId?: (id: number) => Promise<unknown>) => {
    const emitted = { event, audience, withId };
    const last = steps.at(-1);
    if (last !== undefined && 'events' in last) last.events.push(emitted);
    else steps.push({ events: [emitted] });
  };
  return Object.assign(emit, {
    writing: (write: LoggingStatement) => void steps.push({ write }),
    reading: (read: EventsReading, harmless: readonly string[]) => void steps.push({ read, harmless }),
  });
}

/**
 * Runs `change` in one transaction together with the events it emits, then wakes their readers. The only way to emit.
 *
 * The change and its events commit or roll back as one. The realm's counter row is bumped last and stays locked until
 * the commit, so ids become visible in order, and every other lock must be taken before it. A lost race (40001, 40P01)
 * is tried again from the start, so `change` must be re-runnable: it may touch nothing but `tx` and its own variables.
 *
 * In a request that is to have its effect once, the change is a part of that request's transaction.
 *
 * When the connection breaks during the commit, the database is asked whether it came through: what is acknowledged
 * happened, and what is refused did not.
 *
 * @param change Must use `tx` alone.
 * @throws RequestTimeoutError when the database could not take the change in time; nothing was changed.
 * @see src/events/README.md#the-log
 */
export async function transact<T>(scope: ChangeScope, change: (tx: Tx, emit: Emit) => Promise<T>): Promise<T> {
  const { app } = scope;
  if (app.transaction !== undefined) return changeWithin(app.transaction, scope, change);
  const { result, events } = await retrying(() => committing(scope, (tx) => make(tx, scope, change)));
  publishCommitted(scope, events);
  return result;
}

/** Tells readers of events that are committed, and the request that made the change where they stand. */
export function publishCommitted({ app, realmId }: ChangeScope, events: readonly StoredEvent[]): void {
  noteCommitted(events);
  if (events.length > 0) app.hub.publish(realmId, events);
}

/** What a change comes to. */
interface Made<T> extends Appended {
  readonly result: T;
}

async function make<T>(
  tx: Tx,
  { app, realmId }: ChangeScope,
  change: (tx: Tx, emit: Emit) => Promise<T>,
): Promise<Made<T>> {
  const steps: LogStep[] = [];
  const result = await change(tx, collect(steps));
  return { result, ...(await appendAll(tx, realmId, steps, app)) };
}

/**
 * A change that fails leaves nothing behind, and the transaction around it can go on: its caller may know what to do.
 *
 * Its events are logged when the request has read all it answers with, because the organisation waits from then on; at
 * once where the change itself needs an id.
 */
async function changeWithin<T>(
  transaction: RequestTransaction,
  scope: ChangeScope,
  change: (tx: Tx, emit: Emit) => Promise<T>,
): Promise<T> {
  const { tx } = transaction;
  const { app, realmId } = scope;
  await tx.$executeRaw`SAVEPOINT change`;
  const unlogged = [...transaction.unlogged];
  try {
    const steps: LogStep[] = [];
    const result = await change(tx, collect(steps));
    transaction.unlogged.push(async () => {
      const { events } = await appendAll(tx, realmId, steps, app);
      return { realmId, events };
    });
    const logged = steps.every(canWait) ? [] : await logAll(transaction);
    await tx.$executeRaw`RELEASE SAVEPOINT change`;
    for (const { realmId, events } of logged) transaction.published(realmId, events);
    return result;
  } catch (error) {
    transaction.unlogged.splice(0, Number.POSITIVE_INFINITY, ...unlogged);
    // What lost a race, or its connection, is over as a whole.
    if (!isLostRace(error) && !isBusy(error)) await tx.$executeRaw`ROLLBACK TO SAVEPOINT change`;
    throw error;
  }
}

/** Whether the step can be logged at the end of the request: the change needs no id of it. */
const canWait = (step: LogStep): boolean =>
  'read' in step || ('events' in step && step.events.every(({ withId }) => withId === undefined));

/** Logs, in order, what changes of a request have left to be logged. Readers are to be told of it after the commit. */
export async function logAll({ unlogged }: Pick<RequestTransaction, 'unlogged'>): Promise<Logged[]> {
  const logged: Logged[] = [];
  for (const log of unlogged.splice(0)) logged.push(await log());
  return logged;
}

/** Events of a realm that are logged, and not yet committed. */
export interface Logged {
  readonly realmId: number;
  readonly events: readonly StoredEvent[];
}

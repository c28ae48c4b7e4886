import type { Tx } from '../platform/db/client.ts';
import { isBusy, isSerializationFailure } from '../platform/db/errors.ts';
import { InsufficientScopeError } from '../platform/errors.ts';
import { missingScopes } from '../platform/key-scopes.ts';
import { noteCommitted } from './act.ts';
import { type Appended, appendAll, type EventsReading, type LoggingStatement, type LogStep } from './append.ts';
import type { Audience } from './audience.ts';
import { type AuditEntry, type AuditedContext, actingUserId, writeAuditLog } from './audit.ts';
import { committing, retrying } from './commit.ts';
import {
  type ChangeWork,
  type LogContext,
  type Logged,
  type ReadOnlyWork,
  type RequestTransaction,
  requireLive,
} from './context.ts';
import type { EventDraft } from './define.ts';
import type { StoredEvent } from './stored.ts';

/**
 * Adds an event to the change in progress. `withId` is called with the event's id, inside the transaction, for rows that must
 * store it. Such rows must be new, or already locked by the change.
 */
export interface Emit {
  (event: EventDraft, audience: Audience, withId?: (id: number) => Promise<unknown>): void;
  /**
   * Adds, at this position among the events, a statement that takes ids from the organization's event counter and logs events
   * itself.
   */
  writing(write: LoggingStatement): void;
  /**
   * Adds, at this position among the events, events that describe the state at the time of logging, not only the effect of the
   * change. `read` sees the effects of all earlier events and of no later one. `read` may be called twice.
   *
   * @param harmless Types of events of other changes that do not affect the result of `read`.
   */
  reading(read: EventsReading, harmless: readonly string[]): void;
  /**
   * Adds entries to the audit log, for actions that no event of the change describes. Events whose definition has `audit` add
   * their entries themselves.
   */
  audit(...entries: readonly AuditEntry[]): void;
}

/** The unit of work and the organization in which a change is made, and its actor. */
export interface ChangeScope extends AuditedContext {
  readonly work: ChangeWork | ReadOnlyWork;
  readonly organizationId: number;
}

/** The events and the entries of the audit log that a change adds. */
interface Collected {
  readonly steps: LogStep[];
  readonly auditEntries: AuditEntry[];
}

function collect({ steps, auditEntries }: Collected): Emit {
  const emit = (event: EventDraft, audience: Audience, withId?: (id: number) => Promise<unknown>) => {
    if (event.audit !== undefined) auditEntries.push(...event.audit);
    const emitted = { event, audience, withId };
    const last = steps.at(-1);
    if (last !== undefined && 'events' in last) last.events.push(emitted);
    else steps.push({ events: [emitted] });
  };
  return Object.assign(emit, {
    writing: (write: LoggingStatement) => void steps.push({ write }),
    reading: (read: EventsReading, harmless: readonly string[]) => void steps.push({ read, harmless }),
    audit: (...added: readonly AuditEntry[]) => void auditEntries.push(...added),
  });
}

/**
 * Runs `change`, and logs the events that it emits, in one transaction, with its entries of the audit log. Then notifies the
 * readers of these events. The only way to emit events.
 *
 * The change and its events commit or roll back as one. The organization's counter row is updated last and stays locked until
 * the commit, so ids become visible in order. Every other lock must be taken before it. After a serialization failure or
 * deadlock (40001, 40P01), the change is retried from the start. So `change` must be repeatable: it may modify only `tx` and
 * its own variables.
 *
 * In a request with an idempotency key, the change is part of that request's transaction.
 *
 * If the connection breaks during the commit, the database is queried for the outcome. So an acknowledged change was made, and
 * a refused change was not.
 *
 * @param change Must use `tx` alone.
 * @throws RequestTimeoutError if the database could not run the change in time. Nothing was changed.
 * @throws ValidationError if the unit of work only reads.
 * @throws InsufficientScopeError if the viewer's API key can only read.
 * @see src/events/README.md#the-log
 */
export async function transact<T>(scope: ChangeScope, change: (tx: Tx, emit: Emit) => Promise<T>): Promise<T> {
  const { organizationId, viewer, caller, clientName, isOperator, identityProvider } = scope;
  const { app, transaction } = requireLive(scope.work);
  if (missingScopes(viewer?.credential, CHANGING).length === CHANGING.length)
    throw new InsufficientScopeError(['write']);
  const place = { app, organizationId, viewer, caller, clientName, isOperator, identityProvider };
  if (transaction !== undefined) return changeWithin(transaction, place, change);
  const { result, events } = await retrying(() => committing(place, (tx) => make(tx, place, change)));
  publishCommitted(scope, events);
  return result;
}

/** Scopes of which an API key needs at least one to change anything. */
const CHANGING = ['write', 'events', 'administration'] as const;

/** Publishes committed events to readers, and records their position for the request that made the change. */
export function publishCommitted(
  { work, organizationId }: Pick<ChangeScope, 'work' | 'organizationId'>,
  events: readonly StoredEvent[],
): void {
  noteCommitted(events);
  if (events.length > 0) requireLive(work).app.hub.publish(organizationId, events);
}

/** The service, the organization in whose log the events of a change are appended, and the actor. */
interface LogScope extends AuditedContext {
  readonly app: LogContext;
  readonly organizationId: number;
}

/** The result of a change, and the events that it logged. */
interface Made<T> extends Appended {
  readonly result: T;
}

async function make<T>(tx: Tx, scope: LogScope, change: (tx: Tx, emit: Emit) => Promise<T>): Promise<Made<T>> {
  const { steps, auditEntries }: Collected = { steps: [], auditEntries: [] };
  const result = await change(tx, collect({ steps, auditEntries }));
  // Before the events, because other changes of the organization wait from then on.
  if (auditEntries.length > 0) await writeAuditLog(tx, scope, auditEntries);
  return {
    result,
    ...(await appendAll(tx, scope.organizationId, steps, { app: scope.app, actorId: actingUserId(scope) })),
  };
}

/**
 * Runs a change within the transaction of a request with an idempotency key. If the change fails, only this change is rolled
 * back, so that the caller can handle the error and continue.
 *
 * The events of the change are logged after the request has read its whole response. From the logging until the commit, other
 * changes of the organization must wait. If the change itself needs an event id, its events are logged immediately.
 */
async function changeWithin<T>(
  transaction: RequestTransaction,
  scope: LogScope,
  change: (tx: Tx, emit: Emit) => Promise<T>,
): Promise<T> {
  const { tx } = transaction;
  await tx.$executeRaw`SAVEPOINT change`;
  const unlogged = [...transaction.unlogged];
  try {
    const { app, organizationId } = scope;
    const { steps, auditEntries }: Collected = { steps: [], auditEntries: [] };
    const result = await change(tx, collect({ steps, auditEntries }));
    if (auditEntries.length > 0) await writeAuditLog(tx, scope, auditEntries);
    transaction.unlogged.push(async () => {
      const { events } = await appendAll(tx, organizationId, steps, { app, actorId: actingUserId(scope) });
      return { organizationId, events };
    });
    const logged = steps.every(canWait) ? [] : await logAll(transaction);
    await tx.$executeRaw`RELEASE SAVEPOINT change`;
    for (const { organizationId, events } of logged) transaction.published(organizationId, events);
    return result;
  } catch (error) {
    transaction.unlogged.splice(0, Number.POSITIVE_INFINITY, ...unlogged);
    // After a serialization failure or a lost connection, the whole transaction is over.
    if (!isSerializationFailure(error) && !isBusy(error)) await tx.$executeRaw`ROLLBACK TO SAVEPOINT change`;
    throw error;
  }
}

/** Returns whether the step can be logged at the end of the request, because the change needs none of its ids. */
const canWait = (step: LogStep): boolean =>
  'read' in step || ('events' in step && step.events.every(({ withId }) => withId === undefined));

/** Writes the pending events of a request's changes to the event log, in order. Publish them to readers after the commit. */
export async function logAll({ unlogged }: Pick<RequestTransaction, 'unlogged'>): Promise<Logged[]> {
  const logged: Logged[] = [];
  for (const log of unlogged.splice(0)) logged.push(await log());
  return logged;
}

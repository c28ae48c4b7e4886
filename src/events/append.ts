import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { type Clocked, databaseClock } from '../platform/db/clock.ts';
import type { Audience } from './audience.ts';
import type { Trace } from './commit.ts';
import type { EventDraft } from './define.ts';
import { readCounter } from './log-reads.ts';
import type { StoredEvent } from './stored.ts';

/** An event and its recipients. */
export interface AddressedEvent {
  readonly event: EventDraft;
  readonly audience: Audience;
}

/** An event that a change emits. `withId` is called with the id of the logged event. */
export interface EmittedEvent extends AddressedEvent {
  readonly withId?: ((id: number) => Promise<unknown>) | undefined;
}

/** Logs events in the transaction of a `LoggingStatement`. */
export type AppendEvents = (events: readonly AddressedEvent[]) => Promise<Appended>;
/**
 * A statement that takes ids from the organization's event counter and logs events with these ids itself. If its events depend
 * on the effects of an earlier statement of this kind, it logs them with `append`.
 */
export type LoggingStatement = (tx: Tx, append: AppendEvents) => Promise<Appended>;
/** A function that reads the current state, and returns events that describe this state. */
export type EventsReading = (tx: Tx) => Promise<readonly AddressedEvent[]>;

/** A step that needs no read: events, or a statement that logs its own events. */
type PreparedLogStep = { readonly events: EmittedEvent[] } | { readonly write: LoggingStatement };
/** One step of logging the events of a change: a prepared step, or a read that returns the events. */
export type LogStep = PreparedLogStep | { readonly read: EventsReading; readonly harmless: readonly string[] };

/** The logged events of a change. */
export interface Appended {
  readonly events: readonly StoredEvent[];
  /** Identifies the transaction that logged the events. Undefined if there are no events. */
  readonly trace?: Trace;
}

/**
 * Logs the events of all steps, in the order of the steps. The row of the organization's event counter stays locked until the
 * commit.
 */
export async function appendAll(
  tx: Tx,
  organizationId: number,
  steps: readonly LogStep[],
  { app, actorId }: Omit<Log, 'organizationId'>,
): Promise<Appended> {
  const events: StoredEvent[] = [];
  let trace: Trace | undefined;
  for (const step of await resolveReads(tx, organizationId, steps)) {
    const log = (emitted: readonly EmittedEvent[]) => append(tx, { organizationId, app, actorId }, emitted);
    const appended = 'write' in step ? await step.write(tx, log) : await log(step.events);
    events.push(...appended.events);
    trace = appended.trace ?? trace;
  }
  return { events, ...(trace !== undefined && { trace }) };
}

/**
 * Replaces each step that has a `read` by the events that `read` returns. Every change to the data that `read` sees is logged.
 * So the result of `read` is valid unless another transaction logs such a change between the read and the locking of the event
 * counter. In that case, `read` runs again while the row of the event counter is locked, and other changes of the organization
 * wait.
 */
async function resolveReads(
  tx: Tx,
  organizationId: number,
  steps: readonly LogStep[],
): Promise<readonly PreparedLogStep[]> {
  const readings = steps.filter((step) => 'read' in step);
  if (readings.length === 0) return steps as PreparedLogStep[];
  const readAll = async () => {
    const found: PreparedLogStep[] = [];
    for (const step of steps) found.push('read' in step ? { events: [...(await step.read(tx))] } : step);
    return found;
  };
  const { lastId } = await readCounter(tx, organizationId);
  const found = await readAll();
  const [harmless = [], ...others] = readings.map((step) => step.harmless);
  const harmlessToAll = harmless.filter((type) => others.every((types) => types.includes(type)));
  return (await holdLog(tx, organizationId, lastId, harmlessToAll)) ? readAll() : found;
}

/**
 * Locks the log of the organization until the transaction ends, so that no other transaction can append events.
 *
 * @returns Whether events of types other than `harmless` were logged after the event with the id `seen`.
 */
async function holdLog(tx: Tx, organizationId: number, seen: number, harmless: readonly string[]): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ hold_log: boolean }[]>`
    SELECT hold_log(${organizationId}::int, ${seen}::bigint, ${[...harmless]}::text[])`;
  return row?.hold_log !== false;
}

/** The organization in whose log events are appended, the service that provides the clock, and the actor of the change. */
interface Log {
  readonly organizationId: number;
  readonly app: Clocked;
  /** User who makes the change. Null for the service and the operator. */
  readonly actorId: number | null;
}

/**
 * Increments the organization's event counter and inserts the events with the new ids, in one statement. The counter stays
 * locked until the commit.
 */
async function append(
  tx: Tx,
  { organizationId, app, actorId }: Log,
  emitted: readonly EmittedEvent[],
): Promise<Appended> {
  if (emitted.length === 0) return { events: [] };
  let offset = 0;
  const rows = emitted.map(({ event, audience }) => {
    offset += event.width;
    return {
      offset,
      type: event.type,
      op: event.op ?? null,
      payload: event.payload,
      max_role: audience.maxRole,
      channel_ids: audience.channelIds,
      user_ids: audience.userIds,
      except_user_ids: audience.exceptUserIds,
      public_channel_id: audience.publicChannelId,
      width: event.width,
      ephemeral: event.ephemeral,
    };
  });
  // `databaseClock` is called once, because with the embedded database each call returns another time of this process.
  const clock = databaseClock(app);
  const [counter] = await tx.$queryRaw<{ base: bigint; xid: string; written_at: string }[]>`
    WITH counter AS (
      UPDATE event_counter SET last_id = last_id + ${offset} WHERE realm_id = ${organizationId}
      RETURNING last_id - ${offset} AS base, refuse_late_lock()
    ), logged AS (
      INSERT INTO event (realm_id, id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids,
                         public_channel_id, width, ephemeral, created_at, actor_id)
      SELECT ${organizationId}, counter.base + e."offset", e.type, e.op, e.payload, e.max_role, e.channel_ids, e.user_ids,
             e.except_user_ids, e.public_channel_id, e.width, e.ephemeral, ${clock}, ${actorId}::int
      FROM counter, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS e(
        "offset" int, type text, op text, payload jsonb, max_role smallint, channel_ids int[], user_ids int[],
        except_user_ids int[], public_channel_id int, width int, ephemeral boolean)
    )
    SELECT base, pg_current_xact_id()::text AS xid, extract(epoch FROM ${clock})::text AS written_at
    FROM counter`;
  if (counter === undefined) throw new Error(`Organization ${organizationId} has no event counter`);
  const base = Number(counter.base);
  const stored = emitted.map(({ event, audience }, i) => {
    const json = JSON.stringify(event.payload);
    return {
      id: base + (rows[i]?.offset ?? 0),
      type: event.type,
      op: event.op ?? null,
      // Converts the payload as PostgreSQL would (dates become strings, undefined is omitted). Live delivery uses this object,
      // and replay uses the stored row, so both give clients identical events.
      payload: JSON.parse(json) as unknown,
      audience,
      width: event.width,
      ephemeral: event.ephemeral,
      createdAt: app.now(),
      actorId,
      bytes: json.length,
    };
  });
  for (const [i, { withId }] of emitted.entries()) await withId?.(stored[i]?.id ?? 0);
  const row = Prisma.sql`
    SELECT 1 AS found FROM event WHERE realm_id = ${organizationId} AND id = ${stored[0]?.id ?? 0}
      AND extract(epoch FROM created_at)::text = ${counter.written_at}`;
  return { events: stored, trace: { xid: counter.xid, row } };
}

/** Increments the organization's event counter by one, to reserve an id that belongs to no event. Returns that id. */
export async function bumpCounter(db: SqlClient, organizationId: number): Promise<number> {
  const [row] = await db.$queryRaw<{ last_id: bigint }[]>`
    UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = ${organizationId}
    RETURNING last_id, refuse_late_lock()`;
  if (row === undefined) throw new Error(`Organization ${organizationId} has no event counter`);
  return Number(row.last_id);
}

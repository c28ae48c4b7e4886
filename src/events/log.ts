import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { isBusy, isLostRace } from '../platform/db/errors.ts';
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
  /** Adds, in its turn among the events, a statement that takes ids from the counter and logs events itself. */
  writing(write: Write): void;
  /**
   * Adds, in their turn, events that say what is so when they are logged, and not only what the change makes so: what
   * `read` finds is what all earlier events have told, and what no later one has. It may be called twice.
   *
   * @param harmless Types of others' events that change nothing of what `read` finds.
   */
  reading(read: Read, harmless: readonly string[]): void;
}

/** An event, and who hears it. */
export interface ToldTo {
  readonly event: EventDraft;
  readonly audience: Audience;
}

interface Emitted extends ToldTo {
  readonly withId?: ((id: number) => Promise<unknown>) | undefined;
}

type Write = (tx: Tx) => Promise<Appended>;
type Read = (tx: Tx) => Promise<readonly ToldTo[]>;

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

/** What is to be logged, in order: events, statements that log their own, and events that are still to be found out. */
type KnownTurn = { readonly events: Emitted[] } | { readonly write: Write };
type Turn = KnownTurn | { readonly read: Read; readonly harmless: readonly string[] };

function collect(turns: Turn[]): Emit {
  const emit = (event: EventDraft, audience: Audience, withId?: (id: number) => Promise<unknown>) => {
    const emitted = { event, audience, withId };
    const last = turns.at(-1);
    if (last !== undefined && 'events' in last) last.events.push(emitted);
    else turns.push({ events: [emitted] });
  };
  return Object.assign(emit, {
    writing: (write: Write) => void turns.push({ write }),
    reading: (read: Read, harmless: readonly string[]) => void turns.push({ read, harmless }),
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
  const { app, realmId } = scope;
  if (app.transaction !== undefined) return changeWithin(app.transaction, scope, change);
  const { result, events } = await retrying(() => committing(scope, (tx) => make(tx, scope, change)));
  if (events.length > 0) app.hub.publish(realmId, events);
  return result;
}

/** What a change comes to. */
interface Made<T> extends Appended {
  readonly result: T;
}

/** What one statement has logged. */
export interface Appended {
  readonly events: readonly StoredEvent[];
  /** The transaction's id; undefined when it appended nothing. */
  readonly xid?: string;
}

async function make<T>(
  tx: Tx,
  { app, realmId }: ChangeScope,
  change: (tx: Tx, emit: Emit) => Promise<T>,
): Promise<Made<T>> {
  const turns: Turn[] = [];
  const result = await change(tx, collect(turns));
  return { result, ...(await appendAll(tx, realmId, turns, app.now())) };
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
    const turns: Turn[] = [];
    const result = await change(tx, collect(turns));
    transaction.unlogged.push(async () => {
      const { events } = await appendAll(tx, realmId, turns, app.now());
      return { realmId, events };
    });
    const logged = turns.every(canWait) ? [] : await logAll(transaction);
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

/** Whether nothing that the change has to do waits for the ids. */
const canWait = (turn: Turn): boolean =>
  'read' in turn || ('events' in turn && turn.events.every(({ withId }) => withId === undefined));

/** Logs, in its turn, what changes of a request have left to be logged. To be told of after the commit. */
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

async function appendAll(tx: Tx, realmId: number, turns: readonly Turn[], now: Date): Promise<Appended> {
  const events: StoredEvent[] = [];
  let xid: string | undefined;
  for (const turn of await foundOut(tx, realmId, turns)) {
    const appended = 'write' in turn ? await turn.write(tx) : await append(tx, { realmId, now }, turn.events);
    events.push(...appended.events);
    xid = appended.xid ?? xid;
  }
  return { events, ...(xid !== undefined && { xid }) };
}

/**
 * The turns with all that is still to be found out. What was read is so for as long as nobody else has logged anything that
 * changes it since before it was read, because all that changes what can be read is logged. Else it is read anew with the
 * counter held, for which the organisation waits.
 */
async function foundOut(tx: Tx, realmId: number, turns: readonly Turn[]): Promise<readonly KnownTurn[]> {
  const readings = turns.filter((turn) => 'read' in turn);
  if (readings.length === 0) return turns as KnownTurn[];
  const findOut = async () => {
    const found: KnownTurn[] = [];
    for (const turn of turns) found.push('read' in turn ? { events: [...(await turn.read(tx))] } : turn);
    return found;
  };
  const { lastId } = await readCounter(tx, realmId);
  const found = await findOut();
  const [harmless = [], ...others] = readings.map((turn) => turn.harmless);
  const harmlessToAll = harmless.filter((type) => others.every((types) => types.includes(type)));
  return (await holdLog(tx, realmId, lastId, harmlessToAll)) ? findOut() : found;
}

/**
 * Keeps the log from growing until the change is over.
 *
 * @returns Whether events of other than the harmless types were logged after `seen`.
 */
async function holdLog(tx: Tx, realmId: number, seen: number, harmless: readonly string[]): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ hold_log: boolean }[]>`
    SELECT hold_log(${realmId}::int, ${seen}::bigint, ${[...harmless]}::text[])`;
  return row?.hold_log !== false;
}

/** Where events are logged, and when. */
interface Log {
  readonly realmId: number;
  readonly now: Date;
}

/** One statement: bumps the counter, which stays locked until the commit, and inserts the events under its new ids. */
async function append(tx: Tx, { realmId, now }: Log, emitted: readonly Emitted[]): Promise<Appended> {
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
  const [counter] = await tx.$queryRaw<{ base: bigint; xid: string }[]>`
    WITH counter AS (
      UPDATE event_counter SET last_id = last_id + ${offset} WHERE realm_id = ${realmId}
      RETURNING last_id - ${offset} AS base
    ), logged AS (
      INSERT INTO event (realm_id, id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids,
                         public_channel_id, width, ephemeral, created_at)
      SELECT ${realmId}, counter.base + e."offset", e.type, e.op, e.payload, e.max_role, e.channel_ids, e.user_ids,
             e.except_user_ids, e.public_channel_id, e.width, e.ephemeral, ${now}
      FROM counter, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS e(
        "offset" int, type text, op text, payload jsonb, max_role smallint, channel_ids int[], user_ids int[],
        except_user_ids int[], public_channel_id int, width int, ephemeral boolean)
    )
    SELECT base, pg_current_xact_id()::text AS xid FROM counter`;
  if (counter === undefined) throw new Error(`Realm ${realmId} has no event counter`);
  const base = Number(counter.base);
  const stored = emitted.map(({ event, audience }, i) => {
    const json = JSON.stringify(event.payload);
    return {
      id: base + (rows[i]?.offset ?? 0),
      type: event.type,
      op: event.op ?? null,
      // As a reader of the table gets it, so that what is heard live cannot differ from replay (dates, undefined).
      payload: JSON.parse(json) as unknown,
      audience,
      width: event.width,
      ephemeral: event.ephemeral,
      createdAt: now,
      bytes: json.length,
    };
  });
  for (const [i, { withId }] of emitted.entries()) await withId?.(stored[i]?.id ?? 0);
  return { events: stored, xid: counter.xid };
}

const EVENT_COLUMNS = Prisma.sql`id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids,
  public_channel_id, width, ephemeral, created_at, octet_length(payload::text) AS bytes`;

interface EventRow {
  id: bigint;
  type: string;
  op: string | null;
  payload: unknown;
  max_role: number | null;
  channel_ids: number[];
  user_ids: number[];
  except_user_ids: number[];
  public_channel_id: number | null;
  width: number;
  ephemeral: boolean;
  created_at: Date;
  bytes: number;
}

function fromRow(row: EventRow): StoredEvent {
  return {
    id: Number(row.id),
    type: row.type,
    op: row.op,
    payload: row.payload,
    audience: {
      maxRole: row.max_role,
      channelIds: row.channel_ids,
      userIds: row.user_ids,
      exceptUserIds: row.except_user_ids,
      publicChannelId: row.public_channel_id,
    },
    width: row.width,
    ephemeral: row.ephemeral,
    createdAt: row.created_at,
    bytes: row.bytes,
  };
}

/** Where a realm's log stands: its last id, and the id up to which it is pruned. */
export async function readCounter(db: SqlClient, realmId: number): Promise<{ lastId: number; prunedThrough: number }> {
  const [row] = await db.$queryRaw<{ last_id: bigint; pruned_through: bigint }[]>`
    SELECT last_id, pruned_through FROM event_counter WHERE realm_id = ${realmId}`;
  if (row === undefined) throw new Error(`Realm ${realmId} has no event counter`);
  return { lastId: Number(row.last_id), prunedThrough: Number(row.pruned_through) };
}

/** Every realm of `realmIds` and its last id. */
export async function readCounters(db: SqlClient, realmIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await db.$queryRaw<{ realm_id: number; last_id: bigint }[]>`
    SELECT realm_id, last_id FROM event_counter WHERE realm_id = ANY(${[...realmIds]})`;
  return new Map(rows.map(({ realm_id, last_id }) => [realm_id, Number(last_id)]));
}

/** Moves the counter on by one, so that an id can be given to what is no event. Returns the new last id. */
export async function bumpCounter(db: SqlClient, realmId: number): Promise<number> {
  const [row] = await db.$queryRaw<{ last_id: bigint }[]>`
    UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = ${realmId} RETURNING last_id`;
  if (row === undefined) throw new Error(`Realm ${realmId} has no event counter`);
  return Number(row.last_id);
}

/**
 * Where the realm's log ends, and its events after `after`, in order, at most `limit`. One statement, so that all of them up
 * to the end are there.
 */
export async function readLogAfter(
  db: SqlClient,
  realmId: number,
  { after, limit }: { after: number; limit: number },
): Promise<{ lastId: number; events: StoredEvent[] }> {
  const rows = await db.$queryRaw<({ last_id: bigint } & (EventRow | { id: null }))[]>`
    SELECT c.last_id, e.* FROM event_counter c
    LEFT JOIN LATERAL (
      SELECT ${EVENT_COLUMNS} FROM event WHERE realm_id = c.realm_id AND id > ${after} ORDER BY id LIMIT ${limit}
    ) AS e ON true
    WHERE c.realm_id = ${realmId} ORDER BY e.id`;
  const [first] = rows;
  if (first === undefined) throw new Error(`Realm ${realmId} has no event counter`);
  return { lastId: Number(first.last_id), events: rows.flatMap((row) => (row.id === null ? [] : fromRow(row))) };
}

/** A stretch of the log in which a user was subscribed to a channel: `began` <= id < `ended`. */
export interface SubscriptionStretch {
  readonly channelId: number;
  readonly began: number;
  readonly ended: number | null;
}

/** A user's stretches that reach past `after`. */
export async function readStretches(db: SqlClient, userId: number, after: number): Promise<SubscriptionStretch[]> {
  const rows = await db.$queryRaw<{ channel_id: number; began: bigint; ended: bigint | null }[]>`
    SELECT channel_id, began_event_id AS began, ended_event_id AS ended FROM subscription_period
    WHERE user_id = ${userId} AND (ended_event_id IS NULL OR ended_event_id > ${after})`;
  return rows.map(({ channel_id, began, ended }) => ({
    channelId: channel_id,
    began: Number(began),
    ended: ended === null ? null : Number(ended),
  }));
}

/** A user's role changes after `after`, in order. */
export async function readRoleChanges(db: SqlClient, userId: number, after: number) {
  const rows = await db.$queryRaw<{ event_id: bigint; old_role: number; new_role: number }[]>`
    SELECT event_id, old_role, new_role FROM role_change WHERE user_id = ${userId} AND event_id > ${after}
    ORDER BY event_id`;
  return rows.map(({ event_id, old_role, new_role }) => ({
    id: Number(event_id),
    oldRole: old_role,
    newRole: new_role,
  }));
}

/**
 * What may concern one user in the log after `after`, through `through`, in order, at most `limit` rows: what roles
 * hear, what their channels heard while they were subscribed, and what names them. A superset of what they hear, that
 * `hears` decides; each branch reads only its own part of an index, so that a busy realm is never scanned.
 */
export async function readLogFor(
  db: SqlClient,
  realmId: number,
  user: { userId: number; stretches: readonly SubscriptionStretch[]; allPublicChannels: boolean },
  { after, through, limit }: { after: number; through: number; limit: number },
): Promise<StoredEvent[]> {
  const range = Prisma.sql`realm_id = ${realmId} AND id > ${after} AND id <= ${through}`;
  const page = Prisma.sql`ORDER BY id LIMIT ${limit}`;
  const stretches = JSON.stringify(user.stretches);
  const ofChannels = (place: Prisma.Sql) => Prisma.sql`
    SELECT e.id FROM jsonb_to_recordset(${stretches}::jsonb) AS s("channelId" int, began bigint, ended bigint),
    LATERAL (
      SELECT id FROM event WHERE ${range} AND ${place} = s."channelId"
        AND id >= s.began AND (s.ended IS NULL OR id < s.ended) ${page}
    ) AS e`;
  const publicMessages = user.allPublicChannels
    ? Prisma.sql`UNION (SELECT id FROM event WHERE ${range} AND public_channel_id IS NOT NULL ${page})`
    : Prisma.empty;
  const rows = await db.$queryRaw<EventRow[]>`
    SELECT ${EVENT_COLUMNS} FROM event JOIN (SELECT id AS wanted_id FROM (
      (SELECT id FROM event WHERE ${range} AND max_role IS NOT NULL ${page})
      UNION (SELECT id FROM event WHERE ${range} AND user_ids[1] = ${user.userId} ${page})
      UNION (SELECT id FROM event WHERE ${range} AND user_ids[2] = ${user.userId} ${page})
      UNION (SELECT id FROM event WHERE ${range} AND user_ids[3] IS NOT NULL AND user_ids @> ${[user.userId]}::int[] ${page})
      UNION (${ofChannels(Prisma.sql`channel_ids[1]`)})
      UNION (${ofChannels(Prisma.sql`channel_ids[2]`)})
      ${publicMessages}
    ) AS concerned ORDER BY id LIMIT ${limit}) AS wanted ON id = wanted_id
    WHERE realm_id = ${realmId} ORDER BY id`;
  return rows.map(fromRow);
}

import { randomUUID } from 'node:crypto';
import { Prisma } from '../generated/prisma/client.ts';
import { databaseClock, milliseconds } from '../platform/db/clock.ts';
import type { LogContext } from './context.ts';
import type { RevokedCredentials } from './define.ts';
import { BadEventQueueIdError, type QueueLoss } from './errors.ts';
import { Queue, type QueueRow, type ReaderAccess, type ReaderEnd } from './queue.ts';
import type { QueueOptions } from './view.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Our choice: a queue without a reader is dropped from memory, not from the database, after this. */
const FORGET_MS = 120_000;
const EXPIRY_MARGIN_MS = 60_000;
const MAX_REFRESH_MS = 60_000;
/** Our choice: more of one user's queues than any client may still come back to. Of older ones it is told "unknown". */
const MAX_TOMBSTONES = 1_000;
/** What a queue is made of. */
const COLUMNS = Prisma.sql`id::text AS id, realm_id AS "realmId", user_id AS "userId", options,
  idle_timeout_secs AS "idleTimeoutSecs", start_id AS "startId", acked_id AS "ackedId",
  scanned_through AS "scannedThrough", reader_epoch AS "readerEpoch"`;

/** An id for a queue, that a client may be told before there is the queue. */
export const newQueueId = (): string => randomUUID();

/** A queue to be made. */
interface NewQueue {
  readonly id: string;
  readonly options: QueueOptions;
  readonly idleTimeoutSecs: number;
  readonly startId: number;
}

/** Whose queue it is, as far as the log knows people. */
export interface QueueOwner {
  readonly id: number;
  readonly realm: { readonly id: number };
  readonly clientName: string;
}

/**
 * The queues read on this node.
 *
 * The database holds every queue; memory holds those with a reader here. Positions are written in one batch every few
 * seconds, only where the reader epoch is still ours: a node that took the queue over counts, we no longer do.
 *
 * What is written or compared in the database goes by its clock, which all nodes share; by our own only how much time has
 * passed here.
 */
export class QueueRegistry {
  readonly #app: LogContext;
  readonly #node = randomUUID();
  readonly #queues = new Map<string, Queue>();
  readonly #claims = new Map<string, Promise<Queue>>();
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(app: LogContext) {
    this.#app = app;
  }

  start(): void {
    const tick = async () => {
      await this.#endLapsed();
      await this.flush();
      if (!this.#stopped) this.#timer = setTimeout(tick, this.#app.config.queueWriteMs);
    };
    this.#timer = setTimeout(tick, this.#app.config.queueWriteMs);
  }

  /** Ends all readers so that clients go to another node, and writes the positions. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#endReaders('stopping');
    await this.flush();
  }

  /** Ends all readers because nothing can be read for them here. Their queues stay, and any node serves them. */
  cutOff(): void {
    this.#endReaders('unavailable');
  }

  /** Ends all readers, and forgets all queues: with the log's epoch the database has ended every one. */
  endEpoch(): void {
    for (const queue of this.#queues.values()) queue.reader?.end(new BadEventQueueIdError(queue.id, 'restored'));
    this.#queues.clear();
  }

  #endReaders(why: ReaderEnd): void {
    for (const queue of this.#queues.values()) queue.reader?.end(why);
  }

  /**
   * Makes a queue for the viewer. Where that is one more than a user may have, the least recently used one ends; one that
   * is being read is that only when all of them are.
   *
   * @param id One that no queue has: `newQueueId`.
   * @param startId The log's last id in the snapshot the client was given.
   * @param idleTimeoutSecs 1 to 604800: how long the queue lives with nobody reading.
   */
  async register({ viewer }: { readonly viewer: QueueOwner }, queue: NewQueue): Promise<void> {
    const { id, options, idleTimeoutSecs, startId } = queue;
    const now = databaseClock(this.#app);
    const { queuesPerUser, queueWriteMs } = this.#app.config;
    const read = [...this.#queues.values()].filter((queue) => queue.userId === viewer.id && queue.reader !== undefined);
    // Another node writes that it reads a queue within this time; a queue that was read this recently may be read
    // again.
    const fresh = Prisma.sql`${now} - ${milliseconds(MAX_REFRESH_MS + 2 * queueWriteMs)}`;
    const lifetime = milliseconds(this.#lifetime(idleTimeoutSecs * 1000));
    const ended = await this.#app.db.$queryRaw<{ id: string }[]>`
      SELECT ended_id::text AS id FROM make_event_queue(
        p_id => ${id}::uuid,
        p_realm_id => ${viewer.realm.id}::int,
        p_user_id => ${viewer.id}::int,
        p_options => ${JSON.stringify(options)}::jsonb,
        p_idle_timeout_secs => ${idleTimeoutSecs}::int,
        p_client_name => ${viewer.clientName}::text,
        p_start_id => ${startId}::bigint,
        p_now => ${now},
        p_expires_at => ${now} + ${lifetime},
        p_read => ${read.map((queue) => queue.id)}::uuid[],
        p_fresh => ${fresh},
        p_max_live => ${queuesPerUser}::int,
        p_max_ended => ${MAX_TOMBSTONES}::int)`;
    for (const queue of ended) this.#drop(queue.id);
  }

  /**
   * The viewer's queue, held by this node.
   *
   * @param options.claim True for a reader that stays (a socket): it takes the queue over from any other node at once.
   *   A poll may rely on what the database confirmed within the last seconds.
   * @throws BadEventQueueIdError `unknown` for no queue or another user's, `expired` for one that is over, `restored` for one
   *   of another epoch of the log.
   */
  async open(
    { viewer }: { readonly viewer: QueueOwner },
    queueId: string,
    { claim }: { claim: boolean },
  ): Promise<Queue> {
    if (!UUID.test(queueId)) throw new BadEventQueueIdError(queueId, 'unknown');
    const now = this.#clock();
    const held = this.#queues.get(queueId);
    if (held !== undefined && held.userId !== viewer.id) throw new BadEventQueueIdError(queueId, 'unknown');
    if (held !== undefined && !claim) {
      const trusted = now - held.confirmed < 2 * this.#app.config.queueWriteMs;
      const alive = held.reader !== undefined || now < held.lastActive + held.idleTimeoutMs;
      if (trusted && alive) {
        held.lastActive = now;
        return held;
      }
    }
    // By user, so that the refusal of another user is not shared with the queue's owner.
    const key = `${viewer.id} ${queueId}`;
    const claiming = this.#claims.get(key) ?? this.#claim(viewer, queueId);
    this.#claims.set(key, claiming);
    try {
      return await claiming;
    } finally {
      if (this.#claims.get(key) === claiming) this.#claims.delete(key);
    }
  }

  /**
   * The viewer's queue to look at: held here if it is, else as the database has it. Whoever reads it goes on.
   *
   * @throws BadEventQueueIdError as `open`.
   */
  async look({ viewer }: { readonly viewer: QueueOwner }, queueId: string): Promise<Queue> {
    const held = this.#queues.get(queueId);
    if (held !== undefined && held.userId === viewer.id) return held;
    if (!UUID.test(queueId)) throw new BadEventQueueIdError(queueId, 'unknown');
    const [row] = await this.#app.db.$queryRaw<(QueueRow & { isOver: boolean; endReason: string | null })[]>`
      SELECT ${COLUMNS}, end_reason AS "endReason", ended_at IS NOT NULL OR expires_at <= ${databaseClock(this.#app)} AS "isOver"
      FROM event_queue WHERE id = ${queueId}::uuid AND realm_id = ${viewer.realm.id} AND user_id = ${viewer.id}`;
    if (row === undefined) throw new BadEventQueueIdError(queueId, 'unknown');
    if (row.isOver) throw new BadEventQueueIdError(queueId, lossOf(row));
    return new Queue(row, this.#clock());
  }

  /** Acknowledges everything up to `upTo` in a queue looked at, whichever node holds it. */
  async acknowledge(queue: Queue, upTo: number): Promise<void> {
    queue.acknowledge(upTo);
    if (this.#queues.get(queue.id) === queue) return;
    await this.#app.db.$executeRaw`
      UPDATE event_queue SET acked_id = GREATEST(acked_id, ${upTo}), scanned_through = GREATEST(scanned_through, ${upTo})
      WHERE id = ${queue.id}::uuid AND ended_at IS NULL`;
  }

  /**
   * Milliseconds on a clock that goes on as time passes, from any start: nobody sets it, as the wall clock is set. The embedded
   * database has the process's clock, and so has what is compared with it here.
   */
  #clock(): number {
    const { database, now } = this.#app;
    return database.kind === 'postgresql' ? performance.now() : now().getTime();
  }

  /** Takes the queue over for this node: from now on only our acknowledgements count. */
  async #claim(viewer: QueueOwner, queueId: string): Promise<Queue> {
    const { db } = this.#app;
    const now = this.#clock();
    const clock = databaseClock(this.#app);
    const mine = { id: queueId, realmId: viewer.realm.id, userId: viewer.id };
    const [row] = await db.$queryRaw<QueueRow[]>`
      UPDATE event_queue SET reader_epoch = reader_epoch + 1, holder = ${this.#node}, last_active_at = ${clock}
      WHERE id = ${queueId}::uuid AND realm_id = ${mine.realmId} AND user_id = ${mine.userId}
        AND ended_at IS NULL AND expires_at > ${clock}
      RETURNING ${COLUMNS}`;
    if (row === undefined) {
      if (this.#queues.get(queueId)?.userId === viewer.id) this.#drop(queueId);
      const over = await db.eventQueue.findFirst({ where: mine, select: { endReason: true } });
      throw new BadEventQueueIdError(queueId, over === null ? 'unknown' : lossOf(over));
    }
    const held = this.#queues.get(queueId);
    if (held === undefined) {
      const queue = new Queue(row, now);
      this.#queues.set(queueId, queue);
      return queue;
    }
    held.epoch = Math.max(held.epoch, row.readerEpoch);
    held.acknowledge(Number(row.ackedId));
    held.lastActive = now;
    held.confirmed = now;
    return held;
  }

  /**
   * Ends the viewer's queue for good. Its reader, here or on another node, is told.
   *
   * @throws BadEventQueueIdError when it is unknown, another user's, or over already.
   */
  async delete(ctx: { readonly viewer: QueueOwner }, queueId: string): Promise<void> {
    const queue = await this.open(ctx, queueId, { claim: true });
    await this.#app.db.$executeRaw`
      UPDATE event_queue SET ended_at = ${databaseClock(this.#app)}, end_reason = 'deleted', options = '{}'
      WHERE id = ${queue.id}::uuid AND ended_at IS NULL`;
    queue.reader?.end('deleted');
    this.#drop(queueId);
  }

  /** Ends what a user reads here by these credentials; the queues stay for whoever may still sign in as them. */
  revokeReaders(userId: number, credentials: RevokedCredentials): void {
    for (const { userId: owner, reader } of this.#queues.values()) {
      if (owner === userId && reader !== undefined && isBy(reader.access, credentials)) reader.end('revoked');
    }
  }

  /** Ends what is read here in sessions that are over by now. One that was made longer meanwhile goes on. */
  async #endLapsed(): Promise<void> {
    const now = this.#app.now().getTime();
    const readers = [...this.#queues.values()].flatMap(({ reader }) => reader ?? []);
    const due = readers.filter(({ access: { endsAt } }) => endsAt !== undefined && endsAt <= now);
    try {
      await Promise.all(due.map(async (reader) => (await reader.access.mayStay()) || reader.end('revoked')));
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not look whether sessions are over; trying again');
    }
  }

  /** Ends queues nobody has read for longer than they may live, by a margin for nodes that could not write for a while. */
  async expire(): Promise<number> {
    await this.flush();
    const now = databaseClock(this.#app);
    // The options of a queue that has ended are not needed any more.
    const expired = await this.#app.db.$queryRaw<{ id: string }[]>`
      UPDATE event_queue SET ended_at = ${now}, end_reason = 'expired', options = '{}'
      WHERE ended_at IS NULL AND expires_at <= ${now} - ${milliseconds(EXPIRY_MARGIN_MS)}
      RETURNING id::text AS id`;
    for (const { id } of expired) this.#drop(id);
    return expired.length;
  }

  #drop(queueId: string): void {
    this.#queues.get(queueId)?.reader?.end(new BadEventQueueIdError(queueId, 'expired'));
    this.#queues.delete(queueId);
  }

  /**
   * How long a queue lives after it was last read, in milliseconds. Expiry is written seldom, so it allows for the time
   * between two writes.
   */
  #lifetime(idleTimeoutMs: number): number {
    return idleTimeoutMs + refreshMs(idleTimeoutMs) + 2 * this.#app.config.queueWriteMs;
  }

  /** Writes what changed. One write at a time; a failed one is tried again at the next turn. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      try {
        await this.#write();
      } catch (error) {
        this.#app.log.warn({ err: error }, 'could not write queue positions; trying again');
      }
    });
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const now = this.#clock();
    const due = new Map<string, Queue>();
    const silent = new Map<string, Queue>();
    for (const queue of this.#queues.values()) {
      if (queue.reader !== undefined) queue.lastActive = now;
      const isDue = queue.dirty || queue.lastActive - queue.writtenActive >= refreshMs(queue.idleTimeoutMs);
      if (isDue) due.set(queue.id, queue);
      else if (queue.reader !== undefined) silent.set(queue.id, queue);
      else if (now - queue.lastActive > FORGET_MS) this.#queues.delete(queue.id);
    }
    const epochs = new Map([...due, ...silent].map(([id, { epoch }]) => [id, epoch]));
    const confirmed = new Set([...(await this.#writeDue(due, now)), ...(await this.#readOurs(silent))]);
    const gone: Queue[] = [];
    for (const [id, queue] of [...due, ...silent]) {
      if (confirmed.has(id)) queue.confirmed = now;
      // Claimed by this node again meanwhile: the row's epoch has moved on, and the position is written next time.
      else if (this.#claims.has(`${queue.userId} ${id}`) || epochs.get(id) !== queue.epoch) queue.dirty = true;
      else gone.push(queue);
    }
    for (const { id } of gone) this.#queues.delete(id);
    await this.#endGone(gone.filter(({ reader }) => reader !== undefined));
  }

  /** Ends the readers of queues that are not ours any more: taken by another node, or lost where the database was restored. */
  async #endGone(queues: readonly Queue[]): Promise<void> {
    if (queues.length === 0) return;
    try {
      const rows = await this.#app.db.$queryRaw<{ id: string; endReason: string | null }[]>`
        SELECT id::text AS id, end_reason AS "endReason" FROM event_queue
        WHERE id = ANY(${queues.map(({ id }) => id)}::uuid[])`;
      const found = new Map(rows.map((row) => [row.id, row]));
      for (const { id, reader } of queues) {
        const row = found.get(id);
        const loss = row === undefined ? 'unknown' : lossOf(row);
        reader?.end(loss === 'expired' ? 'displaced' : new BadEventQueueIdError(id, loss));
      }
    } catch (error) {
      for (const { reader } of queues) reader?.end('unavailable');
      throw error;
    }
  }

  /** Writes positions. @returns The ids of the queues that are still ours. */
  async #writeDue(due: ReadonlyMap<string, Queue>, now: number): Promise<readonly string[]> {
    if (due.size === 0) return [];
    const rows = [...due.values()].map((queue) => {
      queue.dirty = false;
      queue.writtenActive = queue.lastActive;
      return {
        id: queue.id,
        epoch: queue.epoch,
        acked: queue.acked,
        scanned: queue.scanned,
        idle_ms: Math.max(0, now - queue.lastActive),
        lifetime_ms: this.#lifetime(queue.idleTimeoutMs),
      };
    });
    try {
      return await this.#writeRows(rows);
    } catch (error) {
      for (const queue of due.values()) queue.dirty = true;
      throw error;
    }
  }

  /** Which of the queues with a reader here, but with nothing to write, no other node has taken or ended. */
  async #readOurs(silent: ReadonlyMap<string, Queue>): Promise<readonly string[]> {
    if (silent.size === 0) return [];
    const rows = await this.#app.db.$queryRaw<{ id: string; reader_epoch: number }[]>`
      SELECT id::text AS id, reader_epoch FROM event_queue
      WHERE id = ANY(${[...silent.keys()]}::uuid[]) AND ended_at IS NULL`;
    return rows.filter(({ id, reader_epoch }) => reader_epoch === silent.get(id)?.epoch).map(({ id }) => id);
  }

  async #writeRows(rows: readonly object[]): Promise<readonly string[]> {
    const clock = databaseClock(this.#app);
    const written = await this.#app.db.$queryRaw<{ id: string }[]>`
      UPDATE event_queue AS q
      SET acked_id = GREATEST(q.acked_id, v.acked), scanned_through = GREATEST(q.scanned_through, v.scanned),
          last_active_at = ${clock} - v.idle_ms * interval '1 millisecond',
          expires_at = ${clock} + (v.lifetime_ms - v.idle_ms) * interval '1 millisecond'
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS v(
        id uuid, epoch int, acked bigint, scanned bigint, idle_ms float8, lifetime_ms float8)
      WHERE q.id = v.id AND q.reader_epoch = v.epoch AND q.ended_at IS NULL
      RETURNING q.id::text AS id`;
    return written.map(({ id }) => id);
  }
}

/** What a queue that is over is to its reader. */
const lossOf = ({ endReason }: { readonly endReason: string | null }): QueueLoss =>
  endReason === 'restored' ? 'restored' : 'expired';

/** Whether something is read by credentials that were revoked. */
function isBy({ sessionId }: ReaderAccess, credentials: RevokedCredentials): boolean {
  if (credentials === 'all') return true;
  return sessionId === undefined ? credentials === 'key' : credentials !== 'key' && credentials.includes(sessionId);
}

/** How old the written time of the last read may get: our choice, a quarter of the idle life, at most a minute. */
function refreshMs(idleTimeoutMs: number): number {
  return Math.min(idleTimeoutMs / 4, MAX_REFRESH_MS);
}

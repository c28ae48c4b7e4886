import { randomUUID } from 'node:crypto';
import { Prisma } from '../generated/prisma/client.ts';
import { databaseClock, milliseconds } from '../platform/db/clock.ts';
import type { LogContext } from './context.ts';
import type { RevokedCredentials } from './define.ts';
import { BadEventQueueIdError } from './errors.ts';
import { Queue, type QueueRow, type ReaderAccess, type ReaderEnd } from './queue.ts';
import { lifetimeMs, lossOf, MAX_REFRESH_MS, passedMs, QueuePositions } from './queue-positions.ts';
import type { QueueOptions } from './view.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EXPIRY_MARGIN_MS = 60_000;
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
 * The database holds every queue; memory holds those with a reader here. Positions are written in batches every few
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
  readonly #positions: QueuePositions;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(app: LogContext) {
    this.#app = app;
    const isClaimed = ({ userId, id }: Queue) => this.#claims.has(`${userId} ${id}`);
    this.#positions = new QueuePositions(app, this.#queues, isClaimed);
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
    const lifetime = milliseconds(lifetimeMs(this.#app, idleTimeoutSecs * 1000));
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
    const now = passedMs(this.#app);
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
      FROM event_queue WHERE realm_id = ${viewer.realm.id} AND id = ${queueId}::uuid AND user_id = ${viewer.id}`;
    if (row === undefined) throw new BadEventQueueIdError(queueId, 'unknown');
    if (row.isOver) throw new BadEventQueueIdError(queueId, lossOf(row));
    return new Queue(row, passedMs(this.#app));
  }

  /** Acknowledges everything up to `upTo` in a queue looked at, whichever node holds it. */
  async acknowledge(queue: Queue, upTo: number): Promise<void> {
    queue.acknowledge(upTo);
    if (this.#queues.get(queue.id) === queue) return;
    await this.#app.db.$executeRaw`
      UPDATE event_queue SET acked_id = GREATEST(acked_id, ${upTo}), scanned_through = GREATEST(scanned_through, ${upTo})
      WHERE realm_id = ${queue.realmId} AND id = ${queue.id}::uuid AND ended_at IS NULL`;
  }

  /** Takes the queue over for this node: from now on only our acknowledgements count. */
  async #claim(viewer: QueueOwner, queueId: string): Promise<Queue> {
    const { db } = this.#app;
    const now = passedMs(this.#app);
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
      WHERE realm_id = ${queue.realmId} AND id = ${queue.id}::uuid AND ended_at IS NULL`;
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

  /** Writes what changed. One write at a time; a failed one is tried again at the next turn. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      try {
        await this.#positions.write();
      } catch (error) {
        this.#app.log.warn({ err: error }, 'could not write queue positions; trying again');
      }
    });
    return this.#flushing;
  }
}

/** Whether something is read by credentials that were revoked. */
function isBy({ sessionId }: ReaderAccess, credentials: RevokedCredentials): boolean {
  if (credentials === 'all') return true;
  return sessionId === undefined ? credentials === 'key' : credentials !== 'key' && credentials.includes(sessionId);
}

import { randomUUID } from 'node:crypto';
import { Prisma } from '../generated/prisma/client.ts';
import { databaseClock, milliseconds } from '../platform/db/clock.ts';
import type { LogContext } from './context.ts';
import type { RevokedCredentials } from './define.ts';
import { BadEventQueueIdError } from './errors.ts';
import { Queue, type QueueRow, type ReaderAccess } from './queue.ts';
import { lifetimeMs, lossOf, MAX_REFRESH_MS, passedMs, QueuePositions } from './queue-positions.ts';
import type { QueueOptions } from './view.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EXPIRY_MARGIN_MS = 60_000;
/**
 * Maximum number of ended queues per user whose rows stay in the database: more than clients still request. Older queues are
 * reported as `unknown`.
 */
const MAX_TOMBSTONES = 1_000;
/** SELECT list with the columns of a `QueueRow`. */
const COLUMNS = Prisma.sql`id::text AS id, realm_id AS "organizationId", user_id AS "userId", options,
  idle_timeout_secs AS "idleTimeoutSecs", start_id AS "startId", acked_id AS "ackedId",
  scanned_through AS "scannedThrough", reader_epoch AS "readerEpoch"`;

/** Returns an id for a new queue. A client may receive the id before the queue exists. */
export const newQueueId = (): string => randomUUID();

interface NewQueue {
  readonly id: string;
  readonly options: QueueOptions;
  readonly idleTimeoutSecs: number;
  readonly startId: number;
}

/** The owner of a queue, with the fields that the log needs. */
export interface QueueOwner {
  readonly id: number;
  readonly organization: { readonly id: number };
  readonly clientName: string;
}

/**
 * The queues that are read on this node.
 *
 * The database holds every queue; memory holds the queues that are read here. Positions are written in batches every few
 * seconds. The reader epoch of a queue is a number that increases when a node claims the queue. If another node has claimed the
 * queue, positions from this node are not written.
 *
 * Times that are stored or compared in the database come from the database's clock, because all nodes share it. The clock of
 * this node only measures elapsed time.
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

  /**
   * Ends all readers, so that clients connect to another node, and writes the positions of the queues. A reader that begins
   * later ends immediately.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const queue of this.#queues.values()) queue.refuseReaders('stopping');
    await this.flush();
  }

  /** Ends all readers because this node cannot read the log for them. Their queues remain, and any node serves them. */
  cutOff(): void {
    for (const { reader } of this.#queues.values()) reader?.end('unavailable');
  }

  /**
   * Ends the readers of organizations that have moved to another database, and drops their queues here. The other database
   * contains the same queues.
   */
  leave(organizationIds: readonly number[]): void {
    const away = new Set(organizationIds);
    for (const queue of this.#queues.values()) {
      if (!away.has(queue.organizationId)) continue;
      queue.reader?.end('unavailable');
      this.#queues.delete(queue.id);
    }
  }

  /**
   * Ends all readers and drops all queues, because a new epoch of the log has begun, and the database has ended every queue.
   */
  endEpoch(): void {
    for (const queue of this.#queues.values()) queue.reader?.end(new BadEventQueueIdError(queue.id, 'restored'));
    this.#queues.clear();
  }

  /**
   * Creates a queue for the viewer. If the user then has more queues than the operator's limit (EVENT_QUEUES_PER_USER), the
   * least recently used one ends. A queue that is being read ends only if all queues of the user are being read.
   *
   * @param id An id that no queue has, from `newQueueId`.
   * @param startId The last id of the log in the snapshot that the client received.
   * @param idleTimeoutSecs 1 to `MAX_IDLE_SECONDS`: lifetime of the queue without a reader.
   */
  async register({ viewer }: { readonly viewer: QueueOwner }, queue: NewQueue): Promise<void> {
    const { id, options, idleTimeoutSecs, startId } = queue;
    const now = databaseClock(this.#app);
    const { queuesPerUser, queueWriteMs } = this.#app.config;
    const read = [...this.#queues.values()].filter((queue) => queue.userId === viewer.id && queue.reader !== undefined);
    // While a queue has a reader, its node updates the stored time of the last read at least this often. So a queue with a more
    // recent time may have a reader on another node.
    const fresh = Prisma.sql`${now} - ${milliseconds(MAX_REFRESH_MS + 2 * queueWriteMs)}`;
    const lifetime = milliseconds(lifetimeMs(this.#app, idleTimeoutSecs * 1000));
    const ended = await this.#app.db.$queryRaw<{ id: string }[]>`
      SELECT ended_id::text AS id FROM make_event_queue(
        p_id => ${id}::uuid,
        p_realm_id => ${viewer.organization.id}::int,
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
   * Returns the viewer's queue. This node then holds the queue: acknowledgements on other nodes no longer count.
   *
   * @param options.claim Whether to claim the queue from any other node immediately, for a reader that stays connected (a
   *   socket). If false, as for a poll, a recent confirmation by the database that this node holds the queue suffices.
   * @throws BadEventQueueIdError `unknown` if the viewer has no such queue, `expired` if it has ended, `restored` if it belongs
   *   to another epoch of the log.
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
    // Concurrent claims are shared by user and queue, so that the refusal of another user is not shared with the queue's owner.
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
   * Returns the viewer's queue for inspection: the queue in memory, else a copy from the database. The current reader of the
   * queue continues.
   *
   * @throws BadEventQueueIdError `unknown` if the viewer has no such queue, `expired` if it has ended, `restored` if it belongs
   *   to another epoch of the log.
   */
  async look({ viewer }: { readonly viewer: QueueOwner }, queueId: string): Promise<Queue> {
    const held = this.#queues.get(queueId);
    if (held !== undefined && held.userId === viewer.id) return held;
    if (!UUID.test(queueId)) throw new BadEventQueueIdError(queueId, 'unknown');
    const [row] = await this.#app.db.$queryRaw<(QueueRow & { isOver: boolean; endReason: string | null })[]>`
      SELECT ${COLUMNS}, end_reason AS "endReason", ended_at IS NOT NULL OR expires_at <= ${databaseClock(this.#app)} AS "isOver"
      FROM event_queue WHERE realm_id = ${viewer.organization.id} AND id = ${queueId}::uuid AND user_id = ${viewer.id}`;
    if (row === undefined) throw new BadEventQueueIdError(queueId, 'unknown');
    if (row.isOver) throw new BadEventQueueIdError(queueId, lossOf(row));
    return new Queue(row, passedMs(this.#app));
  }

  /** Acknowledges all events up to the id `upTo` in a queue that `look` returned. The queue can be held by any node. */
  async acknowledge(queue: Queue, upTo: number): Promise<void> {
    queue.acknowledge(upTo);
    if (this.#queues.get(queue.id) === queue) return;
    await this.#app.db.$executeRaw`
      UPDATE event_queue SET acked_id = GREATEST(acked_id, ${upTo}), scanned_through = GREATEST(scanned_through, ${upTo})
      WHERE realm_id = ${queue.organizationId} AND id = ${queue.id}::uuid AND ended_at IS NULL`;
  }

  /** Claims the queue for this node: acknowledgements on other nodes no longer count. */
  async #claim(viewer: QueueOwner, queueId: string): Promise<Queue> {
    const { db } = this.#app;
    const now = passedMs(this.#app);
    const clock = databaseClock(this.#app);
    const mine = { id: queueId, organizationId: viewer.organization.id, userId: viewer.id };
    const [row] = await db.$queryRaw<QueueRow[]>`
      UPDATE event_queue SET reader_epoch = reader_epoch + 1, holder = ${this.#node}, last_active_at = ${clock}
      WHERE id = ${queueId}::uuid AND realm_id = ${mine.organizationId} AND user_id = ${mine.userId}
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
      if (this.#stopped) queue.refuseReaders('stopping');
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
   * Ends the viewer's queue permanently. Also ends the reader of the queue, here or on another node.
   *
   * @throws BadEventQueueIdError if the queue is unknown, belongs to another user, or has already ended.
   */
  async delete(ctx: { readonly viewer: QueueOwner }, queueId: string): Promise<void> {
    const queue = await this.open(ctx, queueId, { claim: true });
    await this.#app.db.$executeRaw`
      UPDATE event_queue SET ended_at = ${databaseClock(this.#app)}, end_reason = 'deleted', options = '{}'
      WHERE realm_id = ${queue.organizationId} AND id = ${queue.id}::uuid AND ended_at IS NULL`;
    queue.reader?.end('deleted');
    this.#drop(queueId);
  }

  /**
   * Ends the readers of a user on this node that authenticated with `credentials`. The queues remain for clients that can still
   * sign in as the user.
   */
  revokeReaders(userId: number, credentials: RevokedCredentials): void {
    for (const { userId: owner, reader } of this.#queues.values()) {
      if (owner === userId && reader !== undefined && isBy(reader.access, credentials)) reader.end('revoked');
    }
  }

  /**
   * Ends the readers on this node whose sessions or API keys have expired. If a session was extended after its end was last read, its
   * reader continues.
   */
  async #endLapsed(): Promise<void> {
    const now = this.#app.now().getTime();
    const readers = [...this.#queues.values()].flatMap(({ reader }) => reader ?? []);
    const due = readers.filter(({ access: { endsAt } }) => endsAt !== undefined && endsAt <= now);
    try {
      await Promise.all(due.map(async (reader) => (await reader.access.mayStay()) || reader.end('revoked')));
    } catch (error) {
      this.#app.log.warn({ err: error }, 'session expiry check failed, retrying');
    }
  }

  /**
   * Ends queues that were not read for longer than their lifetime. A margin covers nodes that could not write for a while.
   *
   * @returns Number of queues that were ended.
   */
  async expire(): Promise<number> {
    await this.flush();
    const now = databaseClock(this.#app);
    // A queue that has ended no longer needs its options.
    const expired = await this.#app.db.$queryRaw<{ id: string }[]>`
      UPDATE event_queue SET ended_at = ${now}, end_reason = 'expired', options = '{}'
      WHERE ended_at IS NULL AND expires_at <= ${now} - ${milliseconds(EXPIRY_MARGIN_MS)}
        AND EXISTS (SELECT FROM realm r WHERE r.id = realm_id)
      RETURNING id::text AS id`;
    for (const { id } of expired) this.#drop(id);
    return expired.length;
  }

  #drop(queueId: string): void {
    this.#queues.get(queueId)?.reader?.end(new BadEventQueueIdError(queueId, 'expired'));
    this.#queues.delete(queueId);
  }

  /** Writes the positions that changed. Writes run one at a time; a failed write is logged and retried at the next interval. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      try {
        await this.#positions.write();
      } catch (error) {
        this.#app.log.warn({ err: error }, 'queue position write failed, retrying');
      }
    });
    return this.#flushing;
  }
}

/** Returns whether a reader authenticated with credentials that were revoked. */
function isBy({ sessionId, namedKeyId }: ReaderAccess, credentials: RevokedCredentials): boolean {
  if (credentials === 'all') return true;
  if (credentials === 'key') return sessionId === undefined && namedKeyId === undefined;
  if ('namedKeys' in credentials) return namedKeyId !== undefined && credentials.namedKeys.includes(namedKeyId);
  return sessionId !== undefined && credentials.includes(sessionId);
}

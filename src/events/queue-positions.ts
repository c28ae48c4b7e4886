import { Prisma } from '../generated/prisma/client.ts';
import { databaseClock } from '../platform/db/clock.ts';
import { isDiskFull, isLockConflict } from '../platform/db/errors.ts';
import type { LogContext } from './context.ts';
import { BadEventQueueIdError, type QueueLoss } from './errors.ts';
import type { Queue, ReaderEnd } from './queue.ts';

/** Time, in milliseconds, after which a queue that is not read is removed from memory, but not from the database. */
const FORGET_MS = 120_000;
/**
 * Maximum number of queues whose state is written by one statement. The statement takes a few milliseconds. Further queues are
 * written by the next statement, and other work runs in between.
 */
const AT_ONCE = 1_000;
/** Maximum delay, in milliseconds, before the database contains the time of the last read of a queue that has a reader. */
export const MAX_REFRESH_MS = 60_000;

/**
 * A writer of the state of the queues that are read on this node: the position and the time of the last read. The reader epoch
 * of a queue is a number that increases whenever a node claims the queue. State is written in batches, and only for queues that
 * no other node has claimed, i.e. whose reader epoch is unchanged.
 */
export class QueuePositions {
  readonly #app: LogContext;
  readonly #queues: Map<string, Queue>;
  readonly #isClaimed: (queue: Queue) => boolean;

  /**
   * @param queues The queues held by this node, by id.
   * @param isClaimed Returns whether this node is currently claiming the queue again.
   */
  constructor(app: LogContext, queues: Map<string, Queue>, isClaimed: (queue: Queue) => boolean) {
    this.#app = app;
    this.#queues = queues;
    this.#isClaimed = isClaimed;
  }

  /**
   * Writes the state of the queues whose state has changed. Removes from memory the queues that are no longer read on this
   * node, or that this node no longer holds.
   */
  async write(): Promise<void> {
    const queues = [...this.#queues.values()];
    for (let at = 0; at < queues.length; at += AT_ONCE) await this.#writeSome(queues.slice(at, at + AT_ONCE));
  }

  async #writeSome(queues: readonly Queue[]): Promise<void> {
    const now = passedMs(this.#app);
    const due = new Map<string, Queue>();
    const silent = new Map<string, Queue>();
    for (const queue of queues) {
      // Skips a queue that was dropped while other queues were written.
      if (this.#queues.get(queue.id) !== queue) continue;
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
      // This node has claimed the queue again: the row's epoch has advanced, and the position is written next time.
      else if (this.#isClaimed(queue) || epochs.get(id) !== queue.epoch) queue.dirty = true;
      else gone.push(queue);
    }
    for (const { id } of gone) this.#queues.delete(id);
    await this.#endGone(gone.filter(({ reader }) => reader !== undefined));
  }

  /**
   * Ends the readers of queues that this node no longer holds. Each of these queues was claimed by another node, or has ended
   * for the reason that the database stores.
   */
  async #endGone(queues: readonly Queue[]): Promise<void> {
    if (queues.length === 0) return;
    try {
      const rows = await this.#app.db.$queryRaw<{ id: string; endReason: string | null }[]>`
        SELECT q.id::text AS id, q.end_reason AS "endReason" FROM ${keysOf(queues)}
        JOIN event_queue q ON q.realm_id = of.realm_id AND q.id = of.id`;
      const found = new Map(rows.map((row) => [row.id, row]));
      for (const { id, reader } of queues) reader?.end(endOf(id, found.get(id)));
    } catch (error) {
      for (const { reader } of queues) reader?.end('unavailable');
      throw error;
    }
  }

  /**
   * Writes positions and times of the last read. If this fails, the queues are marked to be written again. If the disk of the
   * database is full, or the changes of an organization are held, only reads which queues this node holds, so that clients can
   * continue to read these queues. The queues of an organization whose changes are held do not delay those of others.
   *
   * @returns The ids of the queues that this node still holds.
   */
  async #writeDue(due: ReadonlyMap<string, Queue>, now: number): Promise<readonly string[]> {
    if (due.size === 0) return [];
    const rows = [...due.values()].map((queue) => {
      queue.dirty = false;
      queue.writtenActive = queue.lastActive;
      return {
        id: queue.id,
        realm_id: queue.organizationId,
        epoch: queue.epoch,
        acked: queue.acked,
        scanned: queue.scanned,
        idle_ms: Math.max(0, now - queue.lastActive),
        lifetime_ms: lifetimeMs(this.#app, queue.idleTimeoutMs),
      };
    });
    try {
      return await this.#writeRows(rows);
    } catch (error) {
      const organizations = Map.groupBy(due.values(), ({ organizationId }) => organizationId);
      if (isLockConflict(error) && organizations.size > 1) {
        const written: string[] = [];
        for (const queues of organizations.values())
          written.push(...(await this.#writeDue(new Map(queues.map((queue) => [queue.id, queue])), now)));
        return written;
      }
      for (const queue of due.values()) queue.dirty = true;
      if (isDiskFull(error) || isLockConflict(error)) return this.#readOurs(due);
      throw error;
    }
  }

  /** Reads which of the queues no other node has claimed and no node has ended. Returns their ids. Writes nothing. */
  async #readOurs(queues: ReadonlyMap<string, Queue>): Promise<readonly string[]> {
    if (queues.size === 0) return [];
    const rows = await this.#app.db.$queryRaw<{ id: string; reader_epoch: number }[]>`
      SELECT q.id::text AS id, q.reader_epoch FROM ${keysOf([...queues.values()])}
      JOIN event_queue q ON q.realm_id = of.realm_id AND q.id = of.id AND q.ended_at IS NULL`;
    return rows.filter(({ id, reader_epoch }) => reader_epoch === queues.get(id)?.epoch).map(({ id }) => id);
  }

  async #writeRows(rows: readonly object[]): Promise<readonly string[]> {
    const clock = databaseClock(this.#app);
    const written = await this.#app.db.$queryRaw<{ id: string }[]>`
      UPDATE event_queue AS q
      SET acked_id = GREATEST(q.acked_id, v.acked), scanned_through = GREATEST(q.scanned_through, v.scanned),
          last_active_at = ${clock} - v.idle_ms * interval '1 millisecond',
          expires_at = ${clock} + (v.lifetime_ms - v.idle_ms) * interval '1 millisecond'
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS v(
        id uuid, realm_id int, epoch int, acked bigint, scanned bigint, idle_ms float8, lifetime_ms float8)
      WHERE q.realm_id = v.realm_id AND q.id = v.id AND q.reader_epoch = v.epoch AND q.ended_at IS NULL
      RETURNING q.id::text AS id`;
    return written.map(({ id }) => id);
  }
}

/** Returns SQL for a table `of` with the columns `realm_id` and `id` of queues. */
const keysOf = (queues: readonly Queue[]): Prisma.Sql => Prisma.sql`
  unnest(${queues.map(({ organizationId }) => organizationId)}::int[], ${queues.map(({ id }) => id)}::uuid[]) AS of(realm_id, id)`;

/**
 * Returns the reason for ending the reader of a queue that this node no longer holds. It is the reason stored by the node that
 * ended the queue, or that another node has claimed the queue for a newer reader.
 */
function endOf(id: string, row: { readonly endReason: string | null } | undefined): ReaderEnd {
  if (row === undefined) return new BadEventQueueIdError(id, 'unknown');
  const { endReason } = row;
  if (endReason === null) return new BadEventQueueIdError(id, 'displaced');
  return endReason === 'revoked' || endReason === 'deleted' ? endReason : new BadEventQueueIdError(id, lossOf(row));
}

/** Returns the reason to report to a client that reads a queue that has ended. */
export const lossOf = ({ endReason }: { readonly endReason: string | null }): QueueLoss =>
  endReason === 'restored' ? 'restored' : 'expired';

/**
 * Returns milliseconds on a clock with an arbitrary start, to measure elapsed time. With PostgreSQL the clock is monotonic:
 * unlike a wall clock, it is never adjusted. With the embedded database it is the wall clock of the process, which the stored
 * times of queues use as well.
 */
export function passedMs({ database, now }: LogContext): number {
  return database.kind === 'postgresql' ? performance.now() : now().getTime();
}

/**
 * Returns how long a queue lives after its last read, in milliseconds. The time of the last read is written rarely, so the
 * lifetime includes the time between two writes.
 */
export function lifetimeMs({ config }: LogContext, idleTimeoutMs: number): number {
  return idleTimeoutMs + refreshMs(idleTimeoutMs) + 2 * config.queueWriteMs;
}

/**
 * Returns the maximum delay, in milliseconds, before the time of a queue's last read is stored: a quarter of the idle timeout,
 * at most a minute.
 */
function refreshMs(idleTimeoutMs: number): number {
  return Math.min(idleTimeoutMs / 4, MAX_REFRESH_MS);
}

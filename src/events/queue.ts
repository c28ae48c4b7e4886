import type { EventQueue } from '../generated/prisma/client.ts';
import { BadEventQueueIdError } from './errors.ts';
import type { ReadContext } from './log-tail.ts';
import type { QueueOptions } from './view.ts';

/**
 * Longest time without a reader after which a queue can expire, in seconds: a week. If a client requests a longer time, this
 * time applies.
 */
export const MAX_IDLE_SECONDS = 604_800;

/**
 * The reason why a reader of an event queue ends. `revoked`: the credentials are no longer valid. `deleted`: the user deleted
 * the queue. `stopping`: this node stops. `unavailable`: the database cannot be read here, and the client should reconnect.
 * `BadEventQueueIdError`: the queue cannot continue, or a newer reader has taken it.
 */
export type ReaderEnd = 'revoked' | 'deleted' | 'stopping' | 'unavailable' | BadEventQueueIdError;

/** The credentials with which the client of a reader authenticated. */
export interface ReaderAccess {
  /** Id of the session that authenticated the client. Undefined if an API key did. */
  readonly sessionId: number | undefined;
  /** Id of the named API key that authenticated the client. Undefined for a session and for the default API key of a user. */
  readonly namedKeyId: number | undefined;
  /** Time at which the session ends or the API key expires, in milliseconds since 1970, as last read. Undefined if the credentials do not expire. */
  readonly endsAt: number | undefined;
  /**
   * Returns whether the credentials are still valid. Reads the database, and updates `endsAt`.
   *
   * @throws OrganizationMovedError if the organization has moved to another database.
   */
  mayStay(): Promise<boolean>;
}

/** The current reader of a queue, over any transport. */
export interface QueueReader {
  readonly access: ReaderAccess;
  end(why: ReaderEnd): void;
}

/** The columns of the database row that a queue is created from. */
export type QueueRow = Pick<
  EventQueue,
  | 'id'
  | 'organizationId'
  | 'userId'
  | 'options'
  | 'idleTimeoutSecs'
  | 'startId'
  | 'ackedId'
  | 'scannedThrough'
  | 'readerEpoch'
>;

/** An event queue in the memory of this node: a position in the log, which is written to the database from time to time. */
export class Queue {
  readonly id: string;
  readonly organizationId: number;
  readonly userId: number;
  readonly options: QueueOptions;
  readonly idleTimeoutMs: number;
  readonly startId: number;
  epoch: number;
  reader: QueueReader | undefined;
  /**
   * Times on the clock of `passedMs`. `lastActive` is the last read, and `writtenActive` the last read that was written to the
   * database. `confirmed` is the last confirmation by the database that this node holds the queue.
   */
  lastActive: number;
  writtenActive: number;
  confirmed: number;
  dirty = false;
  #acked: number;
  #scanned: number;
  #sent: number;
  #ending: ReaderEnd | undefined;

  constructor(row: QueueRow, now: number) {
    this.id = row.id;
    this.organizationId = row.organizationId;
    this.userId = row.userId;
    this.options = row.options as unknown as QueueOptions;
    this.idleTimeoutMs = row.idleTimeoutSecs * 1000;
    this.startId = Number(row.startId);
    this.epoch = row.readerEpoch;
    this.#acked = Number(row.ackedId);
    this.#scanned = Number(row.scannedThrough);
    this.#sent = this.#acked;
    this.lastActive = now;
    this.writtenActive = now;
    this.confirmed = now;
  }

  /** Id up to which the client has acknowledged all events. */
  get acked(): number {
    return this.#acked;
  }

  /** Id up to which the log contains no event for this queue besides the acknowledged ones. */
  get scanned(): number {
    return this.#scanned;
  }

  /**
   * Returns the position from which to read the log for a client that has all its events up to `known`. Skips ids without
   * events for this queue.
   */
  positionFor(known: number): number {
    return known >= this.#acked ? Math.max(known, this.#scanned) : known;
  }

  /** Records that the client has received all its events up to `id`. */
  acknowledge(id: number): void {
    if (id <= this.#acked) return;
    this.#acked = id;
    this.#scanned = Math.max(this.#scanned, id);
    this.dirty = true;
  }

  /** Records that events up to `id` were sent and are not acknowledged yet. */
  sent(id: number): void {
    this.#sent = Math.max(this.#sent, id);
  }

  /**
   * Records that the log was read up to `position` without an event for this queue. Ignored while sent events are not
   * acknowledged.
   */
  passed(position: number): void {
    if (this.#sent <= this.#acked) this.#scanned = Math.max(this.#scanned, position);
  }

  /** Makes `reader` the queue's only reader. The previous reader ends. */
  take(reader: QueueReader): void {
    const before = this.reader;
    this.reader = reader;
    before?.end(new BadEventQueueIdError(this.id, 'displaced'));
    if (this.#ending !== undefined) reader.end(this.#ending);
  }

  /** Ends the current reader, and every later reader as soon as it takes the queue. */
  refuseReaders(why: ReaderEnd): void {
    this.#ending = why;
    this.reader?.end(why);
  }

  release(reader: QueueReader): void {
    if (this.reader === reader) this.reader = undefined;
  }
}

/**
 * Validates the id of the last event that a client reports to have received.
 *
 * @param lastEventId -1 means the start of the queue.
 * @returns The id up to which the client has all its events.
 * @throws BadEventQueueIdError `from_future` if the log has not reached this id.
 */
export async function checkPosition(app: ReadContext, queue: Queue, lastEventId: number): Promise<number> {
  if (lastEventId === -1) return queue.startId;
  const tail = await app.hub.tail(queue.organizationId);
  if (lastEventId > tail.through) await tail.fill();
  if (lastEventId > tail.through) throw new BadEventQueueIdError(queue.id, 'from_future');
  return Math.max(lastEventId, 0);
}

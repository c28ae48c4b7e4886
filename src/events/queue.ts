import type { EventQueue } from '../generated/prisma/client.ts';
import { BadEventQueueIdError } from './errors.ts';
import type { QueueOptions } from './view.ts';
import type { ReadContext } from './window.ts';

/**
 * Why a reader is told to stop. `unavailable`: the database cannot be read here; the client should come back. An error says
 * that the queue is lost.
 */
export type ReaderEnd = 'displaced' | 'revoked' | 'deleted' | 'stopping' | 'unavailable' | BadEventQueueIdError;

/** What somebody signed in with who reads. */
export interface ReaderAccess {
  /** The number of the session; undefined for a key. */
  readonly sessionId: number | undefined;
  /** Milliseconds: when it ends, as far as is known. Undefined: it does not by itself. */
  readonly endsAt: number | undefined;
  /** Whether they could sign in with it again. Asked of the database, which may know another `endsAt`. */
  mayStay(): Promise<boolean>;
}

/** Whoever reads a queue just now, over whatever transport. */
export interface QueueReader {
  readonly access: ReaderAccess;
  end(why: ReaderEnd): void;
}

/** What a queue is made of, as the database has it. */
export type QueueRow = Pick<
  EventQueue,
  'id' | 'realmId' | 'userId' | 'options' | 'idleTimeoutSecs' | 'startId' | 'ackedId' | 'scannedThrough' | 'readerEpoch'
>;

/** A queue as this node holds it: a cursor into the log, written to the database now and then. */
export class Queue {
  readonly id: string;
  readonly realmId: number;
  readonly userId: number;
  readonly options: QueueOptions;
  readonly idleTimeoutMs: number;
  readonly startId: number;
  epoch: number;
  reader: QueueReader | undefined;
  /** Milliseconds: last read, last time that was written, last time the database confirmed that we hold it. */
  lastActive: number;
  writtenActive: number;
  confirmed: number;
  dirty = false;
  #acked: number;
  #scanned: number;
  #sent: number;

  constructor(row: QueueRow, now: number) {
    this.id = row.id;
    this.realmId = row.realmId;
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

  /** Everything up to here has arrived at the client. */
  get acked(): number {
    return this.#acked;
  }

  /** Nothing for this queue lies between `acked` and here. */
  get scanned(): number {
    return this.#scanned;
  }

  /** Where to read on for a client that has everything up to `known`: past what is known to hold nothing for it. */
  positionFor(known: number): number {
    return known >= this.#acked ? Math.max(known, this.#scanned) : known;
  }

  /** The client has everything up to `id`. */
  acknowledge(id: number): void {
    if (id <= this.#acked) return;
    this.#acked = id;
    this.#scanned = Math.max(this.#scanned, id);
    this.dirty = true;
  }

  /** Events up to `id` went out and are not acknowledged yet. */
  sent(id: number): void {
    this.#sent = Math.max(this.#sent, id);
  }

  /** The log was read up to `position`, and nothing came of it. */
  passed(position: number): void {
    if (this.#sent <= this.#acked) this.#scanned = Math.max(this.#scanned, position);
  }

  /** Makes `reader` the queue's only reader. */
  take(reader: QueueReader): void {
    const before = this.reader;
    this.reader = reader;
    before?.end('displaced');
  }

  release(reader: QueueReader): void {
    if (this.reader === reader) this.reader = undefined;
  }
}

/**
 * Checks a position a client gives.
 *
 * @param lastEventId -1 means the start of the queue.
 * @returns The id up to which the client has everything.
 * @throws BadEventQueueIdError `from_future` when the log has not come that far.
 */
export async function checkPosition(app: ReadContext, queue: Queue, lastEventId: number): Promise<number> {
  if (lastEventId === -1) return queue.startId;
  const window = await app.hub.window(queue.realmId);
  if (lastEventId > window.through) await window.fill();
  if (lastEventId > window.through) throw new BadEventQueueIdError(queue.id, 'from_future');
  return Math.max(lastEventId, 0);
}

import { chargedAccountOf, type RequestCtx, signedIn, type Viewer } from '../../../access/context.ts';
import { viewerAsOfNow } from '../../../access/sign-in.ts';
import { requireLive } from '../../../events/context.ts';
import type { EventPiece } from '../../../events/rendering.ts';
import type { EventOperation } from '../execution/event-operation.ts';
import type { FilledResult } from '../execution/reader-results.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { ReaderBatch } from '../loading/reader-batch.ts';
import type { EventReader } from '../schema/reader-values.ts';

/** The cost of executing an operation for an event: nothing, because the subscription was counted when it started. */
const NO_COST = { requested: 0, limit: 0, charged: 0 };

/**
 * Total size, in bytes, of the results that are prepared for one client before they are sent. As soon as the total exceeds it,
 * no further result is prepared until these are sent.
 */
const MAX_HELD_BYTES = 1024 * 1024;

/** The viewer with current rights, and the batch of reads, with which an operation is executed for one recipient. */
interface Execution {
  readonly batch: ReaderBatch;
  readonly viewer: Viewer;
}

/**
 * Maximum number of times that the state of a reader is loaded for one event. If the state still lacks the effect of the event,
 * the delivery fails. The first load contains the effect, unless the log tail was replaced during the load.
 */
const MAX_LOADS = 3;

/**
 * The execution results that one subscribed client receives for events. If the event projections (the fields that an event
 * alone provides) contain all fields that the operation selects, all recipients of an event share one result, in which only the
 * values of reader fields differ. Otherwise the result is computed for this client alone.
 */
export class Deliveries {
  readonly #operation: EventOperation;
  readonly #request: RequestCtx;
  readonly #reader: EventReader;
  /** Results that were computed only for this client, by event. A result is removed when it is sent. */
  readonly #own = new Map<EventPiece, Buffer | FilledResult>();

  constructor(operation: EventOperation, request: RequestCtx) {
    this.#operation = operation;
    this.#request = request;
    const { organizationId, viewer } = signedIn(request);
    this.#reader = { app: requireLive(request.work).app, organizationId, userId: viewer.id };
  }

  /**
   * Starts to load the state of the reader, so that the first event need not wait for it. Failures are ignored: the state is
   * loaded again with the event.
   */
  loadAhead(): void {
    for (const source of this.#operation.readerSources) source.loadAhead(this.#reader).catch(() => {});
  }

  isReady(pieces: readonly EventPiece[]): boolean {
    return pieces.every((piece) => this.#prepareNow(piece));
  }

  /** Computes the result for an event if that is possible without reading the database. Returns whether it is. */
  #prepareNow(piece: EventPiece): boolean {
    const result = this.#operation.readyResultOf(piece, this.#reader);
    if (result !== undefined && result !== 'shared') this.#own.set(piece, result);
    return result !== undefined;
  }

  /**
   * Computes the results of the events that are not ready: loads the state of the reader, or executes the operation with the
   * current rights of the user. Stops when the results exceed `MAX_HELD_BYTES`.
   *
   * @returns Number of events at the start of `pieces` whose results are available: at least one.
   * @throws RequestTimeoutError if the database is unavailable.
   * @throws InvalidApiKeyError, UnauthorizedError, OrganizationDeactivatedError, UserDeactivatedError if the user can no longer
   *   authenticate.
   */
  async prepare(pieces: readonly EventPiece[]): Promise<number> {
    this.#own.clear();
    let held = 0;
    let execution: Promise<Execution> | undefined;
    for (const [i, piece] of pieces.entries()) {
      if (held > MAX_HELD_BYTES) return i;
      if (!(await this.#load(piece))) {
        execution ??= this.#startExecution();
        this.#own.set(piece, await this.#execute(piece, await execution));
      }
      held += this.#own.get(piece)?.length ?? 0;
    }
    return pieces.length;
  }

  /**
   * Loads the state of the reader, as far as the result for an event needs it, and computes the result.
   *
   * @returns False if the operation must be executed.
   * @throws Error if the state that was loaded does not have the effect of the event.
   */
  async #load(piece: EventPiece): Promise<boolean> {
    for (let i = 0; !this.#prepareNow(piece); i++) {
      if (i === MAX_LOADS) throw new Error(`The state of the reader was not loaded for the event ${piece.id}`);
      if (!(await this.#operation.load(piece, this.#reader))) return false;
    }
    return true;
  }

  async #startExecution(): Promise<Execution> {
    const batch = ReaderBatch.current(this.#reader.app.database, this.#reader.organizationId);
    return { batch, viewer: await viewerAsOfNow(this.#request) };
  }

  #execute(piece: EventPiece, { batch, viewer }: Execution): Promise<Buffer> {
    const ctx: GraphQLContext = {
      ...this.#request,
      work: batch.work,
      organization: viewer.organization,
      viewer,
      caller: undefined,
      cost: NO_COST,
      batch,
    };
    return this.#request.app.accountLimiter.run(chargedAccountOf(viewer), () =>
      this.#operation.ownResultOf(piece, ctx),
    );
  }

  /**
   * Returns the execution result for an event, as JSON in UTF-8. `isReady` must have returned true for the event before, or
   * `prepare` must have prepared its result. A prepared result can be read only once.
   */
  resultOf(piece: EventPiece): Buffer | FilledResult {
    const own = this.#own.get(piece);
    if (own === undefined) return this.#operation.sharedResultOf(piece);
    this.#own.delete(piece);
    return own;
  }
}

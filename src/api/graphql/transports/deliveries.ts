import { chargedAccountOf, type RequestCtx, signedIn } from '../../../access/context.ts';
import { viewerAsOfNow } from '../../../access/sign-in.ts';
import type { EventPiece } from '../../../events/rendering.ts';
import type { EventOperation } from '../execution/event-operation.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { ReaderBatch } from '../loading/reader-batch.ts';

/** The cost of executing an operation for an event: nothing, because the subscription was counted when it started. */
const NO_COST = { requested: 0, limit: 0, charged: 0 };

/**
 * Limit of the total size of results that are prepared for one reader before they are sent. Only the last result may exceed it.
 */
const MAX_HELD_BYTES = 1024 * 1024;

/**
 * Provides the execution results that one reader receives for events. If the event projections contain all selected fields, all
 * readers share one result. Otherwise the result is computed for this reader.
 */
export class Deliveries {
  readonly #operation: EventOperation;
  readonly #request: RequestCtx;
  /** Results that were computed for this reader alone, by event. A result is removed when it is sent. */
  readonly #own = new Map<EventPiece, Buffer>();

  constructor(operation: EventOperation, request: RequestCtx) {
    this.#operation = operation;
    this.#request = request;
  }

  isReady(pieces: readonly EventPiece[]): boolean {
    return pieces.every((piece) => this.#operation.isShared(piece));
  }

  /**
   * Executes the operation, with the current rights of the reader, for the events that have no shared result. Stops when the
   * results exceed `MAX_HELD_BYTES`.
   *
   * @returns Number of events, counted from the first, whose results are available: at least one.
   * @throws RequestTimeoutError if the database is unavailable, or an error of `viewerAsOfNow` if the reader can no longer
   *   authenticate.
   */
  async prepare(pieces: readonly EventPiece[]): Promise<number> {
    const batch = ReaderBatch.current(this.#request.app, signedIn(this.#request).realmId);
    const viewer = await viewerAsOfNow(this.#request);
    const { app } = this.#request;
    this.#own.clear();
    return app.accountLimiter.run(chargedAccountOf(viewer), async () => {
      let held = 0;
      for (const [i, piece] of pieces.entries()) {
        if (held > MAX_HELD_BYTES) return i;
        if (this.#operation.isShared(piece)) continue;
        const ctx: GraphQLContext = {
          ...this.#request,
          app: batch.app,
          realm: viewer.realm,
          viewer,
          caller: undefined,
          cost: NO_COST,
          batch,
        };
        const result = await this.#operation.ownResultOf(piece, ctx);
        held += result.length;
        this.#own.set(piece, result);
      }
      return pieces.length;
    });
  }

  /**
   * Returns the result for an event for which `isReady` was true, or that was prepared: JSON in UTF-8. Can be called once for a
   * prepared event.
   */
  resultOf(piece: EventPiece): Buffer {
    const own = this.#own.get(piece);
    if (own === undefined) return this.#operation.sharedResultOf(piece);
    this.#own.delete(piece);
    return own;
  }
}

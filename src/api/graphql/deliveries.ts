import { chargedAccountOf, type RequestCtx, signedIn } from '../../access/context.ts';
import { viewerAsOfNow } from '../../access/sign-in.ts';
import type { EventPiece } from '../../events/rendering.ts';
import type { GraphQLContext } from './context.ts';
import type { EventOperation } from './event-operation.ts';
import { ReaderBatch } from './reader-batch.ts';

/** Deliveries are not counted, because the subscription was counted when it started. */
const NO_COST = { requested: 0, limit: 0, charged: 0 };

/** Limit for the results that are prepared for one reader before they are sent. The last result may exceed it. */
const MAX_HELD_BYTES = 1024 * 1024;

/**
 * The results that one reader is sent for events. They are shared if the event projection covers the selection, else the
 * reader's own.
 */
export class Deliveries {
  readonly #operation: EventOperation;
  readonly #request: RequestCtx;
  /** Results that were computed for this reader only, by event. Each is removed when it is sent. */
  readonly #own = new Map<EventPiece, Buffer>();

  constructor(operation: EventOperation, request: RequestCtx) {
    this.#operation = operation;
    this.#request = request;
  }

  isReady(pieces: readonly EventPiece[]): boolean {
    return pieces.every((piece) => this.#operation.isShared(piece));
  }

  /**
   * Executes the operation for events that have no shared result, with the reader's current rights, until `MAX_HELD_BYTES`
   * is exceeded.
   *
   * @returns Number of events that are prepared, from the first: at least one.
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

  /** Returns the execution result of an event that is ready or prepared, as JSON in UTF-8. */
  resultOf(piece: EventPiece): Buffer {
    const own = this.#own.get(piece);
    if (own === undefined) return this.#operation.sharedResultOf(piece);
    this.#own.delete(piece);
    return own;
  }
}

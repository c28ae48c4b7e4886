import { type RequestCtx, signedIn } from '../../access/context.ts';
import { viewerAsOfNow } from '../../access/sign-in.ts';
import type { EventPiece } from '../../events/rendering.ts';
import type { GraphQLContext } from './context.ts';
import type { EventOperation } from './event-operation.ts';
import { ReaderBatch } from './reader-batch.ts';

/** Deliveries are counted against nobody: who listens has paid for the subscription. */
const NO_COST = { requested: 0, limit: 0, charged: 0 };

/** Our choice: what is held for one reader before it is sent, but for the one result that goes beyond. */
const MAX_HELD_BYTES = 1024 * 1024;

/** What one reader is sent of events: shared with others where the event knows all that is asked for, else their own. */
export class Deliveries {
  readonly #operation: EventOperation;
  readonly #request: RequestCtx;
  /** Of events that are sent next. */
  readonly #own = new Map<EventPiece, Buffer>();

  constructor(operation: EventOperation, request: RequestCtx) {
    this.#operation = operation;
    this.#request = request;
  }

  isReady(pieces: readonly EventPiece[]): boolean {
    return pieces.every((piece) => this.#operation.isShared(piece));
  }

  /**
   * Executes what the reader is to be shown of their own, with their rights as of now, as far as they can be held at once.
   *
   * @returns How many of the events are prepared, from the first: at least one.
   * @throws RequestTimeoutError when the database is out of reach, UnauthorizedError when they may not sign in any more.
   */
  async prepare(pieces: readonly EventPiece[]): Promise<number> {
    const batch = ReaderBatch.current(this.#request.app, signedIn(this.#request).realmId);
    const viewer = await viewerAsOfNow(this.#request);
    const { app } = this.#request;
    this.#own.clear();
    return app.shares.run(viewer.id, async () => {
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

  /** The execution result of an event that is ready or prepared, as JSON in UTF-8. */
  resultOf(piece: EventPiece): Buffer {
    const own = this.#own.get(piece);
    if (own === undefined) return this.#operation.sharedResultOf(piece);
    this.#own.delete(piece);
    return own;
  }
}

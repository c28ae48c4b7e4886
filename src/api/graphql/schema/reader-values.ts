import type { App } from '../../../access/context.ts';
import type { EventPiece } from '../../../events/rendering.ts';

/** A recipient of events: a user, on a node of the running service. */
export interface EventReader {
  readonly app: App;
  readonly organizationId: number;
  readonly userId: number;
}

/**
 * A source of values that differ between the recipients of an event, such as unread counts. The source holds the state of
 * readers in memory, so that deliveries read the database only to load this state.
 */
export interface ReaderSource<State> {
  /**
   * Returns the state of a reader, with the effects of all events up to the given one. Undefined if a part that the result for
   * this event needs is not in memory.
   */
  current(reader: EventReader, piece: EventPiece): State | undefined;
  /**
   * Loads the parts of the state that `current` needs for this event and that are not in memory. Loads that are requested
   * concurrently share statements.
   */
  load(reader: EventReader, piece: EventPiece): Promise<void>;
  /**
   * Loads the parts of the reader's state that most events need. Called when a subscription starts, so that the first event
   * need not wait for them.
   */
  loadAhead(reader: EventReader): Promise<void>;
  /**
   * Returns a key of everything in the result that differs between readers, except the values of reader fields. An example is
   * the length of a list. So the results for readers with equal keys differ only in these values.
   */
  shapeOf(state: State, piece: EventPiece): string;
}

/** The value of a reader field: a leaf of a result. A text must be a global id, or the name of an enum value. */
export type ReaderValue = number | string | boolean;

/** A function that returns a value for one reader, from the state of the reader. */
type OfState<State> = (state: State) => ReaderValue;

/**
 * A field of an event projection (the fields that an event alone provides) whose value differs between the recipients of the
 * event.
 *
 * @see EventProjection
 */
// biome-ignore lint/suspicious/noExplicitAny: each field receives only values and states of its own types.
export class ReaderField<V = any, State = any> {
  readonly source: ReaderSource<State>;
  readonly #of: (value: V) => OfState<State>;

  /** @param of Called once with the value in the event. Returns the function that is called for each reader. */
  constructor(source: ReaderSource<State>, of: (value: V) => OfState<State>) {
    this.source = source;
    this.#of = of;
  }

  /**
   * Returns a reader field like this one, for larger objects that contain the value of this field.
   *
   * @param partOf Returns the value of this field from the larger object.
   */
  within<Whole>(partOf: (whole: Whole) => V): ReaderField<Whole, State> {
    return new ReaderField(this.source, (whole) => this.#of(partOf(whole)));
  }

  /** Returns the slot for the values of this field. @param value Value in the event. */
  slotFor(value: V): ReaderSlot {
    return new ReaderSlot(this.#of(value) as OfState<unknown>);
  }
}

/** Placeholder for the value of a reader field in a result that many readers share. The value is filled in for each reader. */
export class ReaderSlot {
  readonly valueFor: OfState<unknown>;

  constructor(valueFor: OfState<unknown>) {
    this.valueFor = valueFor;
  }
}

import type { Rule } from './client-state.ts';
import type { Parameters, Person } from './person.ts';
import type { Pile } from './piles.ts';
import type { Names } from './scene.ts';

/** Test calls of one feature. Together they set each of its parameters, arguments and input fields. */
export interface FeatureTests {
  /** Calls of each endpoint, by method and path. */
  readonly rest?: Readonly<Record<string, (names: Names) => readonly RestCall[]>>;
  /** The arguments of each field of `Query`. */
  readonly queries?: Readonly<Record<string, (names: Names) => readonly Parameters[]>>;
  /** The inputs of each mutation. */
  readonly mutations?: Readonly<Record<string, (names: Names) => readonly Parameters[]>>;
  /** The caller of each mutation that the owner cannot call. */
  readonly callers?: Readonly<Record<string, 'guest'>>;
  /**
   * Expected errors of GraphQL calls that need an external service that is not configured. Other tests cover their
   * success.
   */
  readonly refusals?: Readonly<Record<string, string>>;
  /** The number or text in the global id of an object, by the type of the object. */
  readonly nodes?: (names: Names) => Readonly<Record<string, number | string>>;
  /** The objects that a total (a limit on stored objects) bounds, by the name of the total in `platform/totals.ts`. */
  readonly piles?: Readonly<Record<string, Pile>>;
  /**
   * Functions that create an object that only the owner can see, and that is erased with the owner, by the object's name in
   * `Names`. The object contains `place.text`. Each function returns the id of its object.
   */
  readonly objects?: Readonly<Record<string, (owner: Person, place: ObjectContext) => Promise<number>>>;
  /**
   * Functions by the kind of object. Each creates objects, and returns changes of them in order. Each change causes one event,
   * which only the user receives.
   */
  readonly ownChanges?: Readonly<Record<string, (user: Person) => Promise<Changes>>>;
  /** Lists in the reply to a registration, with the key field of their elements. */
  readonly lists?: Readonly<Record<string, string>>;
  /** How a client applies each event of the feature to its state, by `type` or `type/op`. */
  readonly rules?: Readonly<Record<string, Rule>>;
}

/** Changes by name, in the order in which they must be made. */
export type Changes = Readonly<Record<string, () => Promise<unknown>>>;

/** A topic in which an object can be created, a message in it, and a text for the object. */
export interface ObjectContext {
  readonly text: string;
  readonly channelId: number;
  readonly topic: string;
  readonly messageId: number;
}

/** One call of an endpoint: the values of its path slots, and its parameters. */
export interface RestCall {
  readonly slots?: Readonly<Record<string, string | number>>;
  readonly parameters?: Parameters;
  /** The caller, if the owner cannot make the call. */
  readonly as?: 'guest' | 'moderator';
  /** Expected error, if the call needs an external service that is not configured. Other tests cover its success. */
  readonly refusal?: string;
}

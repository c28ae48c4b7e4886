import type { Parameters } from '../person.ts';
import type { Names } from '../scene.ts';

/** Test calls of one feature. Together they set each of its parameters, arguments and input fields. */
export interface FeatureCalls {
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

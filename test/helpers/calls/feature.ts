import type { Parameters } from '../person.ts';
import type { Names } from '../scene.ts';

/** What is tried of every feature: calls that together give each of its parameters, arguments and fields of inputs. */
export interface FeatureCalls {
  /** Of each endpoint, by method and path. */
  readonly rest?: Readonly<Record<string, (names: Names) => readonly RestCall[]>>;
  /** The arguments of each field of `Query`. */
  readonly queries?: Readonly<Record<string, (names: Names) => readonly Parameters[]>>;
  /** The inputs of each mutation. */
  readonly mutations?: Readonly<Record<string, (names: Names) => readonly Parameters[]>>;
  /** Who makes a mutation that the owner cannot make. */
  readonly callers?: Readonly<Record<string, 'guest'>>;
  /** What GraphQL's calls are told where nothing outside the service is set up that they need: they are made in earnest elsewhere. */
  readonly refusals?: Readonly<Record<string, string>>;
  /** The number or text that names an object there is a `node` of, by its type. */
  readonly nodes?: (names: Names) => Readonly<Record<string, number | string>>;
}

/** One call of an endpoint: what stands in the slots of its path, and its parameters. */
export interface RestCall {
  readonly slots?: Readonly<Record<string, string | number>>;
  readonly parameters?: Parameters;
  /** Who makes it, where that cannot be the owner. */
  readonly as?: 'guest' | 'moderator';
  /** What it is told where nothing outside the service is set up that it needs: it is made in earnest elsewhere. */
  readonly refusal?: string;
}

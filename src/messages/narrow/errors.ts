import { beginningOf, ChatError } from '../../platform/errors.ts';

/** Optional parts of a `BadNarrowError`. */
interface NarrowDetails {
  /** Description of the problem with the names of the GraphQL schema. Absent: equal to `desc`. */
  readonly schemaDescription?: string | undefined;
  /** Path from the term to the invalid value, as in `ChatError.parameter`: `[2]`. Absent: the whole term. */
  readonly within?: string | undefined;
}

/** Error for a narrow (message filter) that has an unknown operator or operand, or terms that contradict each other. */
export class BadNarrowError extends ChatError {
  readonly code = 'BAD_NARROW';
  override readonly data: { desc: string };
  override parameter = 'narrow';
  override readonly schemaMessage: string | undefined;
  /** Description of the problem with the names of the GraphQL schema. */
  readonly schemaDescription: string;
  readonly #within: string;

  /**
   * @param desc The problem, for users.
   * @param what 'operator' if a single term is invalid. 'operator combination' if only the combination of terms is invalid.
   */
  constructor(
    desc: string,
    what: 'operator' | 'operator combination' = 'operator',
    { schemaDescription, within = '' }: NarrowDetails = {},
  ) {
    super(`Invalid narrow ${what}: ${desc}`);
    this.data = { desc: beginningOf(desc) };
    this.schemaDescription = beginningOf(schemaDescription ?? desc);
    this.schemaMessage = schemaDescription === undefined ? undefined : `Invalid narrow: ${schemaDescription}`;
    this.#within = within;
  }

  /** Sets the parameter of the term that is invalid. Returns the error. */
  at(parameter: string): this {
    this.parameter = parameter + this.#within;
    return this;
  }
}

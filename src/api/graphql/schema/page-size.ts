import { ValidationError } from '../../../platform/errors.ts';

/** Page size, in items, if the client gives neither `first` nor `last`: the number of items that one screen shows. */
export const DEFAULT_PAGE_SIZE = 20;
/**
 * Maximum page size of a connection, in items, unless the connection declares another maximum. Larger pages are refused with
 * `ValidationError`. @see src/api/README.md#limits
 */
export const MAX_PAGE_SIZE = 100;
/**
 * Maximum page size, in items, of the lists that a client shows completely on its first screen, such as channels. Larger pages
 * are refused with `ValidationError`.
 */
export const MAX_SIDEBAR_SIZE = 1_000;

export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
}

/**
 * Returns the page size that a connection's arguments request.
 *
 * @throws ValidationError if the page size is negative or larger than `max`.
 */
export function pageSize({ first, last }: PageArguments, max = MAX_PAGE_SIZE): number {
  for (const [name, size] of Object.entries({ first, last })) {
    if (size != null && (size < 0 || size > max)) {
      const details = { parameter: name, minimum: 0, maximum: max, value: size };
      throw new ValidationError(`"${name}" must be between 0 and ${max}`, details);
    }
  }
  return first ?? last ?? DEFAULT_PAGE_SIZE;
}

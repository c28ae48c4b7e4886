import { BadRequestError } from '../../../platform/errors.ts';

/** Page size if neither `first` nor `last` is given: the number of items that one screen shows. */
export const DEFAULT_PAGE_SIZE = 20;
/** Maximum page size of connections, unless a connection declares another. @see src/api/README.md#limits */
export const MAX_PAGE_SIZE = 100;
/** Maximum page size of the lists that a client shows completely on its first screen, such as channels. */
export const MAX_SIDEBAR_SIZE = 1_000;

export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
}

/**
 * Returns the page size in a connection's arguments.
 *
 * @throws BadRequestError if it is negative or larger than `max`.
 */
export function pageSize({ first, last }: PageArguments, max = MAX_PAGE_SIZE): number {
  for (const [name, size] of Object.entries({ first, last })) {
    if (size != null && (size < 0 || size > max)) {
      throw new BadRequestError(`"${name}" must be between 0 and ${max}`);
    }
  }
  return first ?? last ?? DEFAULT_PAGE_SIZE;
}

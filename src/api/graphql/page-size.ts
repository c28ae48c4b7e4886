import { BadRequestError } from '../../platform/errors.ts';

/** Our choice: what one screen shows. */
export const DEFAULT_PAGE_SIZE = 20;
/** Of every connection. @see src/api/README.md#limits */
export const MAX_PAGE_SIZE = 100;

export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
}

/**
 * How many rows a connection's arguments ask for.
 *
 * @throws BadRequestError when that is more than 100, or less than none.
 */
export function pageSize({ first, last }: PageArguments): number {
  for (const [name, size] of Object.entries({ first, last })) {
    if (size != null && (size < 0 || size > MAX_PAGE_SIZE)) {
      throw new BadRequestError(`"${name}" must be between 0 and ${MAX_PAGE_SIZE}`);
    }
  }
  return first ?? last ?? DEFAULT_PAGE_SIZE;
}

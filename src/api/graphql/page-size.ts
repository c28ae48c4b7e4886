import { BadRequestError } from '../../platform/errors.ts';

/** Our choice: what one screen shows. */
export const DEFAULT_PAGE_SIZE = 20;
/** Of every connection that says nothing else. @see src/api/README.md#limits */
export const MAX_PAGE_SIZE = 100;
/** Of what a first screen shows all of: our choice, more channels than anybody looks through. */
export const MAX_SIDEBAR_SIZE = 1_000;

export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
}

/**
 * How many rows a connection's arguments ask for.
 *
 * @throws BadRequestError when that is more than `max`, or less than none.
 */
export function pageSize({ first, last }: PageArguments, max = MAX_PAGE_SIZE): number {
  for (const [name, size] of Object.entries({ first, last })) {
    if (size != null && (size < 0 || size > max)) {
      throw new BadRequestError(`"${name}" must be between 0 and ${max}`);
    }
  }
  return first ?? last ?? DEFAULT_PAGE_SIZE;
}

import { beginningOf, defineError } from '../../platform/errors.ts';

/**
 * A narrow that cannot be: a term nobody knows, of something that is not there, or one that another rules out.
 * `what` says whether one term is wrong, or each is right, but not all together.
 */
export class BadNarrowError extends defineError(
  'BAD_NARROW',
  (desc: string, what: 'operator' | 'operator combination' = 'operator') => ({
    message: `Invalid narrow ${what}: ${desc}`,
    data: { desc: beginningOf(desc) },
  }),
) {}

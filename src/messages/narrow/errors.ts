import { beginningOf, defineError } from '../../platform/errors.ts';

/**
 * A narrow that is invalid: an unknown operator, an operand that does not exist, or terms that contradict each other. `what` says
 * whether a single term is invalid or only the combination.
 */
export class BadNarrowError extends defineError(
  'BAD_NARROW',
  (desc: string, what: 'operator' | 'operator combination' = 'operator') => ({
    message: `Invalid narrow ${what}: ${desc}`,
    data: { desc: beginningOf(desc) },
  }),
) {}

import { beginningOf, defineError } from '../../platform/errors.ts';

/**
 * Error for a narrow that has an unknown operator or operand, or terms that contradict each other. `what` is 'operator' if a
 * single term is invalid, and 'operator combination' if terms are only invalid in combination.
 */
export class BadNarrowError extends defineError(
  'BAD_NARROW',
  (desc: string, what: 'operator' | 'operator combination' = 'operator') => ({
    message: `Invalid narrow ${what}: ${desc}`,
    data: { desc: beginningOf(desc) },
  }),
) {}

import type { Ctx } from '../../access/context.ts';
import { requireText } from '../../platform/text.ts';
import { BadNarrowError } from './errors.ts';
import { findChannel, findUser } from './narrow-operators.ts';
import { type NarrowTerm, parameterOf } from './narrow-terms.ts';

/** A term of a queue's narrow (message filter): the operator and the operand. */
type QueueTerm = readonly [operator: string, operand: string];

/** Operands of the operator `is` that a queue can evaluate, because the result is known when a message is sent. */
const STATES: readonly unknown[] = ['dm', 'mentioned', 'unread', 'resolved'];

/**
 * Maximum length of an operand in the narrow (message filter) of a queue, in characters. Longer operands are refused with
 * `ValidationError`.
 */
export const MAX_OPERAND_LENGTH = 300;

/**
 * Converts a narrow to the narrow of an event queue, which is evaluated from a message alone, without the database.
 *
 * @throws BadNarrowError if a condition needs more than the message, or names a channel or user by an id that the viewer cannot
 *   see. Names of channels are not checked, because a channel of that name can be created later.
 * @throws ValidationError if an operand contains a null byte or is longer than `MAX_OPERAND_LENGTH`.
 */
export async function queueNarrow(ctx: Ctx, terms: readonly NarrowTerm[]): Promise<QueueTerm[]> {
  const found: QueueTerm[] = [];
  for (const term of terms) {
    try {
      found.push(await queueTerm(ctx, term));
    } catch (error) {
      throw error instanceof BadNarrowError ? error.at(parameterOf(term)) : error;
    }
  }
  return found;
}

async function queueTerm(ctx: Ctx, term: NarrowTerm): Promise<QueueTerm> {
  const { operator, operand, negated } = term;
  if (!negated) {
    if (operator === 'channel' && typeof operand === 'number') {
      if ((await findChannel(ctx, operand)) === null) throw new BadNarrowError(`unknown channel ${operand}`);
      return ['channel-id', String(operand)];
    }
    if (operator === 'sender') return ['sender-id', String((await findUser(ctx, operand)).id)];
    if (operator === 'channel' || operator === 'topic') {
      const rules = { max: MAX_OPERAND_LENGTH, parameter: parameterOf(term) };
      return [operator, requireText('operand', String(operand), rules)];
    }
    if (operator === 'is' && STATES.includes(operand)) return [operator, String(operand)];
  }
  const condition = operator === 'is' ? `is ${operand}` : operator;
  throw new BadNarrowError(`a queue cannot evaluate ${negated ? 'not ' : ''}${condition}`);
}

import { z } from 'zod';

/** The operand of a term of a narrow (message filter): a text such as a name, a numeric id, or ids of users. */
export type Operand = string | number | readonly number[];

/** One condition of a narrow. A message must match all terms of the narrow. */
export interface NarrowTerm {
  /**
   * Name of the operator as sent by the client, which can be a legacy name. `compileNarrow` replaces it by the current name.
   */
  readonly operator: string;
  readonly operand: Operand;
  readonly negated: boolean;
}

/** Current names of operators, by legacy names that are still accepted. */
const ALIASES: Readonly<Record<string, string>> = {
  stream: 'channel',
  streams: 'channels',
  from: 'sender',
  'pm-with': 'dm',
};

/** Returns the current name of an operator. */
export const operatorNamed = (name: string): string => (Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name);

/**
 * Returns the path of a term in the GraphQL input of a narrow, such as `narrow["not"]["sender"]`, for errors.
 *
 * @param operator The current name of the operator.
 */
export function parameterOf({ operator, operand, negated }: NarrowTerm): string {
  const key = operator === 'channel' ? (typeof operand === 'number' ? '["id"]' : '["name"]') : '';
  return `narrow${negated ? '["not"]' : ''}["${operator}"]${key}`;
}

/**
 * Maximum number of terms in a narrow (message filter). A narrow with more is refused with `ValidationError`. The limit bounds
 * the size of the compiled query.
 */
export const MAX_TERMS = 100;
/**
 * Maximum number of user ids in an operand. Operands with more are refused with `ValidationError`. No conversation has so many
 * members.
 */
const MAX_IDS = 1000;

const FORMS = {
  'a string': (operand: Operand) => typeof operand === 'string',
  'a string or integer': (operand: Operand) => !Array.isArray(operand),
  'a string or an integer list': (operand: Operand) => typeof operand !== 'number',
} as const;

/** Form that the operand must have, by operator. Operands of unknown operators are not checked. */
const FORM_OF: Readonly<Record<string, keyof typeof FORMS>> = {
  channels: 'a string',
  topic: 'a string',
  is: 'a string',
  has: 'a string',
  in: 'a string',
  search: 'a string',
  channel: 'a string or integer',
  sender: 'a string or integer',
  mentions: 'a string or integer',
  'dm-including': 'a string or integer',
  'group-pm-with': 'a string or integer',
  id: 'a string or integer',
  near: 'a string or integer',
  with: 'a string or integer',
  dm: 'a string or an integer list',
};

const Term = z.object({
  operator: z.string(),
  operand: z.union([z.string(), z.int(), z.array(z.int()).max(MAX_IDS)]),
  negated: z.boolean().default(false),
});

/** Legacy form of a term: an array of two strings, the operator and the operand. */
const Pair = z
  .tuple([z.string(), z.string()])
  .transform(([operator, operand]) => ({ operator, operand, negated: false }));

/** Schema of the REST parameter `narrow`. */
export const Narrow = z
  .array(z.union([Term, Pair]))
  .max(MAX_TERMS)
  .superRefine((terms, ctx) => {
    for (const [i, { operator, operand }] of terms.entries()) {
      const name = operatorNamed(operator);
      const form = Object.hasOwn(FORM_OF, name) ? FORM_OF[name] : undefined;
      if (form !== undefined && !FORMS[form](operand)) {
        ctx.addIssue({ code: 'custom', path: [i, 'operand'], message: `operand is not ${form}`, input: operand });
      }
      if (name === 'search' && typeof operand === 'string' && operand.trim() === '') {
        ctx.addIssue({ code: 'custom', path: [i, 'operand'], message: 'operand cannot be blank.', input: operand });
      }
    }
  })
  .transform((terms): readonly NarrowTerm[] => terms);

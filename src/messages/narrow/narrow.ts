import type { Ctx } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { accessMessage, type PlacedMessage } from '../access.ts';
import { allOf, type MessagePlace, PLACE_OF_M, type ReadingRights, readingRights } from '../reading.ts';
import { BadNarrowError } from './errors.ts';
import { indexBeforeSearch } from './message-index.ts';
import { type Lead, type Meaning, messageIdIn, OPERATORS } from './narrow-operators.ts';
import type { Search } from './narrow-search.ts';
import { type NarrowTerm, operatorNamed, parameterOf } from './narrow-terms.ts';

/**
 * A narrow (message filter), compiled for one viewer: names are resolved, conditions are SQL and the access paths are known.
 */
export interface CompiledNarrow {
  readonly rights: ReadingRights;
  /** Whether the narrow includes messages that the viewer can read but did not receive. */
  readonly readsHistory: boolean;
  /** Builds the SQL condition that the channel and conversation of a message match the narrow. */
  readonly ofPlace: (place: MessagePlace) => Prisma.Sql;
  /** SQL condition on the message `m` itself. A message of the narrow meets both this condition and `ofPlace`. */
  readonly ofMessage: Prisma.Sql;
  /** Access paths of the terms that are not negated. Empty if none of these terms has an access path. */
  readonly leads: readonly Lead[];
  /** Whether only direct messages can match. */
  readonly isDirect: boolean;
  readonly namesChannel: boolean;
  /** Topic that the narrow names. Letter case and Unicode form do not matter. Undefined if the narrow names no topic. */
  readonly topic: string | undefined;
  /** Operands of those `has` terms that require a link, an image or an attachment. */
  readonly has: readonly string[];
  /** Search of the narrow. Undefined if the narrow has no search. */
  readonly search: Search | undefined;
  /** `ofMessage` without the condition that the message matches the search. */
  readonly ofUnsearched: Prisma.Sql;
}

/** Returns the narrow without its search. A search only needs to examine the messages that match the returned narrow. */
export const withoutSearch = (narrow: CompiledNarrow): CompiledNarrow => ({
  ...narrow,
  ofMessage: narrow.ofUnsearched,
  leads: narrow.leads.filter(({ by }) => by !== 'search'),
  search: undefined,
});

/** Returns the narrow with another SQL condition on the message `m` itself. */
export const withCondition = (narrow: CompiledNarrow, condition: Prisma.Sql): CompiledNarrow => ({
  ...narrow,
  ofMessage: allOf([narrow.ofMessage, condition]),
  ofUnsearched: allOf([narrow.ofUnsearched, condition]),
});

/** Negates an SQL condition. The condition must never evaluate to null. */
const negate = (condition: Prisma.Sql) => Prisma.sql`NOT ${condition}`;

/**
 * Compiles a narrow for the viewer. Resolves the names in its terms to channels and users that the viewer can see.
 *
 * @throws BadNarrowError if an operator or operand is invalid, a term names something that does not exist or that the viewer
 *   cannot see, or two terms exclude each other.
 * @throws ValidationError if an operand contains a null byte or is longer than 10,000 characters.
 */
export async function compileNarrow(ctx: Ctx, terms: readonly NarrowTerm[]): Promise<CompiledNarrow> {
  const named = terms.map(normalize);
  const compiled: CompiledTerm[] = [];
  for (const term of joinSearches(await resolveWith(ctx, named))) {
    compiled.push({ term, meaning: await meaningOf(ctx, term) });
  }
  const positive = compiled.filter(({ term }) => !term.negated);
  const kinds = new Set(positive.map(({ meaning }) => meaning.kind));
  if (kinds.has('channel') && kinds.has('direct')) {
    throw new BadNarrowError('No message can be both a channel message and direct message');
  }
  const isOwn = compiled.some(({ meaning }) => meaning.isOwn === true);
  const leads = positive.flatMap(({ meaning }) => meaning.lead ?? []);
  const search = leads.find((lead) => lead.by === 'search')?.search;
  if (search !== undefined && !search.isEmpty) await indexBeforeSearch(ctx, search.unindexedBytes);
  return {
    rights: await readingRights(ctx, positive.find(({ meaning }) => meaning.channel)?.meaning.channel),
    readsHistory: !isOwn && positive.some(({ meaning }) => meaning.opensHistory === true),
    ofPlace: (place) =>
      allOf(
        compiled.flatMap(({ term, meaning: { ofPlace } }) => {
          if (ofPlace === undefined) return [];
          return [term.negated ? negate(ofPlace(place)) : ofPlace(place)];
        }),
      ),
    ofMessage: conditionOf(compiled),
    ofUnsearched: conditionOf(compiled.filter(({ term, meaning }) => term.negated || meaning.lead?.by !== 'search')),
    leads,
    isDirect: kinds.has('direct'),
    namesChannel: positive.some(({ term }) => term.operator === 'channel'),
    topic: positive.find(({ meaning }) => meaning.topic !== undefined)?.meaning.topic,
    has: positive.flatMap(({ meaning }) => meaning.has ?? []),
    search,
  };
}

/** A term with its compiled form. */
interface CompiledTerm {
  readonly term: NarrowTerm;
  readonly meaning: Meaning;
}

/**
 * Joins with AND the conditions of the terms on the message `m` itself. Excludes the conditions on the channel or conversation
 * of the message.
 */
const conditionOf = (compiled: readonly CompiledTerm[]): Prisma.Sql =>
  allOf(
    compiled.flatMap(({ term, meaning: { ofMessage } }) => {
      if (ofMessage === undefined) return [];
      return [term.negated ? negate(ofMessage) : ofMessage];
    }),
  );

/**
 * Maximum length of an operand, in characters. Longer operands are refused with `ValidationError`. The email addresses of all
 * members of a conversation fit, and so does the content of a message.
 */
const MAX_LENGTH = 10_000;

/**
 * Returns the term with the current operator name instead of a legacy one.
 *
 * @throws ValidationError if the operand contains a null byte or is longer than `MAX_LENGTH`.
 */
function normalize({ operator, operand, negated }: NarrowTerm): NarrowTerm {
  const name = operatorNamed(operator);
  const parameter = parameterOf({ operator: name, operand, negated });
  const text = typeof operand === 'string' ? requireText('operand', operand, { max: MAX_LENGTH, parameter }) : operand;
  return { operator: name, operand: text, negated };
}

/** Builds the SQL condition that the message `m` is in the narrow and the viewer can read it. */
export function isInNarrow({ rights, readsHistory, ofPlace, ofMessage }: CompiledNarrow): Prisma.Sql {
  return allOf([rights.mayRead, ...(readsHistory ? [] : [rights.holds]), ofPlace(PLACE_OF_M), ofMessage]);
}

async function meaningOf(ctx: Ctx, term: NarrowTerm): Promise<Meaning> {
  const { operator, operand } = term;
  const read = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (read === undefined) throw new BadNarrowError(`unknown operator ${operator}`);
  try {
    return await read(ctx, operand);
  } catch (error) {
    throw error instanceof BadNarrowError ? error.at(parameterOf(term)) : error;
  }
}

/** Joins all search terms into one term, so that the index is read only once. Negated search terms stay separate. */
function joinSearches(terms: readonly NarrowTerm[]): readonly NarrowTerm[] {
  const isSearch = ({ operator, negated }: NarrowTerm) => operator === 'search' && !negated;
  const searches = terms.filter(isSearch);
  if (searches.length < 2) return terms;
  const operand = searches.map((term) => term.operand).join(' ');
  return [...terms.filter((term) => !isSearch(term)), { operator: 'search', operand, negated: false }];
}

const LOCATION_OPERATORS: ReadonlySet<string> = new Set(['channel', 'topic', 'dm']);

/**
 * Replaces a `with` term, and the terms for channel, topic and conversation, by terms for the current location of the message
 * that `with` names. If the viewer cannot read this message, only the `with` term is removed.
 *
 * @throws BadNarrowError if there are two `with` terms, or if the `with` term is negated or its operand is not a message id.
 * @throws BadNarrowError if the viewer cannot read the message and the other terms name no topic or conversation.
 */
async function resolveWith(ctx: Ctx, terms: readonly NarrowTerm[]): Promise<readonly NarrowTerm[]> {
  const [term, another] = terms.filter(({ operator }) => operator === 'with');
  if (term === undefined) return terms;
  if (another !== undefined) throw new BadNarrowError("Duplicate 'with' operators.", 'operator combination');
  const id = messageIdIn(term.operand);
  if (id === undefined || term.negated) throw new BadNarrowError("Invalid 'with' operator");
  const others = terms.filter(({ operator }) => operator !== 'with');
  const message = await accessMessage(ctx, id).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });
  if (message !== null)
    return [...others.filter(({ operator }) => !LOCATION_OPERATORS.has(operator)), ...placeOf(message)];
  const names = (operator: string) => others.some((other) => other.operator === operator && !other.negated);
  if (names('dm') || (names('channel') && names('topic'))) return others;
  const schemaDescription = 'unknown message in `with`';
  throw new BadNarrowError("Invalid 'with' operator", 'operator', { schemaDescription }).at(parameterOf(term));
}

function placeOf({ channel, conversation, topic }: PlacedMessage): NarrowTerm[] {
  if (channel === null) return [{ operator: 'dm', operand: conversation?.memberIds ?? [], negated: false }];
  return [
    { operator: 'channel', operand: channel.id, negated: false },
    { operator: 'topic', operand: topic, negated: false },
  ];
}

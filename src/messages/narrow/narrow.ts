import type { Ctx } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { accessMessage, type PlacedMessage } from '../access.ts';
import { allOf, type MessagePlace, PLACE_OF_M, type ReadingRights, readingRights } from '../reading.ts';
import { BadNarrowError } from './errors.ts';
import { type Lead, type Meaning, messageIdIn, OPERATORS } from './narrow-operators.ts';
import type { Search } from './narrow-search.ts';
import { type NarrowTerm, operatorNamed } from './narrow-terms.ts';

/** A narrow compiled for one viewer: names are resolved, conditions are SQL and the access paths are known. */
export interface CompiledNarrow {
  readonly rights: ReadingRights;
  /** Whether the narrow includes messages that the viewer can read but did not receive. */
  readonly readsHistory: boolean;
  /** Builds the condition on the channel and conversation of a message. */
  readonly ofPlace: (place: MessagePlace) => Prisma.Sql;
  /** Condition on the message `m`, in addition to `ofPlace`. */
  readonly ofMessage: Prisma.Sql;
  /** Access paths of the terms that are not negated. Empty if no term has one. */
  readonly leads: readonly Lead[];
  /** Whether only direct messages can match. */
  readonly isDirect: boolean;
  readonly namesChannel: boolean;
  /** Topic that the narrow names. Letter case and Unicode form do not matter. Undefined if it names none. */
  readonly topic: string | undefined;
  /** Operands of the terms that require a link, image or attachment. */
  readonly has: readonly string[];
  /** Search of the narrow. Undefined if it has none. */
  readonly search: Search | undefined;
  /** `ofMessage` without the condition of the search. */
  readonly ofUnsearched: Prisma.Sql;
}

/** Returns the narrow without its search. The messages of the result are the candidates of the search. */
export const withoutSearch = (narrow: CompiledNarrow): CompiledNarrow => ({
  ...narrow,
  ofMessage: narrow.ofUnsearched,
  leads: narrow.leads.filter(({ by }) => by !== 'search'),
  search: undefined,
});

/** Negates an SQL condition. The condition must never evaluate to null. */
const negate = (condition: Prisma.Sql) => Prisma.sql`NOT ${condition}`;

/**
 * Compiles a narrow for the viewer. Resolves the names in its terms to channels and users that the viewer can see.
 *
 * @throws BadNarrowError if an operator is unknown, a term names something that does not exist or that the viewer cannot see,
 * or two terms exclude each other.
 * @throws BadRequestError if an operand contains a null byte or is longer than 10,000 characters.
 */
export async function compileNarrow(ctx: Ctx, terms: readonly NarrowTerm[]): Promise<CompiledNarrow> {
  const named = terms.map(readable);
  const meant: Meant[] = [];
  for (const term of joinSearches(await resolveWith(ctx, named))) {
    meant.push({ term, meaning: await meaningOf(ctx, term) });
  }
  const said = meant.filter(({ term }) => !term.negated);
  const kinds = new Set(said.map(({ meaning }) => meaning.kind));
  if (kinds.has('channel') && kinds.has('direct')) {
    throw new BadNarrowError('No message can be both a channel message and direct message');
  }
  const isOwn = meant.some(({ meaning }) => meaning.isOwn === true);
  const leads = said.flatMap(({ meaning }) => meaning.lead ?? []);
  return {
    rights: await readingRights(ctx, said.find(({ meaning }) => meaning.channel)?.meaning.channel),
    readsHistory: !isOwn && said.some(({ meaning }) => meaning.opensHistory === true),
    ofPlace: (place) =>
      allOf(
        meant.flatMap(({ term, meaning: { ofPlace } }) => {
          if (ofPlace === undefined) return [];
          return [term.negated ? negate(ofPlace(place)) : ofPlace(place)];
        }),
      ),
    ofMessage: conditionOf(meant),
    ofUnsearched: conditionOf(meant.filter(({ term, meaning }) => term.negated || meaning.lead?.by !== 'search')),
    leads,
    isDirect: kinds.has('direct'),
    namesChannel: said.some(({ term }) => term.operator === 'channel'),
    topic: said.find(({ meaning }) => meaning.topic !== undefined)?.meaning.topic,
    has: said.flatMap(({ meaning }) => meaning.has ?? []),
    search: leads.find((lead) => lead.by === 'search')?.search,
  };
}

/** A term with its compiled form. */
interface Meant {
  readonly term: NarrowTerm;
  readonly meaning: Meaning;
}

/** Joins the conditions of terms on the message `m` with AND. Excludes conditions on its channel or conversation. */
const conditionOf = (meant: readonly Meant[]): Prisma.Sql =>
  allOf(
    meant.flatMap(({ term, meaning: { ofMessage } }) => {
      if (ofMessage === undefined) return [];
      return [term.negated ? negate(ofMessage) : ofMessage];
    }),
  );

/**
 * Maximum length of an operand, in characters. The email addresses of all members of a conversation fit, and so does the
 * content of a message.
 */
const MAX_LENGTH = 10_000;

/**
 * Returns the term with the current name of its operator.
 *
 * @throws BadRequestError if the operand cannot be stored as text or is too long.
 */
function readable({ operator, operand, negated }: NarrowTerm): NarrowTerm {
  const text = typeof operand === 'string' ? requireText('operand', operand, { max: MAX_LENGTH }) : operand;
  return { operator: operatorNamed(operator), operand: text, negated };
}

/** Builds the SQL condition that the message `m` is in the narrow and the viewer can read it. */
export function isInNarrow({ rights, readsHistory, ofPlace, ofMessage }: CompiledNarrow): Prisma.Sql {
  return allOf([rights.mayRead, ...(readsHistory ? [] : [rights.holds]), ofPlace(PLACE_OF_M), ofMessage]);
}

async function meaningOf(ctx: Ctx, { operator, operand }: NarrowTerm): Promise<Meaning> {
  const read = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (read === undefined) throw new BadNarrowError(`unknown operator ${operator}`);
  return read(ctx, operand);
}

/** Joins all search terms into one, so that the index is read once. Negated search terms stay separate. */
function joinSearches(terms: readonly NarrowTerm[]): readonly NarrowTerm[] {
  const isSearch = ({ operator, negated }: NarrowTerm) => operator === 'search' && !negated;
  const searches = terms.filter(isSearch);
  if (searches.length < 2) return terms;
  const operand = searches.map((term) => term.operand).join(' ');
  return [...terms.filter((term) => !isSearch(term)), { operator: 'search', operand, negated: false }];
}

const CONVERSATION: ReadonlySet<string> = new Set(['channel', 'topic', 'dm']);

/**
 * Replaces a `with` term and the terms for channel, topic and conversation by terms for the current location of its message. If
 * the viewer cannot read the message, only the `with` term is removed.
 *
 * @throws BadNarrowError if there are two `with` terms, or if the term is negated or has no id.
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
    if (error instanceof BadRequestError) return null;
    throw error;
  });
  if (message !== null) return [...others.filter(({ operator }) => !CONVERSATION.has(operator)), ...placeOf(message)];
  const names = (operator: string) => others.some((other) => other.operator === operator && !other.negated);
  if (names('dm') || (names('channel') && names('topic'))) return others;
  throw new BadNarrowError("Invalid 'with' operator");
}

function placeOf({ channel, conversation, topic }: PlacedMessage): NarrowTerm[] {
  if (channel === null) return [{ operator: 'dm', operand: conversation?.memberIds ?? [], negated: false }];
  return [
    { operator: 'channel', operand: channel.id, negated: false },
    { operator: 'topic', operand: topic, negated: false },
  ];
}

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

/** A narrow, as one viewer means it now: names are looked up, and it is known how the messages are best found. */
export interface CompiledNarrow {
  readonly rights: ReadingRights;
  /** Whether it reads all of the history that the viewer may read, and not only what they received. */
  readonly readsHistory: boolean;
  /** What must be true of where a message is. */
  readonly ofPlace: (place: MessagePlace) => Prisma.Sql;
  /** What else must be true of the message `m`. */
  readonly ofMessage: Prisma.Sql;
  /** What leads to the messages, one or more for which no term is negated. */
  readonly leads: readonly Lead[];
  /** Whether it speaks of direct messages alone. */
  readonly isDirect: boolean;
  readonly namesChannel: boolean;
  /** The topic it names, in some case. */
  readonly topic: string | undefined;
  /** What is looked for, when something is. */
  readonly search: Search | undefined;
}

/** Negates a term; no condition is ever null. */
const negate = (condition: Prisma.Sql) => Prisma.sql`NOT ${condition}`;

/**
 * Reads a narrow: what each term names is looked up, as far as the viewer sees it.
 *
 * @throws BadNarrowError when a term is not known, or names what is not there for the viewer, or no message can be both
 *   what one and another term say.
 * @throws BadRequestError for an operand that no text can be: with a null byte, or beyond 10,000 characters.
 */
export async function compileNarrow(ctx: Ctx, terms: readonly NarrowTerm[]): Promise<CompiledNarrow> {
  const named = terms.map(readable);
  const meant: { readonly term: NarrowTerm; readonly meaning: Meaning }[] = [];
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
    ofMessage: allOf(
      meant.flatMap(({ term, meaning: { ofMessage } }) => {
        if (ofMessage === undefined) return [];
        return [term.negated ? negate(ofMessage) : ofMessage];
      }),
    ),
    leads,
    isDirect: kinds.has('direct'),
    namesChannel: said.some(({ term }) => term.operator === 'channel'),
    topic: said.find(({ meaning }) => meaning.topic !== undefined)?.meaning.topic,
    search: leads.find((lead) => lead.by === 'search')?.search,
  };
}

/** Our choice: longer than a list of everybody's addresses in a conversation, and than what can be in a message. */
const MAX_LENGTH = 10_000;

/** The term by its operator's one name, its operand as text may be stored: nothing else can be looked for. */
function readable({ operator, operand, negated }: NarrowTerm): NarrowTerm {
  const text = typeof operand === 'string' ? requireText('operand', operand, { max: MAX_LENGTH }) : operand;
  return { operator: operatorNamed(operator), operand: text, negated };
}

/** Whether the message `m` is one of the narrow's that the viewer may read, as SQL. */
export function isInNarrow({ rights, readsHistory, ofPlace, ofMessage }: CompiledNarrow): Prisma.Sql {
  return allOf([rights.mayRead, ...(readsHistory ? [] : [rights.holds]), ofPlace(PLACE_OF_M), ofMessage]);
}

async function meaningOf(ctx: Ctx, { operator, operand }: NarrowTerm): Promise<Meaning> {
  const read = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (read === undefined) throw new BadNarrowError(`unknown operator ${operator}`);
  return read(ctx, operand);
}

/** Several things that are looked for are looked for together, so that the index is asked once. */
function joinSearches(terms: readonly NarrowTerm[]): readonly NarrowTerm[] {
  const isSearch = ({ operator, negated }: NarrowTerm) => operator === 'search' && !negated;
  const searches = terms.filter(isSearch);
  if (searches.length < 2) return terms;
  const operand = searches.map((term) => term.operand).join(' ');
  return [...terms.filter((term) => !isSearch(term)), { operator: 'search', operand, negated: false }];
}

const CONVERSATION: ReadonlySet<string> = new Set(['channel', 'topic', 'dm']);

/**
 * Puts where the message of a `with` term stands now in the place of the terms that say where it stood.
 *
 * @throws BadNarrowError when there are two, or the viewer may not read the message and the other terms name no
 *   conversation.
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

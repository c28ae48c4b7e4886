import type {
  ChannelKind,
  MessageNarrowInput,
  MessageNarrowTermsInput,
  MessagePart,
  MessageState,
} from '../generated/graphql.ts';

// What somebody looks for, as one line of text: words, words in quotes, and terms such as `channel:general`. Each term is
// one of the narrow's (`MessageNarrowInput`), a day, or none that there is.

/** What can stand before a colon, and what it says. */
export const OPERATORS = {
  channel: 'in a channel',
  topic: 'under a topic',
  sender: 'from somebody',
  dm: 'direct messages with these people alone',
  'dm-including': 'direct messages with somebody among others',
  mentions: 'that mention somebody',
  is: 'starred, unread, mentioned…',
  has: 'with a link, an image…',
  channels: 'in public channels',
  before: 'before a day',
  after: 'from a day on',
} as const;
export type Operator = keyof typeof OPERATORS;

const ALIASES: Readonly<Record<string, Operator>> = {
  from: 'sender',
  stream: 'channel',
  streams: 'channels',
  'pm-with': 'dm',
  since: 'after',
};

/** What can stand behind an operator that takes few words, and what each means. */
export const VALUES = {
  is: {
    starred: 'STARRED',
    unread: 'UNREAD',
    mentioned: 'MENTIONED',
    alerted: 'ALERTED',
    dm: 'DIRECT',
    followed: 'FOLLOWED',
    resolved: 'RESOLVED',
    muted: 'MUTED',
  },
  has: { link: 'LINK', image: 'IMAGE', attachment: 'ATTACHMENT', reaction: 'REACTION' },
  channels: { public: 'PUBLIC', 'web-public': 'WEB_PUBLIC' },
} as const satisfies {
  readonly is: Readonly<Record<string, MessageState>>;
  readonly has: Readonly<Record<string, MessagePart>>;
  readonly channels: Readonly<Record<string, ChannelKind>>;
};

/** One part of the line. */
export interface Term {
  readonly start: number;
  readonly end: number;
  /** Whether what it says must not be so. */
  readonly isNegated: boolean;
  /** What stands before the colon, as it is written; undefined for a word. */
  readonly name: string | undefined;
  /** Without its quotes, and what they escape. */
  readonly value: string;
  readonly isQuoted: boolean;
}

// An address, and a time of day, hold colons and are words. Within quotes, a quote and a backslash stand behind a backslash.
const TERM = /(?<minus>-?)(?:(?<name>\p{L}[\p{L}-]*):(?!\/))?(?:"(?<quoted>(?:\\["\\]|[^"])*)"?|(?<plain>\S*))/gu;

/** The parts of the line, in their order. */
export function termsIn(text: string): Term[] {
  const terms: Term[] = [];
  for (const { 0: whole, index, groups = {} } of text.matchAll(TERM)) {
    const { minus, name, quoted, plain = '' } = groups;
    if (whole === '' || whole === '-') continue;
    const said = {
      isNegated: minus === '-',
      name: name?.toLowerCase(),
      value: quoted?.replace(/\\(["\\])/g, '$1') ?? plain,
    };
    terms.push({ start: index, end: index + whole.length, ...said, isQuoted: quoted !== undefined });
  }
  return terms;
}

export const operatorOf = ({ name = '' }: Pick<Term, 'name'>): Operator | undefined =>
  Object.hasOwn(OPERATORS, name) ? (name as Operator) : Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;

/** A name as it stands behind a colon: in quotes where it would end, or begin, as something else without. */
export const quoted = (name: string): string =>
  /[\s"]/.test(name) ? `"${name.replace(/"|\\(?=["\\]|$)/g, '\\$&')}"` : name;

/** A name as it stands among others in the value of a term: a comma in it stands behind a backslash. */
export const inList = (name: string): string => name.replace(/,|\\(?=[,\\]|$)/g, '\\$&');

/** A name as it is, which stands among others so. */
export const nameIn = (part: string): string => part.replace(/\\([,\\])/g, '$1').trim();

/** The names in the value of a term that takes several. */
const listed = (value: string): string[] =>
  [...value.matchAll(/(?:\\[,\\]|[^,])+/g)].map(([name]) => nameIn(name)).filter((name) => name !== '');

/** How much of a list of names stands before the last one, its comma included. */
export const beforeLast = (value: string): string => /^(?:(?:[^,\\]|\\[,\\]|\\(?![,\\]))*,)*/.exec(value)?.[0] ?? '';

/** What is wrong with a search, for whoever wrote it. */
export class SearchProblem extends Error {}

/** The people that a line names: each has to be found. */
export const namesIn = (terms: readonly Term[]): string[] => [
  ...new Set(
    terms.flatMap((term) => {
      const operator = operatorOf(term);
      if (operator === 'dm') return listed(term.value);
      return operator !== undefined && ONE_PERSON.has(operator) && term.value.trim() !== '' ? [term.value.trim()] : [];
    }),
  ),
];

const ONE_PERSON: ReadonlySet<Operator> = new Set(['sender', 'dm-including', 'mentions']);

/** What a line means. */
export interface Search {
  readonly narrow: MessageNarrowInput;
  /** Moments between which a message must have been sent. */
  readonly after: string | undefined;
  readonly before: string | undefined;
  /** The words that are looked for, and what stood in quotes, as it is. */
  readonly words: readonly string[];
}

/**
 * What the terms of a line mean together.
 *
 * @param idOf The id of somebody by their name.
 * @throws SearchProblem when one of them means nothing, or says again what may be said once.
 */
export function searchFor(terms: readonly Term[], idOf: (name: string) => string): Search {
  const sides = { is: side(terms, false, idOf), isNot: side(terms, true, idOf) };
  const day = (operator: Operator) => {
    const days = terms.filter((term) => operatorOf(term) === operator);
    if (days.some(({ isNegated }) => isNegated)) throw new SearchProblem(`“-${operator}:” cannot be said.`);
    return days.map(momentOf).at(-1);
  };
  const words = terms.filter(({ name, isNegated }) => name === undefined && !isNegated).map(({ value }) => value);
  const not = Object.keys(sides.isNot).length > 0 && { not: sides.isNot };
  return { narrow: { ...sides.is, ...not }, after: day('after'), before: day('before'), words };
}

type Side = MessageNarrowTermsInput;

function side(terms: readonly Term[], isNegated: boolean, idOf: (name: string) => string): Side {
  let found: Side = {};
  const words: string[] = [];
  for (const term of terms) {
    if (term.isNegated !== isNegated) continue;
    if (term.name === undefined) {
      words.push(term.isQuoted ? literally(term.value) : term.value);
      continue;
    }
    const { is = [], has = [], ...field } = fieldsOf(term, idOf);
    if (Object.keys(field).some((name) => name in found)) throw new SearchProblem(`“${term.name}:” can stand once.`);
    found = {
      ...found,
      ...field,
      ...(is.length > 0 && { is: [...(found.is ?? []), ...is] }),
      ...(has.length > 0 && { has: [...(found.has ?? []), ...has] }),
    };
  }
  // What must not be said is one condition, which two words would have to meet together.
  if (isNegated && words.length > 1) throw new SearchProblem('One word, or one text in quotes, can be left out.');
  const search = words.join(' ').trim();
  return { ...found, ...(search.replaceAll('"', '').trim() !== '' && { search }) };
}

/** As the service takes it that something must stand so. It knows no quotes in quotes: what is between them must, each. */
const literally = (text: string): string =>
  text
    .split('"')
    .filter((part) => part.trim() !== '')
    .map((part) => `"${part}"`)
    .join(' ');

interface Fields extends Omit<Side, 'is' | 'has'> {
  readonly is?: readonly MessageState[];
  readonly has?: readonly MessagePart[];
}

/** What a term says of the narrow; nothing where it is of a day. */
function fieldsOf(term: Term, idOf: (name: string) => string): Fields {
  const operator = operatorOf(term);
  const { name, value } = term;
  if (operator === undefined) {
    const all = Object.keys(OPERATORS).map((one) => `${one}:`);
    throw new SearchProblem(`There is no “${name}:”. There are ${LIST.format(all)}. In quotes it is a word.`);
  }
  if (value.trim() === '') throw new SearchProblem(`Behind “${name}:” something is missing.`);
  switch (operator) {
    case 'channel':
      return { channel: { name: value.replace(/^#/, '') } };
    case 'topic':
      return { topic: value };
    case 'sender':
      return { senderId: idOf(value.trim()) };
    case 'dm':
      return { directWith: listed(value).map(idOf) };
    case 'dm-including':
      return { directIncluding: idOf(value.trim()) };
    case 'mentions':
      return { mentionsUserId: idOf(value.trim()) };
    case 'channels':
      return { channels: meantBy(term, VALUES.channels) };
    case 'is':
      return { is: [meantBy(term, VALUES.is)] };
    case 'has':
      return { has: [meantBy(term, VALUES.has)] };
    default:
      return {};
  }
}

const LIST = new Intl.ListFormat('en', { type: 'conjunction' });
const CHOICE = new Intl.ListFormat('en', { type: 'disjunction' });

function meantBy<T>({ name, value }: Term, values: Readonly<Record<string, T>>): T {
  const found = Object.entries(values).find(([word]) => word === value.toLowerCase());
  if (found !== undefined) return found[1];
  throw new SearchProblem(
    `There is no “${name}:${value}”. Behind ${name}: stands ${CHOICE.format(Object.keys(values))}.`,
  );
}

/** The first moment of a day, where the reader is. */
function momentOf({ name, value }: Term): string {
  const [year = 0, month = 0, day = 0] = (/^\d{4}-\d{1,2}-\d{1,2}$/.exec(value)?.[0] ?? '').split('-').map(Number);
  const date = new Date(year, month - 1, day);
  if (year === 0 || date.getMonth() !== month - 1) {
    throw new SearchProblem(`“${name}:${value}” is no day. Days are written as 2026-01-31.`);
  }
  return date.toISOString();
}

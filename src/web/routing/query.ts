import type {
  ChannelPrivacy,
  MessageNarrowInput,
  MessageNarrowTermsInput,
  MessagePart,
  MessageState,
} from '../generated/graphql.ts';

// A search is one line of text: words, quoted words, and terms such as `channel:general`. Each term sets a field of the
// narrow (`MessageNarrowInput`) or a day. Terms with an unknown operator are errors.

/** The operators that can precede the colon of a term, with descriptions for users. */
export const OPERATORS = {
  channel: 'in a channel',
  topic: 'in a topic',
  sender: 'from a user',
  dm: 'direct messages with exactly these users',
  'dm-including': 'direct messages that include a user',
  mentions: 'that mention a user',
  is: 'starred, unread, mentioned…',
  has: 'with a link, an image…',
  channels: 'in public channels',
  before: 'before a day',
  after: 'on or after a day',
} as const;
export type Operator = keyof typeof OPERATORS;

const ALIASES: Readonly<Record<string, Operator>> = {
  from: 'sender',
  stream: 'channel',
  streams: 'channels',
  'pm-with': 'dm',
  since: 'after',
};

/** The operators that accept only certain values, with these values. Each value is mapped to its name in the API. */
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
  readonly channels: Readonly<Record<string, ChannelPrivacy>>;
};

/** A word or a term of a search. */
export interface Term {
  readonly start: number;
  readonly end: number;
  /** Whether the term excludes the messages that match it. */
  readonly isNegated: boolean;
  /** The text before the colon, in lower case; undefined for a word. */
  readonly name: string | undefined;
  /** The text after the colon, or the word, without quotes and escapes. */
  readonly value: string;
  readonly isQuoted: boolean;
}

// Matches a word or a term of a search. A colon after a digit or before a slash is part of a word, as in times of day and URLs.
// Within quotes, a backslash escapes a quote or a backslash.
const TERM = /(?<minus>-?)(?:(?<name>\p{L}[\p{L}-]*):(?!\/))?(?:"(?<quoted>(?:\\["\\]|[^"])*)"?|(?<plain>\S*))/gu;

/** Returns the words and terms of a search in their order. */
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

/** Quotes a name for use after a colon, if it contains white space or quotes. */
export const quoted = (name: string): string =>
  /[\s"]/.test(name) ? `"${name.replace(/"|\\(?=["\\]|$)/g, '\\$&')}"` : name;

/** Escapes the commas of a name for use in a list of names. */
export const inList = (name: string): string => name.replace(/,|\\(?=[,\\]|$)/g, '\\$&');

/** Removes the escapes of a name in a list. */
export const nameIn = (part: string): string => part.replace(/\\([,\\])/g, '$1').trim();

/** Returns the names in a list that is separated by commas. */
const listed = (value: string): string[] =>
  [...value.matchAll(/(?:\\[,\\]|[^,])+/g)].map(([name]) => nameIn(name)).filter((name) => name !== '');

/** Returns the part of a list of names before the last name, including the comma. */
export const beforeLast = (value: string): string => /^(?:(?:[^,\\]|\\[,\\]|\\(?![,\\]))*,)*/.exec(value)?.[0] ?? '';

/** An error in a search, with a message for the user who typed it. */
export class SearchProblem extends Error {}

/** Returns the distinct names of users in a search. `searchFor` needs the IDs of these users. */
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

/** A parsed search. */
export interface Search {
  readonly narrow: MessageNarrowInput;
  /** Time range of the messages: sent at or after `after`, and before `before`. In ISO 8601; undefined if not restricted. */
  readonly after: string | undefined;
  readonly before: string | undefined;
}

/**
 * Returns the search that consists of these terms.
 *
 * @param idOf Returns the ID of a user by name.
 * @throws SearchProblem if a term is invalid, or if a term is repeated that is allowed only once.
 */
export function searchFor(terms: readonly Term[], idOf: (name: string) => string): Search {
  const sides = { is: side(terms, false, idOf), isNot: side(terms, true, idOf) };
  const day = (operator: Operator) => {
    const days = terms.filter((term) => operatorOf(term) === operator);
    if (days.some(({ isNegated }) => isNegated)) throw new SearchProblem(`“-${operator}:” is not supported.`);
    return days.map(momentOf).at(-1);
  };
  const not = Object.keys(sides.isNot).length > 0 && { not: sides.isNot };
  return { narrow: { ...sides.is, ...not }, after: day('after'), before: day('before') };
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
    if (Object.keys(field).some((name) => name in found)) throw new SearchProblem(`Use “${term.name}:” only once.`);
    found = {
      ...found,
      ...field,
      ...(is.length > 0 && { is: [...(found.is ?? []), ...is] }),
      ...(has.length > 0 && { has: [...(found.has ?? []), ...has] }),
    };
  }
  // The service treats all negated words as one condition. Two words would exclude only messages that contain both words.
  if (isNegated && words.length > 1) throw new SearchProblem('Only one word or one quoted text can be excluded.');
  const search = words.join(' ').trim();
  return { ...found, ...(search.replaceAll('"', '').trim() !== '' && { search }) };
}

/**
 * Returns a quoted text in the search syntax of the service. That syntax has no escapes for quotes, so the parts between quotes
 * are quoted separately.
 */
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

/**
 * Returns the fields of the narrow (message filter) that a term sets. Empty for `before` and `after`.
 *
 * @throws SearchProblem if the term is invalid.
 */
function fieldsOf(term: Term, idOf: (name: string) => string): Fields {
  const operator = operatorOf(term);
  const { name, value } = term;
  if (operator === undefined) {
    const all = Object.keys(OPERATORS).map((one) => `${one}:`);
    throw new SearchProblem(
      `Unknown filter “${name}:”. Available filters: ${LIST.format(all)}. To search for this text, put it in quotes.`,
    );
  }
  if (value.trim() === '') throw new SearchProblem(`“${name}:” requires a value.`);
  switch (operator) {
    case 'channel':
      return { channel: { name: value.replace(/^#/, '') } };
    case 'topic':
      return { topicNamed: value };
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
  throw new SearchProblem(`Unknown value “${value}” for “${name}:”. Use ${CHOICE.format(Object.keys(values))}.`);
}

/**
 * Returns the start of the day of a term in the time zone of the browser, in ISO 8601.
 *
 * @throws SearchProblem if the value of the term is not a day.
 */
function momentOf({ name, value }: Term): string {
  const [year = 0, month = 0, day = 0] = (/^\d{4}-\d{1,2}-\d{1,2}$/.exec(value)?.[0] ?? '').split('-').map(Number);
  const date = new Date(year, month - 1, day);
  if (year === 0 || date.getMonth() !== month - 1) {
    throw new SearchProblem(`“${name}:${value}” is not a valid day. Use the format 2026-01-31.`);
  }
  return date.toISOString();
}

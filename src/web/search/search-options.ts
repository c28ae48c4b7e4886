import type { Client } from 'urql';
import { SidebarDocument, type SidebarQuery, SuggestionsDocument } from '../generated/graphql.ts';
import {
  beforeLast,
  inList,
  nameIn,
  OPERATORS,
  type Operator,
  operatorOf,
  quoted,
  type Term,
  VALUES,
} from '../routing/query.ts';
import { currentRoute } from '../routing/router.tsx';
import type { Route } from '../routing/routes.ts';
import { type Option, suggestTopics } from '../type-ahead/options.ts';
import { channelIcon } from '../ui/channel-icon.ts';
import { findPeople } from './find-people.ts';

/**
 * Returns suggestions for the term that the user is typing: operators, or values after an operator.
 *
 * @param term The term so far. Undefined if the user begins a new term.
 * @param terms All terms of the search.
 */
export async function optionsFor(
  client: Client,
  term: Term | undefined,
  terms: readonly Term[],
): Promise<readonly Option[]> {
  const minus = term?.isNegated === true ? '-' : '';
  if (term?.name === undefined) {
    const text = term?.value ?? '';
    if (term?.isQuoted === true) return [];
    const here = terms.length === 0 ? openPlace(client) : [];
    return [...here, ...operators(text, minus), ...(await placesAndPeople(client, text, minus))];
  }
  const operator = operatorOf(term);
  if (operator === undefined) return [];
  const begin = `${minus}${term.name}:`;
  switch (operator) {
    case 'is':
    case 'has':
    case 'channels':
      return fixed(Object.keys(VALUES[operator]), term.value, begin);
    case 'channel':
      return channels(client, term.value, begin);
    case 'topic':
      return topics(client, term.value, begin, terms);
    case 'before':
    case 'after':
      return fixed(days(), term.value, begin);
    case 'dm':
      return oneOfSeveral(client, term.value, begin);
    default:
      return people(client, term.value, begin);
  }
}

/** Returns the open channel, topic or conversation as a suggestion for a search. Empty if another view is open. */
function openPlace(client: Client): Option[] {
  const written = termsOfPlace(currentRoute(), client.readQuery(SidebarDocument, {})?.data);
  return written === undefined
    ? []
    : [{ key: 'here', label: written, detail: 'current view', icon: 'eye', insert: `${written} ` }];
}

function termsOfPlace(route: Route, data: SidebarQuery | null | undefined): string | undefined {
  if (route.name === 'channel') {
    const own = data?.subscriptions?.nodes.find(({ channel }) => channel.id === route.channelId);
    const topic = route.topic === undefined ? '' : ` topic:${quoted(route.topic)}`;
    return own && `channel:${quoted(own.channel.name)}${topic}`;
  }
  if (route.name !== 'direct') return undefined;
  const people = data?.directConversations?.nodes.flatMap(({ participants }) => participants) ?? [];
  const names = route.userIds.map((id) => people.find((person) => person.id === id)?.fullName);
  if (names.includes(undefined)) return undefined;
  return `dm:${quoted(names.map((name = '') => inList(name)).join(', '))}`;
}

const operators = (text: string, minus: string): Option[] =>
  Object.entries(OPERATORS)
    .filter(([name]) => name.startsWith(text.toLowerCase()) && !(minus === '-' && DAYS.has(name as Operator)))
    .map(([name, detail]) => ({ key: name, label: `${minus}${name}:`, detail, insert: `${minus}${name}:` }));

const DAYS: ReadonlySet<Operator> = new Set(['before', 'after']);

const fixed = (values: readonly string[], text: string, begin: string): Option[] =>
  values
    .filter((value) => value.startsWith(text.toLowerCase()))
    .map((value) => ({ key: value, label: `${begin}${value}`, insert: `${begin}${value} ` }));

/** Returns today, yesterday, and the days 7, 30 and 365 days ago, in the format YYYY-MM-DD. */
function days(): string[] {
  return [0, 1, 7, 30, 365].map((ago) => {
    const day = new Date();
    day.setDate(day.getDate() - ago);
    return [day.getFullYear(), day.getMonth() + 1, day.getDate()]
      .map((part) => String(part).padStart(2, '0'))
      .join('-');
  });
}

/**
 * Returns up to three channels and three users that match a word, as terms. The user may be typing the name of a channel or
 * user.
 */
async function placesAndPeople(client: Client, text: string, minus: string): Promise<Option[]> {
  if (text.trim() === '') return [];
  const [named, from] = await Promise.all([
    channels(client, text, `${minus}channel:`),
    people(client, text, `${minus}sender:`),
  ]);
  return [...named.slice(0, 3), ...from.filter(({ key }) => key !== 'me').slice(0, 3)];
}

async function channels(client: Client, text: string, begin: string): Promise<Option[]> {
  const { data } = await client.query(SuggestionsDocument, { text: text.trim(), kinds: ['CHANNEL'] }).toPromise();
  return (data?.suggestions ?? []).flatMap((one): Option[] => {
    if (one.__typename !== 'Channel') return [];
    const written = `${begin}${quoted(one.name)}`;
    return [{ key: one.id, label: written, icon: channelIcon(one.privacy), insert: `${written} ` }];
  });
}

async function topics(client: Client, text: string, begin: string, terms: readonly Term[]): Promise<Option[]> {
  const named = terms.find((term) => operatorOf(term) === 'channel' && !term.isNegated)?.value.toLowerCase();
  const subscriptions = client.readQuery(SidebarDocument, {})?.data?.subscriptions?.nodes ?? [];
  const channel = subscriptions.find(({ channel: { name } }) => name.toLowerCase() === named)?.channel;
  if (channel === undefined) return [];
  return (await suggestTopics(client, channel.id, text)).map((name) => ({
    key: name,
    label: `${begin}${quoted(name)}`,
    detail: `in #${channel.name}`,
    insert: `${begin}${quoted(name)} `,
  }));
}

/**
 * Returns users as suggestions.
 *
 * @param begin Text of the term before its value, such as `sender:`.
 * @param inPlace Returns the value of the term for the name of a user. If the value is a list, the name is appended to it.
 */
async function people(
  client: Client,
  text: string,
  begin: string,
  inPlace = (name: string) => name,
): Promise<Option[]> {
  const found = await findPeople(client, text);
  const options = found.map((person): Option => {
    const { id, databaseId, fullName, isActive } = person;
    const isOneOfSeveral = found.filter((one) => one.fullName === fullName).length > 1;
    const written = begin + quoted(inPlace(isOneOfSeveral ? `${fullName}|${databaseId}` : fullName));
    const detail = isActive ? {} : { detail: 'deactivated' };
    return { key: id, label: written, person, insert: `${written} `, ...detail };
  });
  const me: Option = { key: 'me', label: `${begin}me`, detail: 'yourself', icon: 'at', insert: `${begin}me ` };
  return inPlace('') === '' && 'me'.startsWith(text.trim().toLowerCase()) ? [...options, me] : options;
}

/** Returns suggestions that complete the last name in a list of names. The names before it stay in the list. */
function oneOfSeveral(client: Client, text: string, begin: string): Promise<Option[]> {
  const before = beforeLast(text);
  return people(client, nameIn(text.slice(before.length)), begin, (name) =>
    before === '' ? inList(name) : `${before} ${inList(name)}`,
  );
}

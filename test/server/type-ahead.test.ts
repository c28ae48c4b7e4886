import { expect, test } from 'vitest';
import { searchableWords } from '../../src/platform/folding.ts';
import { fitOf } from '../../src/web/ui/name-words.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const QUERY = `query ($text: String!, $kinds: [SuggestionKind!], $channelId: ID, $first: Int) {
  suggestions(text: $text, kinds: $kinds, channelId: $channelId, first: $first) {
    __typename ... on Node { id } ... on User { fullName } ... on Channel { name } ... on UserGroup { name }
    ... on Topic { topic: name }
  }
}`;

async function suggested(person: Person, variables: Parameters): Promise<string[]> {
  const { suggestions } = await person.query(QUERY, variables);
  return suggestions.map((one: Json) => `${one.__typename} ${one.fullName ?? one.name ?? one.topic}`);
}

test('suggests visible names that start with the text, then those in which a later word does', async () => {
  const { owner, member, guest } = await createOrganization();
  const other = await createOrganization();
  const rename = (person: Person, full_name: string) => person.ok('PATCH', '/settings', { full_name });
  await rename(owner, 'Bea Anders');
  await rename(member, 'Anna 100%_Sure');
  await rename(other.owner, 'Anna Elsewhere');
  const mine = await channelOf(owner, 'Anchors', [owner, guest]);
  await channelOf(owner, 'The anteroom', [owner]);
  const hidden = (
    await owner.ok('POST', '/channels/create', {
      ...{ name: 'Answers in secret', subscribers: [owner.id], invite_only: true },
    })
  ).id as number;
  const old = await channelOf(owner, 'Ancient', [owner]);
  await owner.ok('DELETE', `/streams/${old}`);
  await owner.ok('POST', '/user_groups/create', { name: 'Analysts', description: '', members: [owner.id] });
  for (const topic of ['annual plans', 'lunch', 'plans, annotated']) await say(owner, mine, topic);
  await say(owner, hidden, 'anything');
  const id = globalId('Channel', mine);

  const all = { text: ' AN', channelId: id, first: 5 };
  const users = ['User Anna 100%_Sure', 'User Bea Anders'];
  const topics = ['Topic annual plans', 'Topic plans, annotated'];
  expect(await suggested(owner, all)).toEqual([
    ...[...users, 'Channel Anchors', 'Channel Answers in secret', 'Channel The anteroom', 'UserGroup Analysts'],
    ...topics,
  ]);
  expect(await suggested(member, { ...all, kinds: ['CHANNEL'] })).toEqual(['Channel Anchors', 'Channel The anteroom']);
  // A guest sees only their own channels, and no groups.
  expect(await suggested(guest, all)).toEqual([...users, 'Channel Anchors', ...topics]);
  expect(await suggested(member, { text: '', kinds: ['TOPIC'], channelId: globalId('Channel', hidden) })).toEqual([]);
  expect(await suggested(owner, { text: 'an', kinds: ['TOPIC'] })).toEqual([]);
  // Characters that are wildcards in SQL match only themselves.
  expect(await suggested(owner, { text: '%', kinds: ['USER', 'CHANNEL'] })).toEqual([]);
  expect(await suggested(owner, { text: '100%_s', kinds: ['USER'] })).toEqual(['User Anna 100%_Sure']);
  expect(await suggested(owner, { ...all, kinds: ['TOPIC', 'USER'], first: 1 })).toEqual([topics[0], users[0]]);
});

test('refuses invalid texts, and too many suggestions', async () => {
  const { owner } = await createOrganization();
  const refusal = { data: { suggestions: null }, errors: [{ extensions: { code: 'BAD_REQUEST' } }] };
  for (const wrong of [{ text: 'x'.repeat(101) }, { text: 'a', first: 0 }, { text: 'a', first: 21 }, { text: 'a\0' }]) {
    expect(await owner.graphql(QUERY, wrong), JSON.stringify(wrong)).toMatchObject(refusal);
  }
  expect((await owner.query(QUERY, { text: '' })).suggestions.length).toBeGreaterThan(0);
});

/** Names, each followed by texts that a user can type and that must match the name. */
const WRITTEN: readonly (readonly [name: string, ...written: string[]])[] = [
  ['Zoë Bramley', 'zoe bram', 'ZOË', 'bramley z', 'Zoe\u0308 B', 'zoé'],
  ['Marie-Paule Núñez', 'paule', 'marie paule', 'marie-p', 'nunez', 'ñunez'],
  ['deck-winch/repairs', 'winch', 'repairs', 'deck-winch/rep', 'winch/rep', 'deck w'],
  ['ops.harbour_night', 'harbour', 'night', 'ops.har', 'night ops'],
  ['Łukasz Größe', 'lukasz', 'grosse', 'größe', 'Łuk'],
  ['Ёлка Артём', 'елка', 'артем', 'ЁЛКА'],
  ['Ναύτης Άννα', 'ναυτης', 'αννα', 'ΑΝΝΑ'],
  ["Sean O'Neil (Crew)", 'oneil', 'crew', "o'ne", 'neil', 'sean o’n'],
  ['Brigid O’Leary', 'oleary', "o'leary", 'leary', "brigid o'l"],
  ['김철수', '철수', '수', '김 철', '김철수'],
  ['浮き桟橋', '桟橋', '橋', '浮き桟'],
  ['李 小龙', '龙', '李 龙', '小龙'],
  ['東京Tower', 'tower', '京', '東京t'],
  ['สวัสดี', 'ดี', 'วัส'],
  ['v2.6.11 release', '2.6', 'v2', '2.6.11', '11', 'release 2'],
  ['Q3plans', '3plans', 'plans', 'q3'],
  ['stormCapstan', 'capstan', 'storm c', 'stormc', 'capstan storm'],
  ['HTTPServerLogs', 'server', 'logs', 'http', 'serverl', 'httpserver'],
  ['AnkerØse', 'øse', 'ose', 'anker'],
  ['seilÉtude', 'etude', 'étu', 'seil e'],
  ['ΚύμαΦάρος', 'φαρος', 'κυμα φ'],
  ['причалЙод', 'йод', 'иод', 'причал'],
  ['pier7North', 'north', '7n', 'pier 7'],
  ['McTavish', 'tavish', 'mct'],
];
/** Texts that must match none of the names in `WRITTEN`. */
const UNFIT = [
  'erver',
  'ogs',
  'ttps',
  'eil',
  'ary',
  '鉄',
  '3.6',
  'lans',
  'ramley',
  'aule',
  'inch',
  '-',
  '"',
  'zoe paule',
  'x',
];

test('suggestions ignore accents, and match at every word of a name, whatever separates the words', async () => {
  const { owner, member } = await createOrganization();
  const mine = await channelOf(owner, 'topics', [owner, member]);
  for (const [name] of WRITTEN) {
    await channelOf(owner, name, [owner]);
    await owner.ok('POST', '/user_groups/create', { name, description: '', members: [owner.id] });
    await say(owner, mine, name);
  }
  const found: Record<string, string[]> = {};
  const expected: Record<string, string[]> = {};
  const channelId = globalId('Channel', mine);
  for (const [name, ...texts] of WRITTEN) {
    await member.ok('PATCH', '/settings', { full_name: name.replace('/', ' ') });
    for (const text of texts) {
      const kinds = ['USER', 'CHANNEL', 'USER_GROUP', 'TOPIC'];
      found[text] = await suggested(owner, { text, channelId, kinds });
      expected[text] = [`User ${name.replace('/', ' ')}`, `Channel ${name}`, `UserGroup ${name}`, `Topic ${name}`];
      // The chat page ranks its own suggestions with this function, which must agree with the service.
      expect(fitOf(name, text), `${name}: ${text}`).toBeDefined();
    }
  }
  expect(found).toEqual(expected);
  for (const text of UNFIT) {
    expect(await suggested(owner, { text, channelId }), text).toEqual([]);
    expect(
      WRITTEN.flatMap(([name]) => fitOf(name, text) ?? []),
      text,
    ).toEqual([]);
  }
});

/** Parts of names, in every script and with every kind of character that names can contain. */
const PIECES = [
  '김철수',
  '浮き桟橋',
  '小龙',
  'サーバー',
  'สวัสดี',
  'Zoë',
  'ﷺ',
  '㍿',
  "'",
  '’',
  'ʻ',
  ' ',
  '-',
  '.',
  '12',
  '٣',
  '1',
  'v',
  'İ',
  'Æ',
  '́',
];
const MORE = [
  '🏴\u{E0067}\u{E007F}',
  '台\u{E0101}',
  '❤\uFE0F',
  '1\uFE0F\u20E3',
  '\u3000',
  'ー',
  '·',
  '𠮷',
  'e\u0323\u0301',
  'क्षेत्र',
  '_',
  '\\',
  'Deck',
  'aWin',
  'ABc',
  'ÉaÉ',
  'Ёлк',
  'ΦάΡ',
  'ǅ',
  'Ｗi',
  'ߊ\u0001A',
];

test('the database splits names into the same words as the service, up to a limit', async () => {
  await using service = await shareInProcess();
  const pieces = [...PIECES, ...MORE];
  const names = pieces.flatMap((one) => pieces.flatMap((two) => [one + two, `${two}a${one} ${two}`, `7${one}b${two}`]));
  const longest = ['㍿'.repeat(100), 'ﷺ'.repeat(100), '1a'.repeat(50), "a'".repeat(50)];
  longest.push(Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join(''));
  for (let i = 0; i < names.length; i += 1_000) {
    const given = [...names.slice(i, i + 1_000), ...longest];
    const rows = await service.app.db.$queryRaw<{ words: string }[]>`
      SELECT searched_words_of_name(name) AS words FROM unnest(${given}::text[]) WITH ORDINALITY AS t (name, i) ORDER BY i`;
    expect(rows.map(({ words }) => words)).toEqual(given.map(searchableWords));
  }
  for (const name of longest) expect([...searchableWords(name)].length).toBeLessThanOrEqual(6_000);
});

test('invisible objects and deactivated users take up no places among suggestions', async () => {
  const { owner, member, guest } = await createOrganization();
  for (let i = 0; i < 8; i++) {
    await owner.ok('POST', '/channels/create', { name: `Höhle ${i}`, subscribers: [owner.id], invite_only: true });
  }
  await channelOf(owner, 'zur hohle', [owner]);
  expect(await suggested(member, { text: 'hohle', kinds: ['CHANNEL'], first: 3 })).toEqual(['Channel zur hohle']);
  expect(await suggested(guest, { text: 'hohle', kinds: ['CHANNEL'], first: 3 })).toEqual([]);
  await member.ok('PATCH', '/settings', { full_name: 'Ýrsa' });
  expect(await suggested(owner, { text: 'yrsa', kinds: ['USER'] })).toEqual(['User Ýrsa']);
  await owner.ok('DELETE', `/users/${member.id}`);
  expect(await suggested(owner, { text: 'yrsa', kinds: ['USER'] })).toEqual([]);
});

test('ranks names of emoji by each of their words', () => {
  expect(['thumbs_up', 'deck-winch', 'up'].map((name) => fitOf(name, 'up'))).toEqual([1, undefined, 0]);
  expect(['thumbs_up', 'deck-winch', 'deckWinch'].map((name) => fitOf(name, 'winch'))).toEqual([undefined, 1, 1]);
});

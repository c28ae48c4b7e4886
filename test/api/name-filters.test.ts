import { expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';

const QUERY = `query ($text: String) {
  users(nameContains: $text) { totalCount nodes { fullName } }
  gone: users(nameContains: $text, isActive: false, orderBy: { field: FULL_NAME }) { totalCount nodes { fullName } }
  channels(nameContains: $text) { totalCount nodes { name } }
  userGroups(nameContains: $text) { totalCount nodes { name } }
}`;

/** Names, each followed by filter texts that match only this name. */
const MATCHING: readonly (readonly [string, ...string[]])[] = [
  ['Zoë Bramley', 'zoe bram', 'ZOË', 'zoe\u0308', 'bramley zoe', 'amley', 'oë b', 'zoe, bramley', '  zoe '],
  ['Marie-Paule d’Arc', 'paule', 'marie paule', 'paule-marie', "d'arc", 'darc', 'd’arc', 'e-p', 'arc paule'],
  ['deck-winch repairs', 'winch', 'repairs winch', 'winch_rep', 'k-w', 'nch'],
  ['김철수', '철수', '김 철', '철수 김', '수'],
  ['Straße 12b', 'strasse', 'asse 12', '12b', '2b'],
  ['Søren (søren@example.com)', 'soren', '@example.co', 'n@e', 'soren example', 'sören'],
  ['100% x', '%', '0% X'],
];
const MATCHING_NOTHING = [
  'zoe brum',
  'zoebramley',
  'zoe mley',
  'bram marie',
  '_',
  '\\',
  '%%',
  'winchrepairs',
  '-,',
  "'",
];

test('name filters of users, channels and groups ignore case, accents and the order of words, in any part of words', async () => {
  const { owner, member } = await createOrganization();
  for (const [name] of MATCHING) {
    await owner.ok('POST', '/channels/create', { name, subscribers: [owner.id] });
    await owner.ok('POST', '/user_groups/create', { name, description: '', members: [owner.id] });
  }
  const named = async (text: string) => {
    const found = await owner.query(QUERY, { text });
    for (const { totalCount, nodes } of Object.values<Json>(found)) expect(totalCount).toBe(nodes.length);
    return Object.entries<Json>(found).map(([list, { nodes }]) => [
      list,
      ...nodes.map((node: Json) => node.fullName ?? node.name),
    ]);
  };
  for (const [name, ...texts] of MATCHING) {
    // Names of users cannot contain "@".
    const fullName = name.replace('@', '.');
    await member.ok('PATCH', '/settings', { full_name: fullName });
    for (const text of texts) {
      const expected = [['users', fullName], ['gone'], ['channels', name], ['userGroups', name]];
      expect(await named(text), text).toEqual(expected);
    }
    for (const text of MATCHING_NOTHING) {
      expect(await named(text), text).toEqual([['users'], ['gone'], ['channels'], ['userGroups']]);
    }
  }
  // The suggestions of the search use this filter to list deactivated users.
  await member.ok('PATCH', '/settings', { full_name: 'Zoë Bramley' });
  await owner.ok('DELETE', `/users/${member.id}`);
  for (const text of ['zoe', 'bram zoe', 'mley']) {
    expect((await named(text)).slice(0, 2), text).toEqual([
      ['users', 'Zoë Bramley'],
      ['gone', 'Zoë Bramley'],
    ]);
  }
});

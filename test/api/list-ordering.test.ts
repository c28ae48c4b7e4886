import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

const LATER = 4_102_444_800;

let service: InProcess;
let people: Organization;
let channelId: number;
let groupId: number;
let outerId: number;
let messageId: number;

beforeAll(async () => {
  service = await shareInProcess({ counts: true });
  people = await createOrganization({}, { on: service });
  const { organization, owner, member } = people;
  const run = (sql: string) => service.app.db.$executeRawUnsafe(sql);
  for (const name of ['ann', 'Ann Z', 'bob', 'Cyd']) await people.signUp(name);
  // Makes the sort keys of some objects almost equal: names and times differ only in details that a cursor does not contain.
  await run(
    `UPDATE user_account SET full_name = 'Ann' WHERE realm_id = ${organization.id} AND full_name IN ('ann', 'bob')`,
  );
  await run(
    `UPDATE user_account SET joined_at = '2026-01-01 00:00:00.0004' WHERE realm_id = ${organization.id} AND id % 2 = 0`,
  );
  await run(
    `UPDATE user_account SET joined_at = '2026-01-01 00:00:00.0001' WHERE realm_id = ${organization.id} AND id % 2 = 1`,
  );
  const everybody = (await owner.query('{ users(first: 100, isActive: true) { nodes { databaseId } } }')).users.nodes;
  const ids = everybody.map(({ databaseId }: Json) => databaseId);
  for (const name of ['beta', 'Alpha', 'émile', 'Delta', 'epsilon']) {
    const subscribers = name < 'a' ? ids : [owner.id];
    await owner.ok('POST', '/channels/create', { name, subscribers });
  }
  await run(
    `UPDATE channel SET created_at = '2026-01-01' WHERE realm_id = ${organization.id} AND name IN ('beta', 'Delta')`,
  );
  channelId = (await owner.ok('GET', '/get_stream_id', { stream: 'Alpha' })).stream_id;
  const topics = ['b', 'A', 'c', 'B', '', 'a'];
  for (const topic of topics) {
    await owner.ok('POST', '/messages', { type: 'channel', to: channelId, topic, content: 'x' });
  }
  await owner.ok('PATCH', '/realm', { enable_read_receipts: true });
  messageId = (await owner.ok('POST', '/messages', { type: 'channel', to: channelId, topic: 'a', content: 'x' })).id;
  for (const person of [people.administrator, people.moderator, member]) {
    await person.ok('POST', '/messages/flags', { messages: [messageId], op: 'add', flag: 'read' });
    await person.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'x' });
  }
  const begun = [member, people.administrator];
  for (const person of begun) await owner.ok('POST', '/messages', { type: 'direct', to: [person.id], content: 'x' });
  for (const topic of ['b', 'A', 'c']) {
    await owner.ok('POST', '/user_topics', { stream_id: channelId, topic, visibility_policy: 3 });
    await owner.ok('POST', '/bots', { full_name: `${topic} bot`, short_name: topic });
  }
  const groups: number[] = [];
  for (const name of ['b', 'A', 'c']) {
    const group = { name: `${name} group`, description: '', members: ids };
    groupId = (await owner.ok('POST', '/user_groups/create', group)).group_id;
    groups.push(groupId);
    await owner.ok('POST', '/channel_folders/create', { name: `${name} folder`, description: '' });
    await owner.ok('POST', '/saved_snippets', { title: name === 'c' ? 'b' : name, content: name });
    const [text, to] = [`draft ${name}`, [member.id]];
    await owner.ok('POST', '/drafts', {
      drafts: [{ type: 'private', to, topic: '', content: text, timestamp: 1_700_000_000 }],
    });
    const message = { type: 'direct', to, content: name, scheduled_delivery_timestamp: LATER + (name === 'A' ? 1 : 0) };
    await owner.ok('POST', '/scheduled_messages', message);
  }
  const outer = { name: 'outer', description: '', members: [], subgroups: groups };
  outerId = (await owner.ok('POST', '/user_groups/create', outer)).group_id;
});
afterAll(() => service[Symbol.asyncDispose]());

interface List {
  /** Returns the document that reads a page of the list. "%" stands for the arguments of the list's field. */
  readonly query: () => string;
  readonly of: (data: Json) => Json;
  /** For each sort field, the selection that returns its value. */
  readonly fields: Readonly<Record<string, string>>;
}

const root = (name: string, fields: Readonly<Record<string, string>>): List => ({
  query: () =>
    `{ ${name}(%) { nodes { id ${[...new Set(Object.values(fields))].join(' ')} } edges { cursor } pageInfo { hasNextPage hasPreviousPage } } }`,
  of: (data) => data[name],
  fields,
});
/** Returns a list that is a field of an object. @param idOf Returns the id of the object. */
const within = (type: string, idOf: () => number, list: List): List => ({
  ...list,
  query: () => {
    const fragment = list.query().replace(/^\{(.*)\}$/s, `... on ${type} {$1}`);
    return `{ node(id: "${globalId(type, idOf())}") { ${fragment} } }`;
  },
  of: (data) => list.of(data['node']),
});

const USERS = { ID: 'databaseId', FULL_NAME: 'fullName', JOINED_AT: 'joinedAt' };
const LISTS: readonly (readonly [string, List])[] = [
  [
    'channels',
    root('channels', {
      ...{
        NAME: 'name',
        CREATED_AT: 'createdAt',
        SUBSCRIBER_COUNT: 'subscriberCount',
        WEEKLY_TRAFFIC: 'weeklyTraffic',
      },
    }),
  ],
  ['users', root('users', USERS)],
  ['subscribers of a channel', within('Channel', () => channelId, root('subscribers', USERS))],
  ['members of a group', within('UserGroup', () => groupId, root('members', USERS))],
  [
    'topics of a channel',
    within('Channel', () => channelId, root('topics', { LAST_MESSAGE: 'lastMessage { databaseId }', NAME: 'name' })),
  ],
  [
    'subscriptions',
    root('subscriptions', { CHANNEL_ID: 'byId: channel { databaseId }', CHANNEL_NAME: 'byName: channel { name }' }),
  ],
  ['groups', root('userGroups', { ID: 'databaseId', NAME: 'name', CREATED_AT: 'createdAt' })],
  ['folders', root('channelFolders', { ORDER: 'order', NAME: 'name' })],
  ['drafts', root('drafts', { LAST_EDITED_AT: 'lastEditedAt', ID: 'databaseId' })],
  ['saved snippets', root('savedSnippets', { ID: 'databaseId', TITLE: 'title' })],
  ['own bots', root('ownBots', USERS)],
  ['readers of a message', within('Message', () => messageId, root('readReceipts', USERS))],
  [
    'channels of a user',
    within(
      'User',
      () => people.owner.id,
      root('channels', {
        ...{ NAME: 'name', CREATED_AT: 'createdAt' },
        ...{ SUBSCRIBER_COUNT: 'subscriberCount', WEEKLY_TRAFFIC: 'weeklyTraffic' },
      }),
    ),
  ],
  [
    'direct conversations',
    root('directConversations', { LAST_MESSAGE: 'lastMessage { databaseId }', ID: 'firstUnread { databaseId }' }),
  ],
  [
    'topics with a choice of their own',
    root('userTopics', { ID: 'byId: updatedAt', UPDATED_AT: 'updatedAt', TOPIC_NAME: 'topicName' }),
  ],
  [
    'groups in a group',
    within('UserGroup', () => outerId, root('subgroups', { ID: 'databaseId', NAME: 'name', CREATED_AT: 'createdAt' })),
  ],
  ['scheduled messages', root('scheduledMessages', { SCHEDULED_AT: 'scheduledAt', ID: 'databaseId' })],
];

const page = async (who: Person, list: List, args: string): Promise<Json> =>
  list.of(await who.query(list.query().replace('%', args)));

/** Reads a whole list in pages of two elements. @returns The ids, in the order of the list. */
async function walk(list: List, orderBy: string, { backward }: { readonly backward: boolean }): Promise<string[]> {
  const ids: string[] = [];
  let place = '';
  for (let pages = 0; pages < 50; pages++) {
    const { nodes, edges, pageInfo } = await page(
      people.owner,
      list,
      `orderBy: ${orderBy} ${backward ? 'last' : 'first'}: 2${place}`,
    );
    const found = nodes.map(({ id }: Json) => id);
    ids.splice(backward ? 0 : ids.length, 0, ...found);
    if (!(backward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return ids;
    place = backward ? ` before: "${edges[0].cursor}"` : ` after: "${edges.at(-1).cursor}"`;
  }
  throw new Error('The list has no end');
}

/**
 * Returns a sort key for a value. Numbers are unchanged, and strings lose case and diacritics. Null becomes -1, which sorts
 * first.
 */
function keyOf(node: Json): string | number {
  if (node === null) return -1;
  if (typeof node === 'object') return keyOf(Object.values(node)[0]);
  return typeof node === 'string' ? node.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '') : node;
}

describe.for(LISTS)('%s', ([, list]) => {
  test.for(Object.entries(list.fields))('are sorted by %s, on one page and over several', async ([field, selected]) => {
    const [asc, desc] = [`{ field: ${field}, direction: ASC }`, `{ field: ${field}, direction: DESC }`];
    const whole = (await page(people.owner, list, `first: 100 orderBy: ${asc}`)).nodes;
    const ids = whole.map(({ id }: Json) => id);
    expect(ids.length).toBeGreaterThan(2);
    const keys = whole.map((node: Json) => keyOf(node[/^\w+/.exec(selected)?.[0] ?? '']));
    const sorted = keys.toSorted((a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0));
    expect(keys).toEqual(sorted);
    const reversed = (await page(people.owner, list, `first: 100 orderBy: ${desc}`)).nodes.map(({ id }: Json) => id);
    expect(reversed).toEqual(ids.toReversed());
    for (const backward of [false, true]) {
      expect(await walk(list, asc, { backward })).toEqual(ids);
      expect(await walk(list, desc, { backward })).toEqual(reversed);
    }
  });
});

test('a cursor is refused with another sort field, and accepted in both directions', async () => {
  const { owner } = people;
  const list = root('channels', { NAME: 'name' });
  const names = (found: Json): string[] => found.nodes.map(({ name }: Json) => name);
  const { edges, nodes } = await page(owner, list, 'first: 3');
  const after = `after: "${edges[1].cursor}"`;
  for (const other of ['CREATED_AT', 'SUBSCRIBER_COUNT']) {
    const query = list.query().replace('%', `first: 3 ${after} orderBy: { field: ${other} }`);
    const { errors } = await owner.graphql(query);
    const message = '"after" is not a cursor of this list in this sort order';
    expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_REQUEST' } }]);
  }
  const back = await page(owner, list, `first: 3 ${after} orderBy: { field: NAME, direction: DESC }`);
  expect(names(back)).toEqual([nodes[0].name]);
});

test.for([
  '["users by fullName",5,1]',
  '["users by fullName","a\\u0000",1]',
  '["users by fullName","a",1.5]',
  '["users by fullName","a"]',
  'users by fullName:1',
  '["lastEditedAt,id",1]',
  '["lastEditedAt,id",1,2,3]',
  '["message",-1]',
  '["message","5"]',
  '["message",5,6]',
  'message:99999999999999999',
  'presence:5',
  '{}',
  'nonsense',
])('a forged cursor is refused: %s', async (text) => {
  const after = Buffer.from(text).toString('base64url');
  for (const list of ['users(orderBy: { field: FULL_NAME }, %)', 'drafts(%)', 'messages(%)']) {
    const query = `{ ${list.replace('%', `after: "${after}"`)} { nodes { id } } }`;
    const { errors } = await people.owner.graphql(query);
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
  }
});

test('lists can be filtered by name, in any case and with any characters, and count accordingly', async () => {
  const { owner } = people;
  const named = async (text: string) => {
    const query = `query ($text: String) {
      users(nameContains: $text) { totalCount nodes { fullName } }
      channels(nameContains: $text) { totalCount nodes { name } }
      userGroups(nameContains: $text) { totalCount nodes { name } }
    }`;
    const { users, channels, userGroups } = await owner.query(query, { text });
    for (const { totalCount, nodes } of [users, channels, userGroups]) expect(totalCount).toBe(nodes.length);
    return [users, channels, userGroups].map(({ nodes }) => nodes.map((node: Json) => node.fullName ?? node.name));
  };
  expect(await named('NN')).toEqual([['Ann', 'Ann Z', 'Ann'], [], []]);
  expect((await named('ELT'))[1]).toEqual(['Delta']);
  expect((await named('c gr'))[2]).toEqual(['c group']);
  for (const text of ['%', '_']) expect(await named(text)).toEqual([[], [], []]);
});

test('sorting by a count takes as many statements for many channels as for few', async () => {
  const { owner } = people;
  const query =
    '{ channels(first: 50, orderBy: { field: SUBSCRIBER_COUNT, direction: DESC }) { totalCount nodes { id } } }';
  const before = (await service.queriesOf(() => owner.query(query))).length;
  for (let i = 0; i < 5; i++)
    await owner.ok('POST', '/channels/create', { name: `more ${i}`, subscribers: [owner.id] });
  const after = await service.queriesOf(() => owner.query(query));
  expect(after.length, after.join('\n')).toBeLessThanOrEqual(before);
});

import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

let people: Organization;

beforeAll(async () => {
  people = await createOrganization();
  const { owner, member } = people;
  for (const name of ['a', 'b', 'c']) await owner.ok('POST', '/channels/create', { name, subscribers: [owner.id] });
  await owner.ok('POST', '/channels/create', { name: 'secret', subscribers: [owner.id], invite_only: true });
  for (const title of ['x', 'y', 'z']) await member.ok('POST', '/saved_snippets', { title, content: title });
});

describe('a list', () => {
  test('is available as edges, and as nodes only', async () => {
    const { member } = people;
    const { savedSnippets } = await member.query(
      '{ savedSnippets(first: 2) { totalCount nodes { id title } edges { node { id title } } pageInfo { hasNextPage } } }',
    );
    const { nodes, edges, totalCount, pageInfo } = savedSnippets;
    expect(nodes.map(({ title }: { title: string }) => title)).toEqual(['x', 'y']);
    expect(nodes).toEqual(edges.map(({ node }: { node: object }) => node));
    expect([totalCount, pageInfo.hasNextPage]).toEqual([3, true]);
  });

  test('counts the items that the viewer can see, on every page and for every viewer', async () => {
    const { owner, member } = people;
    const query = '{ channels(first: 1, isSubscribed: null) { totalCount nodes { name } } }';
    const [all, some] = [(await owner.query(query)).channels, (await member.query(query)).channels];
    expect(all.totalCount - some.totalCount).toBe(1);
    expect(all.nodes).toHaveLength(1);
    const mine = await member.query('{ channels(isSubscribed: true) { totalCount nodes { name } } }');
    expect(mine.channels.totalCount).toBe(mine.channels.nodes.length);
  });

  test('without items returns 0', async () => {
    const { guest } = people;
    expect((await guest.query('{ savedSnippets { totalCount nodes { id } } }')).savedSnippets).toEqual({
      totalCount: 0,
      nodes: [],
    });
  });

  test('within another list is counted for each item', async () => {
    const { owner } = people;
    const { channels } = await owner.query('{ channels(first: 50) { nodes { name subscribers { totalCount } } } }');
    const counts = Object.fromEntries(
      channels.nodes.map(({ name, subscribers }: { name: string; subscribers: { totalCount: number } }) => [
        name,
        subscribers.totalCount,
      ]),
    );
    expect(counts).toMatchObject({ a: 1, secret: 1 });
  });

  test('counts the members of each group, direct or nested, without deactivated users', async () => {
    const { owner, member, moderator, ada } = (await createOrganization({ ada: 'member' })) as Organization & {
      ada: Person;
    };
    const make = async (name: string, members: readonly number[], subgroups: readonly number[] = []) =>
      (await owner.ok('POST', '/user_groups/create', { name, description: '', members, subgroups })).group_id;
    const inner = await make('inner', [member.id, ada.id]);
    await make('outer', [moderator.id], [inner]);
    await owner.ok('DELETE', `/users/${ada.id}`);
    const { userGroups } = await owner.query(`{ userGroups(first: 50) { nodes {
      name all: members(first: 1) { totalCount } direct: members(first: 1, directOnly: true) { totalCount }
      whole: members(first: 100) { nodes { id } }
    } } }`);
    const counts = Object.fromEntries(
      userGroups.nodes.map(({ name, all, direct }: Json) => [name, [all.totalCount, direct.totalCount]]),
    );
    expect(counts).toMatchObject({ inner: [1, 1], outer: [2, 1] });
    for (const { name, all, whole } of userGroups.nodes) expect(all.totalCount, name).toBe(whole.nodes.length);
  });

  test('counts the channels of each user and the readers of each message', async () => {
    const { owner, member } = await createOrganization();
    const subscribers = [owner.id, member.id];
    const { id } = await owner.ok('POST', '/channels/create', { name: 'b', subscribers });
    await owner.ok('PATCH', '/realm', { enable_read_receipts: true });
    const sent = [];
    for (const topic of ['read', 'unread'])
      sent.push(await owner.ok('POST', '/messages', { type: 'channel', to: id, topic, content: 'x' }));
    await member.ok('POST', '/messages/flags', { messages: [sent[0]?.id], op: 'add', flag: 'read' });
    const found = await owner.query(`{
      users(first: 50) { nodes { databaseId channels(first: 1) { totalCount } whole: channels(first: 100) { nodes { id } } } }
      messages(last: 2) { nodes { readReceipts(first: 0) { totalCount } } }
    }`);
    for (const { channels, whole } of found.users.nodes) expect(channels.totalCount).toBe(whole.nodes.length);
    expect(found.users.nodes.some(({ channels }: Json) => channels.totalCount > 0)).toBe(true);
    const receipts = found.messages.nodes.map(({ readReceipts }: Json) => readReceipts.totalCount);
    expect(receipts.toSorted()).toEqual([0, 1]);
  });
});

test('objects of many types are found by their ids, in the given order, and at most 100 at a time', async () => {
  const { member } = people;
  const { viewer, savedSnippets } = await member.query('{ viewer { id } savedSnippets { nodes { id } } }');
  const ids = [savedSnippets.nodes[2].id, 'nonsense', viewer.id, savedSnippets.nodes[0].id, viewer.id];
  const { nodes } = await member.query('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids });
  expect(nodes).toEqual([
    { __typename: 'SavedSnippet', id: ids[0] },
    null,
    { __typename: 'User', id: viewer.id },
    { __typename: 'SavedSnippet', id: ids[3] },
    { __typename: 'User', id: viewer.id },
  ]);
  const tooMany = Array.from({ length: 101 }, () => viewer.id);
  const { errors } = await member.graphql('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: tooMany });
  expect(errors).toMatchObject([{ message: '"ids" can contain at most 100 ids', extensions: { code: 'BAD_REQUEST' } }]);
});

test('a refused list does not affect other fields', async () => {
  const { guest } = people;
  const { data, errors } = await guest.graphql(
    '{ userGroups { totalCount } channels { totalCount } viewer { fullName } }',
  );
  expect(data).toMatchObject({
    userGroups: null,
    channels: { totalCount: expect.any(Number) },
    viewer: { fullName: 'guest' },
  });
  expect(errors).toMatchObject([{ path: ['userGroups'], extensions: { code: 'UNAUTHORIZED_PRINCIPAL' } }]);
});

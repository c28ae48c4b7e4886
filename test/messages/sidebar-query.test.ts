import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builder } from '../../src/api/graphql/schema/builder.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { FIRST_SCREEN, fillOrganization, LARGE } from '../helpers/large-organization.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { toTopic } from '../helpers/talk.ts';

const MESSAGE = 'databaseId content sender { fullName }';
const UNREAD = `unreadCount unreadMentionCount firstUnread { ${MESSAGE} }`;
const SIDEBAR = `{
  viewer { unreadCounts { total channels conversations mentions } }
  subscriptions(first: 100) { nodes { unreadCount unreadMentionCount channel { name topics(first: 5) { nodes {
    id name isResolved viewerVisibility ${UNREAD} lastMessage { ${MESSAGE} }
  } } } } }
  directConversations(first: 60) { totalCount nodes { id participants { fullName } ${UNREAD} lastMessage { ${MESSAGE} } } }
}`;

let service: InProcess;
let people: Organization;
let channelId: number;

const say = async (by: Person, to: number, topic: string, content: string): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'channel', to, topic, content })).id;
const write = async (by: Person, to: readonly Person[], content: string): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content })).id;
const channelOf = async (by: Person, name: string, members: readonly Person[]): Promise<number> =>
  (await by.ok('POST', '/channels/create', { name, subscribers: members.map(({ id }) => id) })).id;

beforeAll(async () => {
  // With this setting, a resolver that does not pass on `...query` fails instead of running one query per row.
  (builder.options.prisma as { onUnusedQuery: string }).onUnusedQuery = 'error';
  service = await shareInProcess({ counts: true });
  people = await createOrganization({}, { on: service });
  const { owner, member, guest } = people;
  channelId = await channelOf(owner, 'general', [owner, member, guest]);
});
afterAll(() => service[Symbol.asyncDispose]());

/** Returns the topics of one channel in the response to `SIDEBAR`. */
const topicsIn = (sidebar: Json, name: string): Json[] =>
  sidebar.subscriptions.nodes.find(({ channel }: Json) => channel.name === name).channel.topics.nodes;

describe('the sidebar of a chat in one request', () => {
  test('contains channels, topics and conversations with unread counts, which change as messages are read', async () => {
    const { owner, member, guest } = people;
    const first = await say(owner, channelId, 'Lunch', 'hungry?');
    const second = await say(owner, channelId, 'lunch', `@**${member.name}** come`);
    await say(owner, channelId, '✔ done', 'over');
    const note = await write(guest, [member], 'hello');
    await write(owner, [member, guest], 'all three');
    const before = await member.query(SIDEBAR);
    expect(before.viewer.unreadCounts).toEqual({ total: 5, channels: 3, conversations: 2, mentions: 1 });
    const [general] = before.subscriptions.nodes;
    expect(general).toMatchObject({ unreadCount: 3, unreadMentionCount: 1 });
    const lunch = {
      ...{ id: globalId('Topic', `${channelId}:lunch`), name: 'lunch', isResolved: false, viewerVisibility: 'NONE' },
      ...{ unreadCount: 2, unreadMentionCount: 1 },
      firstUnread: { databaseId: first, content: 'hungry?', sender: { fullName: owner.name } },
      lastMessage: { databaseId: second, content: `@**${member.name}** come`, sender: { fullName: owner.name } },
    };
    const [done, found] = topicsIn(before, 'general');
    expect(found).toEqual({ ...lunch, viewerVisibility: found.viewerVisibility });
    expect(done).toMatchObject({ name: '✔ done', isResolved: true, unreadCount: 1 });
    const { nodes, totalCount } = before.directConversations;
    expect(totalCount).toBe(2);
    expect(nodes.map(({ participants }: Json) => participants.length)).toEqual([3, 2]);
    expect(nodes[1]).toMatchObject({
      ...{ unreadCount: 1, unreadMentionCount: 0 },
      firstUnread: { databaseId: note },
      lastMessage: { content: 'hello' },
    });

    await member.mutate('markTopicAsRead', toTopic(channelId, 'LUNCH'), 'readCount');
    const after = await member.query(SIDEBAR);
    expect(topicsIn(after, 'general')[1]).toMatchObject({ unreadCount: 0, firstUnread: null });
    expect(after.subscriptions.nodes[0]).toMatchObject({ unreadCount: 1, unreadMentionCount: 0 });
    // The owner is only in the conversation of three users.
    const ofOwner = await owner.query(SIDEBAR);
    expect(ofOwner.directConversations.nodes).toMatchObject([{ lastMessage: { content: 'all three' } }]);
  });

  test('takes as many statements for many objects as for few', async () => {
    const { owner, member, guest, administrator, moderator } = people;
    // Returns the statements of the run with the fewest, out of three runs. The other runs can include statements for messages
    // that are still being delivered.
    const statements = async (): Promise<string[]> => {
      const runs: string[][] = [];
      for (let i = 0; i < 3; i++) runs.push(await service.queriesOf(() => member.query(SIDEBAR)));
      return runs.toSorted((a, b) => a.length - b.length)[0] ?? [];
    };
    const few = await statements();
    for (const name of ['a', 'b', 'c', 'd']) {
      const id = await channelOf(owner, name, [owner, member]);
      for (const topic of ['one', 'two', 'three']) await say(owner, id, topic, 'more');
    }
    for (const other of [[administrator], [moderator], [administrator, moderator], [guest, moderator]]) {
      await write(owner, [member, ...other], 'more');
    }
    const sidebar = await member.query(SIDEBAR);
    expect(sidebar.subscriptions.nodes).toHaveLength(5);
    expect(sidebar.directConversations.nodes.length).toBeGreaterThan(4);
    const many = await statements();
    // Concurrent loaders can share a statement, so the number varies slightly with timing, but not with the number of rows.
    expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length + 4);
  });
});

describe('the first screen of a large organisation', () => {
  test('is one permitted request, with as many statements as that of a small one', async () => {
    const small = await createOrganization({}, { on: service });
    const large = await createOrganization({}, { on: service });
    const run = (sql: string, parameters: readonly unknown[]) => service.app.db.$executeRawUnsafe(sql, ...parameters);
    const general = await channelOf(small.owner, 'general', [small.owner, small.member]);
    await say(small.owner, general, 'lunch', 'hello');
    await write(small.owner, [small.member], 'hello');
    await fillOrganization(run, {
      ...{ organizationId: large.organization.id, readerId: large.member.id, senderId: large.owner.id },
    });
    // The first run can include statements for messages that are still being delivered, and concurrent loaders can share a
    // statement. So the smaller number of several runs counts, and runs end when the number is small enough.
    let screen: Json;
    const statements = async (person: Person, enough: number): Promise<string[]> => {
      let fewest: string[] | undefined;
      for (let i = 0; i < 3 && (fewest === undefined || fewest.length > enough); i++) {
        const made = await service.queriesOf(async () => {
          screen = (await person.query(FIRST_SCREEN)).registerEventQueue.query;
        });
        if (fewest === undefined || made.length < fewest.length) fewest = made;
      }
      return fewest ?? [];
    };
    const few = await statements(small.member, 0);
    const many = await statements(large.member, few.length + 4);
    expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length + 4);
    const { unreadCounts } = screen.viewer;
    expect(unreadCounts.total).toBeGreaterThanOrEqual(LARGE.messages);
    expect(screen.subscriptions.nodes).toHaveLength(LARGE.channels);
    for (const { unreadCount, channel } of screen.subscriptions.nodes) {
      expect([unreadCount, channel.topics.nodes.length]).toEqual([LARGE.topicsEach, 5]);
    }
    expect(screen.directConversations.nodes).toHaveLength(LARGE.conversations);
    // The page contains the first unread message and the 50 messages after it, but no older ones.
    expect(screen.messages.nodes).toHaveLength(51);
  });
});

describe('a lookup by id finds', () => {
  const find = async (person: Person, id: string): Promise<Json> =>
    (await person.query('query ($id: ID!) { node(id: $id) { __typename ... on Topic { name } } }', { id })).node;

  test('a topic, under one id for every case of its name, for users who can read it', async () => {
    const { owner, member, guest } = people;
    const hidden = (
      await owner.ok('POST', '/channels/create', { name: 'hidden', subscribers: [owner.id], invite_only: true })
    ).id;
    await say(owner, hidden, 'Plans', 'x');
    const id = globalId('Topic', `${hidden}:plans`);
    expect(await find(owner, id)).toEqual({ __typename: 'Topic', name: 'Plans' });
    expect(await find(member, id)).toBeNull();
    for (const text of [
      `${hidden}:Plans`,
      `${hidden}:nothing`,
      `${hidden}`,
      ':plans',
      `0${hidden}:plans`,
      `${2 ** 40}:plans`,
    ]) {
      expect(await find(owner, globalId('Topic', text)), text).toBeNull();
    }
    expect(await find(guest, id)).toBeNull();
  });

  test('a topic in any script, by the id that its channel returns', async () => {
    const { owner } = people;
    const to = await channelOf(owner, 'scripts', [owner]);
    for (const name of ['✔ Größe 🎉', 'İstanbul: a:b', '日本語', 'ΟΔΟΣ', '']) await say(owner, to, name, 'x');
    const { channel } = await owner.query('{ channel(by: { name: "scripts" }) { topics { nodes { id name } } } }');
    expect(channel.topics.nodes).toHaveLength(5);
    for (const { id, name } of channel.topics.nodes)
      expect(await find(owner, id)).toEqual({ __typename: 'Topic', name });
  });

  test('a conversation, for its participants', async () => {
    const { owner, member, guest } = people;
    await write(guest, [member], 'between us');
    const { directConversations } = await guest.query('{ directConversations(first: 1) { nodes { id } } }');
    const [{ id }] = directConversations.nodes;
    expect(await find(member, id)).toEqual({ __typename: 'DirectConversation' });
    expect(await find(owner, id)).toBeNull();
  });

  test('an object of a user or of the organization, under one id in every place', async () => {
    const { owner, member } = people;
    const id = await say(member, channelId, 'ids', 'x');
    await owner.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'octopus' });
    await owner.ok('POST', '/user_topics', { stream_id: channelId, topic: 'ids', visibility_policy: 3 });
    const shown = await owner.query(`{
      organization { id } ownSettings { id } userSettingsDefaults { id }
      viewer { unreadCounts { id } status { id } }
      channel(by: { name: "general" }) { ownSubscription { id } }
      subscriptions(first: 100) { nodes { id channel { name } } }
      userTopics { nodes { id } }
      messages(anchor: { messageId: "${globalId('Message', id)}" }, countAfter: 0) { nodes { reactions { id } topic { id } } }
    }`);
    const { status } = await owner.mutate('setStatus', { text: 'busy' }, 'status { id text }');
    expect(status).toEqual({ id: shown.viewer.status.id, text: 'busy' });
    const { settings, user } = await owner.mutate(
      'updateSettings',
      { settings: { enterSends: true } },
      'settings { id } user { status { id } unreadCounts { id } }',
    );
    expect([settings, user.status, user.unreadCounts]).toEqual([
      shown.ownSettings,
      shown.viewer.status,
      shown.viewer.unreadCounts,
    ]);
    const ofGeneral = shown.subscriptions.nodes.find(({ channel }: Json) => channel.name === 'general');
    expect(ofGeneral.id).toBe(shown.channel.ownSubscription.id);
    const [{ reactions, topic }] = shown.messages.nodes;
    // Objects on the screen, each with its type, and whether another user can see it too.
    for (const [object, typename, seesToo] of [
      [shown.organization, 'Organization', true],
      [shown.ownSettings, 'UserSettings', false],
      [shown.userSettingsDefaults, 'UserSettings', true],
      [shown.viewer.unreadCounts, 'UnreadCounts', false],
      [shown.viewer.status, 'UserStatus', true],
      [ofGeneral, 'ChannelSubscription', false],
      [shown.userTopics.nodes[0], 'UserTopic', false],
      [reactions[0], 'Reaction', true],
      [topic, 'Topic', true],
    ] as const) {
      expect(await find(owner, object.id), typename).toMatchObject({ __typename: typename });
      expect(await find(member, object.id), typename).toEqual(
        seesToo ? expect.objectContaining({ __typename: typename }) : null,
      );
    }
  });

  test('a reaction, for users who can read its message', async () => {
    const { owner, member, guest } = people;
    const id = await write(owner, [member], 'between us two');
    const { reaction } = await member.mutate(
      'addReaction',
      { messageId: id, emoji: { name: 'octopus' } },
      'reaction { id }',
    );
    expect(await find(owner, reaction.id)).toEqual({ __typename: 'Reaction' });
    expect(await find(guest, reaction.id)).toBeNull();
  });

  test('a page of conversations continues where the last one ended, in both directions', async () => {
    const { member } = people;
    const page = 'nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
    const read = async (args: string): Promise<Json> =>
      (await member.query(`{ directConversations(${args}) { ${page} } }`)).directConversations;
    const ids = ({ nodes }: Json) => nodes.map(({ id }: Json) => id);
    const all = await read('first: 100');
    const one = await read('first: 2');
    expect(one.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const two = await read(`first: 100, after: "${one.pageInfo.endCursor}"`);
    expect([...ids(one), ...ids(two)]).toEqual(ids(all));
    const back = await read(`last: 1, before: "${two.pageInfo.startCursor}"`);
    expect(ids(back)).toEqual(ids(one).slice(-1));
    expect(back.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOCUMENT_LIMITS } from '../../src/api/graphql/documents/documents.ts';
import { builder } from '../../src/api/graphql/schema/builder.ts';
import { STATE_GROUPS } from '../../src/server/registries/features.ts';
import { documentOf, type Limit } from '../helpers/documents.ts';
import { globalId } from '../helpers/global-ids.ts';
import { nodeIds } from '../helpers/graphql-calls.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Method, Parameters, Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { nothing } from '../helpers/scene.ts';
import { createOrganization, type Organization, type RoleName } from '../helpers/server.ts';
import { toTopic } from '../helpers/talk.ts';

/** An organization with `size` objects of each kind, which the owner created. */
interface Filled extends Organization {
  readonly size: number;
  readonly channelIds: readonly number[];
  readonly folderIds: readonly number[];
  readonly userIds: readonly number[];
  readonly groupIds: readonly number[];
}

let service: InProcess;
let few: Filled;
let many: Filled;

beforeAll(async () => {
  // With this setting, a resolver that does not pass on `...query` fails instead of running one query per row.
  (builder.options.prisma as { onUnusedQuery: string }).onUnusedQuery = 'error';
  service = await shareInProcess({ counts: true });
  few = await fill(2);
  many = await fill(6);
});
afterAll(() => service[Symbol.asyncDispose]());

async function fill(size: number): Promise<Filled> {
  const each = async <T>(make: (i: number) => Promise<T>) => {
    const results: T[] = [];
    for (let i = 0; i < size; i++) results.push(await make(i));
    return results;
  };
  const people = Object.fromEntries(Array.from({ length: size }, (_, i) => [`person ${i}`, 'member' as RoleName]));
  const made = await createOrganization(people, { on: service });
  const { owner } = made;
  const userIds = Object.keys(people).map((name) => (made as unknown as Record<string, Person>)[name]?.id ?? 0);
  const folderIds = await each(async (i) => {
    const folder = { name: `folder ${i}`, description: '' };
    return (await owner.ok('POST', '/channel_folders/create', folder)).channel_folder_id;
  });
  const channelIds = await each(async (i) => {
    const channel = { name: `channel ${i}`, subscribers: [owner.id, ...userIds], folder_id: folderIds[i] };
    return (await owner.ok('POST', '/channels/create', channel)).id;
  });
  const groupIds: number[] = [];
  for (const name of Object.keys(people)) {
    const person = (made as unknown as Record<string, Person>)[name];
    await person?.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
  }
  await owner.ok('POST', '/drafts', { drafts: channelIds.map((id) => note(id)) });
  await each(async (i) => {
    const topic = `topic ${i}`;
    for (const to of new Set([channelIds[0], channelIds[i]])) {
      await owner.ok('POST', '/messages', { type: 'channel', to, topic, content: 'hello' });
    }
    await owner.ok('POST', '/user_topics', { stream_id: channelIds[i], topic, visibility_policy: 1 });
  });
  const fieldIds = await each(
    async (i) => (await owner.ok('POST', '/realm/profile_fields', { field_type: 6, name: `field ${i}` })).id,
  );
  for (const id of userIds) {
    const profile_data = fieldIds.map((fieldId) => ({ id: fieldId, value: userIds }));
    await owner.ok('PATCH', `/users/${id}`, { profile_data });
  }
  await each((i) => {
    const [description, members, subgroups] = ['', userIds, groupIds.slice(1, i)];
    const group = owner.ok('POST', '/user_groups/create', { name: `group ${i}`, description, members, subgroups });
    return group.then(({ group_id }) => groupIds.push(group_id));
  });
  await each((i) => owner.ok('POST', `/realm/emoji/emoji_${i}`, { file: PNG }));
  await each((i) => owner.ok('POST', '/saved_snippets', { title: `snippet ${i}`, content: 'x' }));
  const { id: message_id } = await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'x' });
  await each(async (i) => {
    const later = { scheduled_delivery_timestamp: 4_102_444_800 };
    const message = { ...later, type: 'channel', to: channelIds[i], topic: 't', content: 'c' };
    await owner.ok('POST', '/scheduled_messages', message);
    await owner.ok('POST', '/reminders', { ...later, message_id });
  });
  return { ...made, size, channelIds, folderIds, userIds, groupIds };
}

const note = (channelId: number) => ({ type: 'stream', to: [channelId], topic: 't', content: 'c' });

/** Maximum number of times that `act` is repeated because it made more queries in the organization with many rows. */
const REPETITIONS = 12;

/**
 * Checks that `act` makes no more queries in an organization with many rows than in one with few.
 *
 * Concurrent reads can share a query, so the number varies slightly with the speed of the database. A query for each row occurs
 * in every run, so the smallest numbers of several runs are compared.
 */
async function expectSame(act: (place: Filled) => Promise<unknown>): Promise<void> {
  const made = async (place: Filled) => service.queriesOf(() => act(place));
  let [ofFew, ofMany] = [await made(few), await made(many)];
  for (let left = REPETITIONS; left > 0 && ofMany.length > ofFew.length; left--) {
    const again = [await made(few), await made(many)] as const;
    if (again[0].length > ofFew.length) ofFew = again[0];
    if (again[1].length < ofMany.length) ofMany = again[1];
  }
  const shown = (queries: string[]) => queries.map((query) => query.trim().slice(0, 150)).join('\n');
  expect(ofMany.length, `few:\n${shown(ofFew)}\n\nmany:\n${shown(ofMany)}`).toBeLessThanOrEqual(ofFew.length);
}

const PERSON =
  'databaseId fullName email deliveryEmail role avatarUrl timezone botOwner { fullName } viewerCanEdit viewerCanDeactivate viewerCanDirectMessage';
const page = (fields: string) => `{ edges { cursor node { ${fields} } } pageInfo { hasNextPage endCursor } }`;
const PROFILE = 'profileData { value field { name } users { fullName } }';
const FOLDER = `name creator { ${PERSON} }`;
const CHANNEL = `name url createdAt creator { ${PERSON} } folder { ${FOLDER} } subscriberCount weeklyTraffic firstMessage { id }
  permissions { canSubscribe { group { name } directMembers { fullName } } canSendMessage { group { name } directSubgroups { id } } } ownSubscription { color }
  viewerCanAdminister viewerCanSubscribe viewerCanAddSubscribers viewerCanRemoveSubscribers viewerCanPost viewerCanCreateTopic`;
const WITH_SUBSCRIBERS = `${CHANNEL} subscribers(first: 10) ${page(PERSON)}`;
const FILTERED = `subscribers(first: 10, nameContains: "person", role: MEMBER) { totalCount nodes { ${PERSON} } }`;
const GROUP = `name viewerCanManage viewerCanJoin viewerCanLeave viewerCanMention permissions { canJoin { group { name } directMembers { fullName } } } creator { ${PERSON} } members(first: 5) ${page(PERSON)}
  subgroups(first: 5) ${page('name creator { fullName }')}`;
const TOPIC = `id name url viewerVisibility isResolved viewerCanDelete viewerCanMove viewerCanResolve unreadCount unreadMentionCount channel { name }
  lastMessage { id content sender { fullName } channel { name } } firstUnread { id sender { id } reactions { emojiName } }`;
const MESSAGE = `content url viewerCanEdit viewerCanDelete viewerCanMove viewerCanReact flags viewerHasRead isMeMessage topicName topic { ${TOPIC} } reactionGroups { emojiName users { fullName } } sender { ${PERSON} } channel { ${CHANNEL} } participants { ${PERSON} } directConversation { id url unreadCount }
  topicLinks { url } mentions { type user { fullName } userGroup { name } } links { text url } images { url title } media { url }`;
const IN_TOPIC = 'content topic { name } sender { fullName botOwner { fullName } } channel { name }';
const SUBSCRIPTION = `color isMuted channel { ${WITH_SUBSCRIBERS} }`;

const RECENT = { anchor: 'newest', num_before: 50, num_after: 50 };

describe('as many queries for many rows as for few', () => {
  test.for<[string, (place: Filled) => string, string?]>([
    ['users with their owners', () => `{ users(first: 50) ${page(PERSON)} }`],
    ['users with profiles', () => `{ users(first: 20) ${page(PROFILE)} }`],
    ['users and when they were last there', () => `{ users(first: 50) ${page('presence { idleAt }')} }`],
    ['users and the channels they are in', () => `{ users(first: 50) ${page(`channels(first: 50) ${page('name')}`)} }`],
    ['presences', () => `{ presences(first: 50) ${page(`idleAt user { ${PERSON} }`)} }`],
    ['users of a role', () => `{ users(role: MEMBER, isBot: false) ${page(PERSON)} }`],
    ['channels with all that is theirs', () => `{ channels(first: 50) ${page(WITH_SUBSCRIBERS)} }`],
    ['channels with some of their subscribers', () => `{ channels(first: 50) ${page(FILTERED)} }`],
    ['readable channels', () => `{ channels(onlyReadable: true, isSubscribed: true) ${page(CHANNEL)} }`],
    [
      'channels and their subscribers, and the subscriptions of the viewer to them',
      () => `{ channels { edges { node { ownSubscription { channel { ${CHANNEL} } } } } } }`,
    ],
    ['subscriptions with channels and folders', () => `{ subscriptions(first: 50) ${page(SUBSCRIPTION)} }`],
    ['user groups with whom and what they hold', () => `{ userGroups(first: 50) ${page(GROUP)} }`],
    [
      'user groups, and memberships',
      ({ owner: { id } }) =>
        `{ userGroups(first: 50) ${page(`hasMember(userId: "${globalId('User', id)}") direct: hasMember(userId: "${globalId('User', id)}", directOnly: true)`)} }`,
    ],
    ['folders with their creators', () => `{ channelFolders(first: 50) ${page(FOLDER)} }`],
    [
      'drafts with their authors',
      () =>
        `{ drafts(first: 50) ${page(`content author { ${PERSON} } topic { name } channel { ${CHANNEL} } recipients { ${PERSON} }`)} }`,
    ],
    [
      'scheduled messages with their owners and channels',
      () =>
        `{ scheduledMessages(first: 50) ${page(`content channel { ${CHANNEL} } owner { ${PERSON} } recipients { ${PERSON} } message { id }`)} }`,
    ],
    [
      'reminders',
      () => `{ reminders(first: 50) ${page(`content message { content sender { ${PERSON} } channel { name } }`)} }`,
    ],
    ['emoji with their authors', () => `{ customEmoji(first: 50) ${page(`name author { ${PERSON} }`)} }`],
    ['snippets with their authors', () => `{ savedSnippets(first: 50) ${page(`title author { ${PERSON} }`)} }`],
    ['channels with their topics', () => `{ channels(first: 50) ${page(`name topics(first: 10) ${page(TOPIC)}`)} }`],
    [
      'topics with their messages',
      () => `{ channels(first: 10) ${page(`topics(first: 5) ${page(`name messages(last: 5) ${page(IN_TOPIC)}`)}`)} }`,
    ],
    [
      'muted topics with their channels',
      () => `{ userTopics(first: 50) ${page(`topicName topic { ${TOPIC} } channel { ${CHANNEL} }`)} }`,
    ],
    ['messages with all that is theirs', () => `{ messages(last: 40) ${page(MESSAGE)} }`],
    [
      'the messages of a channel',
      ({ channelIds }) =>
        `{ channel(by: { id: "${globalId('Channel', channelIds[0] ?? 0)}" }) { messages(last: 40) ${page(MESSAGE)} } }`,
    ],
    ['search results', () => `{ messages(narrow: { search: "hello", is: [UNREAD] }) ${page(MESSAGE)} }`],
    ['everything at once', () => `{ users ${page('id')} channels ${page('name')} drafts ${page('id')} viewer { id } }`],
    [
      'a channel with all its subscribers',
      ({ channelIds }) =>
        `{ channel(by: { id: "${globalId('Channel', channelIds[0] ?? 0)}" }) { ${WITH_SUBSCRIBERS} } }`,
    ],
  ])('%s', async ([, document]) => {
    await expectSame(async (place) => expectRows(await place.owner.query(document(place)), place));
  });

  test.for<[string, Method, (place: Filled) => string, Parameters?]>([
    ['users', 'GET', () => '/users'],
    ['users with profiles', 'GET', () => '/users', { include_custom_profile_fields: true }],
    ['profile fields', 'GET', () => '/realm/profile_fields'],
    ['channels', 'GET', () => '/streams', { include_all: true, include_default: true }],
    ['subscriptions', 'GET', () => '/users/me/subscriptions', { include_subscribers: 'true' }],
    ['subscriptions with some subscribers', 'GET', () => '/users/me/subscriptions', { include_subscribers: 'partial' }],
    ['subscribers', 'GET', ({ channelIds }) => `/streams/${channelIds[0]}/members`],
    ['folders', 'GET', () => '/channel_folders'],
    ['user groups', 'GET', () => '/user_groups'],
    ['drafts', 'GET', () => '/drafts'],
    ['emoji', 'GET', () => '/realm/emoji'],
    ['snippets', 'GET', () => '/saved_snippets'],
    ['messages', 'GET', () => '/messages', { ...RECENT }],
    ['messages found', 'GET', () => '/messages', { ...RECENT, narrow: [['search', 'hello']] }],
    ['messages from the first unread', 'GET', () => '/messages', { ...RECENT, anchor: 'first_unread' }],
    ['messages of a channel', 'GET', () => '/messages', { ...RECENT, narrow: [['channel', 'channel 0']] }],
    ['scheduled messages', 'GET', () => '/scheduled_messages'],
    ['reminders', 'GET', () => '/reminders'],
    ['topics', 'GET', ({ channelIds }) => `/users/me/${channelIds[0]}/topics`],
    ['a registration', 'POST', () => '/register', { include_subscribers: 'true' }],
  ])('over REST: %s', async ([, method, path, parameters = {}]) => {
    await expectSame(async (place) => expectRows(await place.owner.ok(method, path(place), parameters), place));
  });

  test.for<[string, (place: Filled) => Promise<unknown>]>([
    [
      'drafts',
      ({ owner, channelIds }) =>
        owner.mutate(
          'createDrafts',
          { drafts: channelIds.map((id) => ({ to: toTopic(id, ''), content: 'x' })) },
          `drafts { content author { ${PERSON} } }`,
        ),
    ],
    [
      'an order of folders',
      ({ owner, folderIds }) =>
        owner.mutate(
          'reorderChannelFolders',
          { channelFolderIds: folderIds.toReversed() },
          `channelFolders { ${FOLDER} }`,
        ),
    ],
    [
      'settings of subscriptions',
      ({ owner, channelIds }) =>
        owner.mutate(
          'updateSubscriptionSettings',
          { subscriptions: channelIds.map((channelId) => ({ channelId, isMuted: true, color: '#c0ffee' })) },
          `subscriptions { ${SUBSCRIPTION} }`,
        ),
    ],
    [
      'subscribers taken out of channels',
      ({ owner, channelIds, userIds }) =>
        owner.mutate(
          'unsubscribe',
          { channels: channelIds.map((id) => ({ id: globalId('Channel', id) })), userIds },
          'outcomes { channel { name } unsubscribed { fullName } notSubscribed { id } }',
        ),
    ],
    [
      'subscribers put into channels again',
      ({ owner, channelIds, userIds }) =>
        owner.mutate(
          'subscribe',
          { channels: channelIds.map((id) => ({ channel: { id: globalId('Channel', id) } })), userIds },
          'outcomes { channel { name } subscribed { fullName } alreadySubscribed { id } }',
        ),
    ],
    [
      'a channel with many first subscribers',
      ({ owner, userIds }) =>
        owner.mutate('createChannel', { name: 'with all', subscriberIds: userIds }, `channel { ${WITH_SUBSCRIBERS} }`),
    ],
    ['a channel that is archived', ({ owner, channelIds }) => owner.ok('DELETE', `/streams/${channelIds.at(-1)}`)],
    [
      'a value in each profile field',
      async ({ owner, userIds }) => {
        const { custom_fields } = await owner.ok('GET', '/realm/profile_fields');
        const data = custom_fields.map(({ id }: Json) => ({ id, value: userIds }));
        await owner.ok('PATCH', '/users/me/profile_data', { data });
      },
    ],
    [
      'a message that mentions groups',
      ({ owner, channelIds }) =>
        owner.ok('POST', '/messages', {
          ...{ type: 'channel', to: channelIds[0], topic: 'topic 0', content: '@*group 0* @*group 1*' },
        }),
    ],
    [
      'groups put into a group and taken out',
      async ({ owner, groupIds }) => {
        const [first, ...others] = groupIds;
        await owner.ok('POST', `/user_groups/${first}/subgroups`, { add: others, delete: others });
      },
    ],
    ['a role given', ({ owner, userIds }) => owner.ok('PATCH', `/users/${userIds.at(-1)}`, { role: 600 })],
  ])('in a change: %s', async ([, act]) => {
    await expectSame(act);
  });
});

/**
 * Number of queries of a registration that requests everything. 5 queries are general. Others read the viewer with their
 * profile; the channels with their subscribers and activity; the user groups with their members and subgroups; the viewer's
 * subscriptions; and the default channels. Each other group of state needs one query, so a new group adds one. Empty groups
 * need none. One counts the identity providers. In total there are two fewer queries than groups. The list of users is cached
 * since the previous registration.
 */
const REGISTRATION_QUERIES = STATE_GROUPS.length - 2;

/** Checks that the response contains all rows, because the number of queries proves nothing otherwise. */
function expectRows(reply: Json, { size }: Filled): void {
  expect(JSON.stringify(reply).split(/\},(?:"\d+":)?\{|\d,\d/).length).toBeGreaterThanOrEqual(size);
}

describe('no more queries than necessary', () => {
  test('one for the viewer, and over REST one each for their profile and their last received message', async () => {
    await few.owner.ok('GET', '/users/me');
    expect(await service.queriesOf(() => few.owner.ok('GET', '/users/me'))).toHaveLength(3);
    expect(
      await service.queriesOf(() => few.owner.query('{ viewer { id fullName email role timezone } }')),
    ).toHaveLength(1);
    expect(
      await service.queriesOf(() => few.bot.query('{ viewer { id isBot } serverSettings { version } }')),
    ).toHaveLength(1);
  });

  test('one for data that several data groups of a registration share', async () => {
    const queriesFor = async (groups?: readonly string[]) => {
      const register = () => many.member.register({ include_subscribers: 'true', fetch_event_types: groups });
      await register();
      return service.queriesOf(register);
    };
    // The three queries authenticate the request, read the end of the log, and store the queue.
    expect(await queriesFor([])).toHaveLength(3);
    // The data group "stream" reads the channels, their subscribers and their activity. "subscription" also reads the viewer's
    // subscriptions.
    const subscriptions = await queriesFor(['subscription']);
    expect(await queriesFor(['stream'])).toHaveLength(subscriptions.length - 1);
    expect(await queriesFor(['stream', 'subscription'])).toHaveLength(subscriptions.length);
    const all = await queriesFor();
    expect(all.length, all.join('\n')).toBe(REGISTRATION_QUERIES);
  });

  test('six for a registration that selects the state, besides those for the state', async () => {
    const state = `viewer { id } messages(last: 20) { nodes { id sender { id fullName } } }
      subscriptions(first: 20) { nodes { unreadCount channel { id topics(first: 5) { nodes { id name unreadCount } } } } }`;
    const registering = `mutation { registerEventQueue(input: {}) {
      __typename ... on RegisterEventQueuePayload { position query { ${state} } } } }`;
    const queriesFor = async (document: string) => {
      const ask = () => many.member.query(document);
      await ask();
      return service.queriesOf(ask);
    };
    const [atRoot, within] = [await queriesFor(`{ ${state} }`), await queriesFor(registering)];
    // The 6 additional statements are: begin, commit, the end of the log, the current viewer, the role groups of the
    // transaction, and the queue.
    expect(within.length, within.join('\n')).toBe(atRoot.length + 6);
  });

  test('one for all conversations of a viewer who can only continue conversations', async () => {
    const { owner, member } = many;
    const ask = () => service.queriesOf(() => member.query('{ users { nodes { fullName viewerCanDirectMessage } } }'));
    await ask();
    const before = await ask();
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const setInitiators = async (name: string) => {
      const { id } = realm_user_groups.find((group: Json) => group.name === `role:${name}`);
      await owner.ok('PATCH', '/realm', { direct_message_initiator_group: { new: id } });
    };
    await setInitiators('owners');
    await ask();
    const after = await ask();
    await setInitiators('everyone');
    expect(after, after.join('\n')).toHaveLength(before.length + 1);
  });

  test('for sending, none for alert words if none ever existed, otherwise one', async () => {
    const { owner, channelIds } = few;
    const message = { type: 'channel', to: channelIds[0], topic: 'alerts', content: 'release' };
    const send = () => owner.ok('POST', '/messages', message);
    await send();
    const without = await service.queriesOf(send);
    await owner.ok('POST', '/users/me/alert_words', { alert_words: ['release'] });
    const more = await service.queriesOf(send);
    expect(without.join('\n')).not.toMatch(/\balert_word\b/);
    expect(more).toHaveLength(without.length + 1);
  });

  test('one more for each other object in a lookup by id', async () => {
    const { owner, channelIds, folderIds, userIds } = many;
    const names = { ...nothing(), channelId: channelIds[0] ?? 0, folderId: folderIds[0] ?? 0, userId: userIds[0] ?? 0 };
    for (const id of nodeIds(names)) {
      const queries = await service.queriesOf(() => owner.query('query ($id: ID!) { node(id: $id) { id } }', { id }));
      // A topic has no row of its own, so it is looked up in its channel, for which access is checked. A user may have no
      // status, so the user is looked up before the status.
      const [type = ''] = atob(id).split(':');
      const most = { Topic: 5, UserStatus: 3 }[type] ?? 2;
      expect(queries.length, `${id}\n${queries.join('\n')}`).toBeLessThanOrEqual(most);
    }
    expect(await service.queriesOf(() => owner.query('{ node(id: "nonsense") { id } }'))).toHaveLength(1);
  });

  test('as many for many objects by id as for few', async () => {
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const { owner, channelIds, folderIds, userIds } = many;
    const messages = await owner.query('{ messages(last: 5) { nodes { id } } }');
    const ofMessages = messages.messages.nodes.map(({ id }: Json) => id);
    const ofAll = [0, 1, 2].map((i) =>
      nodeIds({ ...nothing(), channelId: channelIds[i] ?? 0, folderId: folderIds[i] ?? 0, userId: userIds[i] ?? 0 }),
    );
    const [one, more] = [ofAll[0]?.slice() ?? [], ofAll.flat()];
    const few = await service.queriesOf(() => owner.query(query, { ids: [...one, ofMessages[0]] }));
    const plenty = await service.queriesOf(() => owner.query(query, { ids: [...more, ...ofMessages] }));
    expect(ofMessages.length).toBeGreaterThan(3);
    expect(plenty.length, plenty.join('\n')).toBe(few.length);
  });

  test.for(Object.keys(DOCUMENT_LIMITS) as Limit[])(
    'only the sign-in for a document over the limit of %s',
    async (limit) => {
      const query = documentOf[limit](DOCUMENT_LIMITS[limit] + 1);
      const queries = await service.queriesOf(async () => {
        expect((await few.member.graphql(query)).errors).toMatchObject([
          { extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED' } },
        ]);
      });
      // The only query finds the account to which the request is charged.
      expect(queries).toHaveLength(1);
      expect(queries[0]).toContain('FROM api_key');
    },
  );

  test('none for an invalid key, and only the sign-in for an invalid document', async () => {
    const queries = await service.queriesOf(async () => {
      await few.member.graphql('{ nothing }');
      await few.member.graphql('query ($n: Int!) { users(first: $n) { totalCount } }', { n: 'x' });
      await few.member.as('Basic nonsense').graphql('{ viewer { id } }');
      await few.member.as('Basic nonsense').rest('GET', '/users/me');
    });
    expect(queries).toHaveLength(2);
    for (const query of queries) expect(query).toContain('FROM api_key');
  });
});

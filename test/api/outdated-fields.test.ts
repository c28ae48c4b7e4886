import { isObjectType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { declaredOutdated } from '../../src/api/graphql/schema/event-types.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

// Checks that events name the fields whose values they change without containing them.

const LATER = 4_102_444_800;
const schema = buildSchema();

/** Returns whether a type has all the fields. */
const hasFields = (typename: string, fields: readonly string[]): boolean => {
  const type = schema.getType(typename);
  return isObjectType(type) && fields.every((field) => field in type.getFields());
};

let people: Organization;
let channelId: number;
let messageId: number;
beforeAll(async () => {
  people = await createOrganization();
  channelId = await channelOf(people.owner, 'general', [people.owner, people.member]);
  messageId = await say(people.member, channelId, 'lunch', 'first');
});

interface Change {
  /** Reads a list of `Query` or of another object. */
  readonly list: string;
  readonly act: () => Promise<unknown>;
  /** The object and the field that the event must name. Default: the first field of `list`, of `Query`. */
  readonly names?: () => readonly [typeName: string, objectId: string | null, field: string];
}

const owner = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, parameters: Json = {}) =>
  people.owner.ok(method, path, parameters);
const inChannel = (field: string) => () => ['Channel', globalId('Channel', channelId), field] as const;
const listOf = async (name: string, path: string) => (await owner('GET', path))[name];

/** Changes of each list, in this order: later ones use the objects of earlier ones. */
const CHANGES: Readonly<Record<string, Change>> = {
  'a new draft': {
    list: 'drafts(first: 100) { nodes { id } }',
    act: () => owner('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'x' }] }),
  },
  'a deleted draft': {
    list: 'drafts(first: 100) { nodes { id } }',
    act: async () => owner('DELETE', `/drafts/${(await listOf('drafts', '/drafts'))[0].id}`),
  },
  'a new snippet': {
    list: 'savedSnippets(first: 100) { nodes { id } }',
    act: () => owner('POST', '/saved_snippets', { title: 'a', content: 'b' }),
  },
  'a deleted snippet': {
    list: 'savedSnippets(first: 100) { nodes { id } }',
    act: async () => owner('DELETE', `/saved_snippets/${(await listOf('saved_snippets', '/saved_snippets'))[0].id}`),
  },
  'a scheduled message': {
    list: 'scheduledMessages(first: 100) { nodes { id } }',
    act: () =>
      owner('POST', '/scheduled_messages', {
        ...{ type: 'direct', to: [people.member.id], content: 'x', scheduled_delivery_timestamp: LATER },
      }),
  },
  'a new reminder': {
    list: 'reminders(first: 100) { nodes { id } }',
    act: () => owner('POST', '/reminders', { message_id: messageId, scheduled_delivery_timestamp: LATER }),
  },
  'a new view': {
    list: 'navigationViews(first: 100) { nodes { id } }',
    act: () => owner('POST', '/navigation_views', { fragment: 'narrow/channel/1', is_pinned: true, name: 'x' }),
  },
  'a new folder': {
    list: 'channelFolders(first: 100) { nodes { id } }',
    act: () => owner('POST', '/channel_folders/create', { name: 'folder', description: '' }),
  },
  'a new channel': {
    list: 'channels(first: 100) { nodes { id } }',
    act: () => owner('POST', '/channels/create', { name: 'new', subscribers: [people.member.id] }),
  },
  'a subscription': {
    list: 'subscriptions(first: 100) { nodes { id } }',
    act: () => owner('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'new' }] }),
  },
  'an archived channel': {
    list: 'channels(first: 100) { nodes { id } }',
    act: async () => {
      const { stream_id } = await people.owner.ok('GET', '/get_stream_id', { stream: 'new' });
      await owner('DELETE', `/streams/${stream_id}`);
    },
  },
  'another subscriber': {
    list: 'channel(by: { name: "general" }) { subscriberCount }',
    act: () =>
      owner('POST', '/users/me/subscriptions', {
        subscriptions: [{ name: 'general' }],
        principals: [people.moderator.id],
      }),
    names: inChannel('subscriberCount'),
  },
  'another permission': {
    list: 'channel(by: { name: "general" }) { permissions { canSendMessage { role: group { name } } } }',
    act: async () => {
      const groups = await listOf('user_groups', '/user_groups');
      const { id } = groups.find(({ name }: Json) => name === 'role:moderators');
      await owner('PATCH', `/streams/${channelId}`, { can_send_message_group: { new: id } });
    },
    names: inChannel('permissions'),
  },
  'a moved message': {
    list: 'channel(by: { name: "general" }) { topics(first: 10) { nodes { id } } }',
    act: () => owner('PATCH', `/messages/${messageId}`, { topic: 'dinner', propagate_mode: 'change_all' }),
    names: inChannel('topics'),
  },
  'a deleted message': {
    list: 'channel(by: { name: "general" }) { topics(first: 10) { nodes { id } } }',
    act: async () => {
      const id = await say(people.owner, channelId, 'alone');
      await owner('DELETE', `/messages/${id}`);
      await owner('POST', '/messages', { type: 'channel', to: channelId, topic: 'other', content: 'x' });
    },
    names: inChannel('topics'),
  },
  'a policy of a topic': {
    list: 'userTopics(first: 100) { nodes { id } }',
    act: () => owner('POST', '/user_topics', { stream_id: channelId, topic: 'dinner', visibility_policy: 1 }),
  },
  'a new user': { list: 'users(first: 100) { nodes { id } }', act: () => people.signUp('Newcomer') },
  'a new bot': {
    list: 'ownBots(first: 100) { nodes { id } }',
    act: () => owner('POST', '/bots', { full_name: 'Robot', short_name: 'robot' }),
  },
  'a new group': {
    list: 'userGroups(first: 100) { nodes { id } }',
    act: () => owner('POST', '/user_groups/create', { name: 'crew', description: '', members: [people.owner.id] }),
  },
  'a deactivated group': {
    list: 'userGroups(first: 100) { nodes { id } }',
    act: async () => {
      const groups = await listOf('user_groups', '/user_groups');
      await owner('POST', `/user_groups/${groups.find(({ name }: Json) => name === 'crew').id}/deactivate`);
    },
  },
  'a new domain': {
    list: 'organizationDomains(first: 100) { nodes { id } }',
    act: () => owner('POST', '/realm/domains', { domain: 'new.example', allow_subdomains: false }),
  },
  'a new profile field': {
    list: 'customProfileFields { id }',
    act: () => owner('POST', '/realm/profile_fields', { name: 'Deck', field_type: 1 }),
  },
  'alert words': { list: 'alertWords', act: () => owner('POST', '/users/me/alert_words', { alert_words: ['storm'] }) },
  'a permission of all members': {
    list: 'organization { viewerCanCreateUserGroups }',
    act: async () => {
      const groups = await listOf('user_groups', '/user_groups');
      const { id } = groups.find(({ name }: Json) => name === 'role:nobody');
      await owner('PATCH', '/realm', { can_create_groups: { new: id } });
    },
    names: () => ['Organization', null, 'viewerCanCreateUserGroups'],
  },
};

describe('events name the outdated fields after', () => {
  test.for(Object.entries(CHANGES))('%s', async ([, { list, act, names }]) => {
    const { queue_id: queueId } = await people.owner.register({ fetch_event_types: [] });
    await using stream = await people.owner.events('outdated { typeName objectId fields }', { queueId });
    const before = await people.owner.query(`{ ${list} }`);
    await act();
    expect(await people.owner.query(`{ ${list} }`)).not.toEqual(before);
    const [typeName, objectId, field] = names?.() ?? ['Query', null, /^\w+/.exec(list)?.[0]];
    for (;;) {
      const { outdated } = (await stream.next()) as { outdated: Json[] };
      for (const one of outdated)
        expect([one.typeName, hasFields(one.typeName, one.fields)]).toEqual([one.typeName, true]);
      if (outdated.some((one) => one.typeName === typeName && one.objectId === objectId && one.fields.includes(field)))
        break;
    }
  });
});

test('declared fields exist', () => {
  const declared = declaredOutdated();
  expect(declared.length).toBeGreaterThan(10);
  expect(declared.filter(({ typename, fields }) => !hasFields(typename, fields))).toEqual([]);
});

test('a sent message makes nothing outdated: the event contains all that lists show of it', async () => {
  const { queue_id: queueId } = await people.owner.register({ event_types: ['message'] });
  const selection = '... on MessageSentEvent { outdated { fields } message { id topic { lastMessage { id } } } }';
  await using stream = await people.owner.events(selection, { queueId });
  const id = globalId('Message', await say(people.owner, channelId, 'lunch'));
  expect(await stream.next()).toEqual({ outdated: [], message: { id, topic: { lastMessage: { id } } } });
});

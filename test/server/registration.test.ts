import { describe, expect, test } from 'vitest';
import { STATE_GROUPS } from '../../src/server/registries/features.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Parameters } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, messagesIn, say, topicRef } from '../helpers/talk.ts';

const ALWAYS = [
  ...['result', 'msg', 'queue_id', 'last_event_id', 'idle_queue_timeout_secs'],
  ...['service_feature_level', 'service_version', 'service_merge_base'],
];

/** For each data group whose only field is not named as the group, the names of its fields. */
const OTHER_FIELDS: Readonly<Record<string, readonly string[]>> = {
  custom_profile_fields: ['custom_profile_fields', 'custom_profile_field_types'],
  default_streams: ['realm_default_streams'],
  default_stream_groups: ['realm_default_stream_groups'],
  device: ['devices'],
  message: ['max_message_id'],
  attachment: ['upload_space_used'],
  onboarding_steps: ['onboarding_steps', 'navigation_tour_video_url'],
  presence: ['presences', 'presence_last_update_id', 'server_timestamp'],
  realm_bot: ['realm_bots'],
  stream: ['streams'],
  subscription: ['subscriptions', 'unsubscribed', 'never_subscribed'],
  user_topic: ['user_topics'],
  video_calls: ['has_videoprovider_token'],
};
/**
 * Names of data groups that the test omits because they have many fields. It also omits groups whose field is returned only
 * together with another group.
 */
const LEFT_OUT = ['realm', 'realm_user'];
/** Names of the fields of each state group, except the groups in `LEFT_OUT` and groups that extend another group. */
const FIELDS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  STATE_GROUPS.filter(({ name, besides }) => besides === undefined && !LEFT_OUT.includes(name)).map(({ name }) => [
    name,
    OTHER_FIELDS[name] ?? [name],
  ]),
);

/** Names of all data groups, including the empty ones that clients of other services expect. */
const GROUPS = [
  ...[
    'alert_words',
    'attachment',
    'channel_folders',
    'custom_profile_fields',
    'default_stream_groups',
    'default_streams',
  ],
  ...['device', 'drafts', 'message', 'muted_topics', 'muted_users', 'navigation_views', 'onboarding_steps'],
  ...['presence', 'realm', 'realm_billing', 'realm_bot', 'realm_domains', 'realm_embedded_bots', 'realm_emoji'],
  ...['realm_filters', 'realm_incoming_webhook_bots', 'realm_linkifiers', 'realm_playgrounds', 'realm_user'],
  ...['realm_user_groups', 'realm_user_settings_defaults', 'recent_private_conversations', 'reminders'],
  ...['saved_snippets', 'scheduled_messages', 'starred_messages', 'stop_words', 'stream', 'subscription'],
  ...['user_settings', 'user_status', 'user_topic', 'video_calls'],
];

describe('the data groups', () => {
  test('are these', () => {
    expect([...new Set(STATE_GROUPS.map(({ name }) => name))].sort()).toEqual(GROUPS);
  });

  test.concurrent('contain their fields, each group separately, and no others', async () => {
    const { member } = await createOrganization();
    for (const [group, fields] of Object.entries(FIELDS)) {
      const reply = await member.register({ fetch_event_types: [group] });
      expect(Object.keys(reply).sort(), group).toEqual([...ALWAYS, ...fields].sort());
    }
    const { queue_id: _, ...unread } = await member.register({
      fetch_event_types: ['message', 'update_message_flags'],
    });
    expect(Object.keys(unread)).toEqual(expect.arrayContaining(['max_message_id', 'unread_msgs']));
  });

  test.concurrent('are all returned by default, otherwise those of the event types, and none for an empty list', async () => {
    const { member } = await createOrganization();
    const keysFor = async (parameters: Parameters) => Object.keys(await member.register(parameters));
    expect(await keysFor({})).toEqual(expect.arrayContaining([...ALWAYS, ...Object.values(FIELDS).flat()]));
    expect((await keysFor({ event_types: ['drafts', 'nonsense'] })).sort()).toEqual([...ALWAYS, 'drafts'].sort());
    expect((await keysFor({ event_types: ['drafts'], fetch_event_types: ['presence'] })).sort()).toEqual(
      [...ALWAYS, ...(FIELDS['presence'] ?? [])].sort(),
    );
    expect((await keysFor({ fetch_event_types: [] })).sort()).toEqual([...ALWAYS].sort());
  });
});

describe('the parameters', () => {
  test.concurrent.for<[Parameters, object]>([
    [{ idle_queue_timeout: '"mobile"' }, { idle_queue_timeout_secs: 43_200 }],
    [{ idle_queue_timeout: 604_801 }, { idle_queue_timeout_secs: 604_800 }],
    [{ queue_lifespan_secs: 0 }, { idle_queue_timeout_secs: 600 }],
    [{ queue_lifespan_secs: 90 }, { idle_queue_timeout_secs: 90 }],
    [{ client_gravatar: null, all_public_streams: null, presence_history_limit_days: null }, { result: 'success' }],
    [{ client_capabilities: { notification_settings_null: false, of_tomorrow: true } }, { result: 'success' }],
    [{ presence_history_limit_days: -1 }, { code: 'BAD_REQUEST' }],
    [{ slim_presence: 1 }, { code: 'BAD_REQUEST' }],
    [{ idle_queue_timeout: 0 }, { code: 'BAD_REQUEST' }],
    [{ idle_queue_timeout: 'mobile' }, { code: 'BAD_REQUEST' }],
    [{ include_subscribers: 'some' }, { code: 'BAD_REQUEST' }],
    [{ client_capabilities: { empty_topic_name: true } }, { code: 'BAD_REQUEST' }],
    [{ narrow: [['channel']] }, { code: 'BAD_REQUEST' }],
    [{ narrow: [['near', '1']] }, { code: 'BAD_REQUEST' }],
    [{ narrow: [['is', 'followed']] }, { code: 'BAD_REQUEST' }],
    [{ event_types: 'drafts' }, { code: 'BAD_REQUEST' }],
  ])('%j', async ([parameters, expected]) => {
    const { member } = await createOrganization();
    const { body } = await member.rest('POST', '/register', { fetch_event_types: [], ...parameters });
    expect(body).toMatchObject(expected);
  });

  test.concurrent('of a bot have the defaults that its owner set', async () => {
    const { owner, bot } = await createOrganization();
    for (const name of ['boats', 'ships'])
      await owner.ok('POST', '/channels/create', { name, subscribers: [owner.id] });
    const send = async (channel: string) => {
      await owner.ok('POST', '/messages', { type: 'channel', to: channel, topic: 'a', content: channel });
    };
    const heardWith = async (parameters: Parameters = {}) => {
      const heard = await bot.receiving({ event_types: ['message'], ...parameters });
      await send('boats');
      await send('ships');
      return (await heard()).map(({ message }) => message.display_recipient);
    };
    expect(await heardWith()).toEqual([]);
    await owner.ok('PATCH', `/bots/${bot.id}`, { default_all_public_streams: true });
    expect(await heardWith()).toEqual(['boats', 'ships']);
    await owner.ok('PATCH', `/bots/${bot.id}`, { default_events_register_stream: 'ships' });
    expect(await heardWith()).toEqual(['ships']);
    expect(await heardWith({ narrow: [] })).toEqual(['boats', 'ships']);
    expect(await heardWith({ narrow: [], all_public_streams: false })).toEqual([]);
  });

  test.concurrent('replace a lone surrogate in a narrow like topics do', async () => {
    const { owner } = await createOrganization();
    const to = await channelOf(owner, 'square', [owner]);
    const topic = 'x\ud800';
    const narrow = { topicNamed: topic };
    const { queueId, position } = await owner.mutate('registerEventQueue', { narrow }, 'queueId position');
    await owner.ok('POST', '/messages', { type: 'channel', to, topic, content: 'heard' });
    const heard = messagesIn(await owner.poll(queueId, position, { dontBlock: true }));
    expect(heard.map(({ message }) => message.content)).toEqual(['heard']);
  });

  test.concurrent('over GraphQL have the narrow of messages, in which ids follow their channel and sender', async () => {
    const { owner, member } = await createOrganization();
    const [here, there] = [await channelOf(owner, 'here', [owner, member]), await channelOf(owner, 'there', [owner])];
    const queueOf = async (narrow: Parameters) => {
      const queue = await owner.mutate('registerEventQueue', { narrow, eventTypes: ['MESSAGE'] }, 'queueId position');
      return async () => {
        const heard = messagesIn(await owner.poll(queue.queueId, queue.position, { dontBlock: true }));
        return heard.map(({ message }) => message.content);
      };
    };
    const channel = { id: globalId('Channel', here) };
    const byChannel = await queueOf({ channel });
    const byName = await queueOf({ channel: { name: 'here' } });
    const bySender = await queueOf({ senderId: member.id });
    const byTopic = await queueOf({ topic: topicRef(here, 'LUNCH') });
    const byAll = await queueOf({ channel, topicNamed: 'lunch', senderId: owner.id, is: ['UNREAD'] });
    await say(owner, here, 'lunch', 'one');
    await say(owner, there, 'lunch', 'two');
    await owner.ok('PATCH', `/streams/${here}`, { new_name: 'elsewhere' });
    await say(member, here, 'dinner', 'three');
    expect(await byChannel()).toEqual(['one', 'three']);
    expect(await byName()).toEqual(['one']);
    expect(await bySender()).toEqual(['three']);
    expect(await byTopic()).toEqual(['one']);
    expect(await byAll()).toEqual(['one']);
  });

  test.concurrent('over GraphQL refuse what needs more than the message, and ids of what the viewer cannot see', async () => {
    const { owner, member } = await createOrganization();
    const hidden = await channelOf(owner, 'hidden', [owner], { invite_only: true });
    for (const narrow of [
      { search: 'word' },
      { has: ['LINK'] },
      { is: ['STARRED'] },
      { not: { is: ['DIRECT'] } },
      { directWith: [owner.id] },
      { senderId: 0 },
      { channel: { id: globalId('Channel', hidden) } },
      { topic: { id: 'nonsense' } },
    ]) {
      const { code } = await member.tryMutation('registerEventQueue', { narrow });
      expect([narrow, code]).toEqual([narrow, 'BAD_NARROW']);
    }
  });
});

import { describe, expect, test } from 'vitest';
import { appliedEvents, applyEvent, knownEvents, stateOf } from '../helpers/client-state.ts';
import { runCommand } from '../helpers/control.ts';
import { OWN_CHANGES } from '../helpers/features.ts';
import type { Json } from '../helpers/http.ts';
import { shareInProcess, startInProcess } from '../helpers/in-process.ts';
import { basic, type Person } from '../helpers/person.ts';
import { registerApp, startPhoneServices } from '../helpers/phone-services.ts';
import { PNG } from '../helpers/pictures.ts';
import {
  type Act,
  CHANNEL_GROUPS,
  type Client,
  expectReplay,
  LEGACY,
  LEGACY_WITH_LISTS,
  MODERN,
  PARTIAL,
  WITHOUT_EVENT,
} from '../helpers/replay.ts';
import { createOrganization, serverOf, startServer } from '../helpers/server.ts';
import { startVideoProvider } from '../helpers/video-provider.ts';

// Tests that the events of every mutation are complete, for users of every role, with and without subscriptions to the channels
// concerned.

const OTHER_CLIENTS = { clients: [PARTIAL, LEGACY_WITH_LISTS] };
const OF_CHANNELS = { groups: CHANNEL_GROUPS };

async function create(person: Person, name: string, fields: object = {}): Promise<number> {
  return (await person.ok('POST', '/channels/create', { name, subscribers: [], ...fields })).id;
}

const folderOf = async (person: Person, name: string, description = ''): Promise<number> =>
  (await person.ok('POST', '/channel_folders/create', { name, description })).channel_folder_id;

const edit =
  (person: Person, channel: number, changes: object): Act =>
  () =>
    person.ok('PATCH', `/streams/${channel}`, { ...changes });

const archive =
  (person: Person, channel: number): Act =>
  () =>
    person.ok('DELETE', `/streams/${channel}`);

const subscribe =
  (person: Person, names: readonly string[], who: readonly Person[] = [person], more: object = {}): Act =>
  () =>
    person.ok('POST', '/users/me/subscriptions', {
      subscriptions: names.map((name) => ({ name })),
      principals: who.map(({ id }) => id),
      ...more,
    });

const unsubscribe =
  (person: Person, names: readonly string[], who: readonly Person[] = [person]): Act =>
  () =>
    person.ok('DELETE', '/users/me/subscriptions', { subscriptions: names, principals: who.map(({ id }) => id) });

const setProperty =
  (person: Person, channel: number, property: string, value: unknown): Act =>
  () =>
    person.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: channel, property, value }],
    });

/**
 * Creates an organization with three channels, which Ann created. The owner, Ann and the guest Gia are subscribed to "general"
 * (public) and "hidden" (private). "empty" has no subscribers.
 */
async function house() {
  const organised = await createOrganization({ ann: 'member', bob: 'member', gia: 'guest' });
  const { owner, administrator, moderator, ann, bob, gia, guest } = organised;
  const subscribers = [owner, ann, gia].map(({ id }) => id);
  const general = await create(ann, 'general', { subscribers });
  const hidden = await create(ann, 'hidden', { subscribers, invite_only: true });
  const empty = await create(ann, 'empty');
  // The viewers have every role, with and without subscriptions. A complete run uses all users, other runs only `few`.
  const viewers = [owner, administrator, ann, gia, moderator, bob, guest];
  return { ...organised, general, hidden, empty, viewers, few: [administrator, ann, bob, gia] };
}

/** Returns a new value of a permission, which gives it to these users. */
const given = (...people: Person[]) => ({ new: { direct_members: people.map(({ id }) => id), direct_subgroups: [] } });

const PROVIDER = {
  ...{ slug: 'company', name: 'Work', issuer: 'https://identity.example', clientId: 'chat', clientSecret: 'secret' },
};

describe('users', () => {
  test('who join the organization, sign in for the first time, and are renamed', async () => {
    const { viewers, owner, ann, gia, bot, signUp, organization, anonymous } = await house();
    const [username, password] = ['new@example.com', 'correct horse'];
    const rename = (person: Person, full_name: string) => () => owner.ok('PATCH', `/users/${person.id}`, { full_name });
    await expectReplay(viewers, {
      'people and bots come': [
        () => owner.ok('POST', '/users', { email: username, password, full_name: 'New' }),
        () => signUp('Visitor', 'guest'),
        () =>
          runCommand(serverOf().dataDir, 'bot create', {
            ...{ org: organization.subdomain, owner: owner.email, name: 'Helper', shortName: 'helper' },
          }),
      ],
      'the new one signs in': () => anonymous.ok('POST', '/fetch_api_key', { username, password }),
      'some are renamed': [
        rename(ann, 'Ann Other'),
        rename(gia, 'Gia Other'),
        rename(owner, 'Boss'),
        rename(bot, 'Robot'),
      ],
    });
  });

  test('who start with unusual settings', async () => {
    const { viewers, owner, signUp } = await house();
    const settings = { presence_enabled: false, email_address_visibility: 3, enable_drafts_synchronization: false };
    await owner.ok('PATCH', '/realm/user_settings_defaults', settings);
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    await expectReplay(viewers, {
      'people come': () => signUp('New'),
      'bots come': () => owner.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' }),
    });
  });

  test('who are deactivated with their bots, and reactivated', async () => {
    const { viewers, owner, bob, general, signUp } = await house();
    const leaver = await signUp('Leaver');
    const helper = await bob.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
    await owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'general' }, { name: 'hidden' }], principals: [bob.id, helper.user_id] },
    });
    await bob.ok('POST', '/users/me/status', { status_text: 'busy' });
    await bob.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await bob.ok('POST', '/messages', { type: 'channel', to: general, topic: 'topic', content: 'hello' });
    await archive(owner, await create(owner, 'old', { subscribers: [owner.id, bob.id] }))();
    const away = { delete_profile: true, delete_public_channel_messages: true };
    await expectReplay(
      viewers.filter((viewer) => viewer !== bob),
      {
        'one is deactivated': () => owner.ok('DELETE', `/users/${bob.id}`, { actions: away }),
        'the bot is back, and owned by the owner': () => owner.ok('POST', `/users/${helper.user_id}/reactivate`),
        'the user is back': () => owner.ok('POST', `/users/${bob.id}/reactivate`),
        'the bot is deactivated alone': () => owner.ok('DELETE', `/bots/${helper.user_id}`),
        'a user leaves': () => leaver.ok('DELETE', '/users/me'),
      },
      { eventless: [WITHOUT_EVENT.channelActivity, WITHOUT_EVENT.deletedMessages] },
    );
  });

  test('whose bots are created, changed and transferred', async () => {
    const { viewers, owner, ann, gia, general } = await house();
    const { user_id } = await ann.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
    const change = (parameters: object) => () => ann.ok('PATCH', `/bots/${user_id}`, { ...parameters });
    await expectReplay(viewers, {
      'one more comes': () =>
        ann.ok('POST', '/bots', { full_name: 'Other', short_name: 'other', default_sending_stream: 'hidden' }),
      'its own settings change': change({
        ...{ full_name: 'Robot', default_sending_stream: 'general', default_events_register_stream: 'general' },
        default_all_public_streams: true,
      }),
      'the channel gets another name': edit(owner, general, { new_name: 'lobby' }),
      'a setting is cleared': change({ default_events_register_stream: '' }),
      'it gets a role': () => owner.ok('PATCH', `/bots/${user_id}`, { role: 300 }),
      'it gets another owner': change({ bot_owner_id: gia.id }),
      'and an administrator for one': () => owner.ok('PATCH', `/bots/${user_id}`, { bot_owner_id: owner.id }),
    });
  });

  test('who are added to default channels', async () => {
    const { viewers, few, owner, general, signUp } = await house();
    await owner.ok('PATCH', `/streams/${general}`, { is_default_stream: true });
    await expectReplay(viewers, () => signUp('New'));
    await expectReplay(few, () => signUp('Newer'), OTHER_CLIENTS);
  });

  test.for([['ann'], ['bob'], ['gia']] as const)('whose role changes: %s', async ([name]) => {
    const house_ = await house();
    const { viewers, few, owner, ann, bob, gia, general, empty } = house_;
    // Roles differ most in the channels that they can see if some channels are private, archived or default.
    await owner.ok('PATCH', `/streams/${general}`, { is_default_stream: true });
    await owner.ok('DELETE', `/streams/${empty}`);
    // Some addresses are visible only to some users, and some avatars are computed from addresses.
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    for (const person of [owner, bob]) await person.ok('DELETE', '/users/me/avatar');
    for (const [person, email_address_visibility] of [
      [owner, 3],
      [ann, 2],
      [bob, 5],
      [gia, 4],
    ] as const) {
      await person.ok('PATCH', '/settings', { email_address_visibility });
    }
    const role = (number: number) => () => owner.ok('PATCH', `/users/${house_[name].id}`, { role: number });
    const acts = {
      'to moderator': role(300),
      'to guest': role(600),
      'to owner': role(100),
      'to administrator': role(200),
      'to member': role(400),
    };
    // Other users receive only the new role. The user concerned, and guests who see them, also receive its consequences.
    await expectReplay(name === 'ann' ? viewers : few, acts, { eventless: [WITHOUT_EVENT.rightsOfRole] });
  });

  test('whose role changes, with other clients', async () => {
    const { few, owner, ann } = await house();
    const role = (number: number) => () => owner.ok('PATCH', `/users/${ann.id}`, { role: number });
    const acts = { 'to guest': role(600), 'to administrator': role(200), 'to member': role(400) };
    await expectReplay(few, acts, { ...OTHER_CLIENTS, eventless: [WITHOUT_EVENT.rightsOfRole] });
  });
});

describe('channels', () => {
  const creations = async () => {
    const { owner, ann, bob, gia, administrator, ...rest } = await house();
    const folder_id = await folderOf(owner, 'Teams');
    const both = [ann.id, gia.id];
    const { realm_can_delete_any_message_group: administrators } = await owner.register({
      fetch_event_types: ['realm'],
    });
    return {
      ...rest,
      acts: {
        'public ones': [
          () => create(bob, 'of nobody'),
          () => create(owner, 'with subscribers', { subscribers: both }),
          () => create(administrator, 'in a folder, by default', { folder_id, is_default_stream: true }),
          () => create(bob, 'for announcements', { can_send_message_group: administrators }),
          subscribe(bob, ['by subscribing'], [bob, gia]),
        ],
        'private ones': [
          () => create(ann, 'private', { subscribers: both, invite_only: true }),
          () => create(ann, 'private, of nobody', { invite_only: true }),
          () =>
            create(bob, 'shared', { subscribers: [bob.id], invite_only: true, history_public_to_subscribers: true }),
          () =>
            create(ann, 'open to some', {
              subscribers: [ann.id],
              invite_only: true,
              can_subscribe_group: given(bob).new,
            }),
        ],
      } satisfies Record<string, Act[]>,
    };
  };

  test('that are created', async () => {
    const { viewers, acts } = await creations();
    await expectReplay(viewers, acts, OF_CHANNELS);
  });

  test('that are created, with other clients', async () => {
    const { few, acts } = await creations();
    await expectReplay(few, acts, { ...OF_CHANNELS, ...OTHER_CLIENTS });
  });

  test.for([['general'], ['hidden'], ['empty']] as const)('whose settings change: %s', async ([name]) => {
    const house_ = await house();
    const { viewers, owner, ann } = house_;
    const channel = house_[name];
    const folder_id = await folderOf(owner, 'Teams');
    const organization = await owner.register({ fetch_event_types: ['realm'] });
    const {
      realm_can_delete_any_message_group: administrators,
      realm_can_set_delete_message_policy_group: moderators,
    } = organization;
    await expectReplay(
      viewers,
      {
        'one property each': [
          edit(ann, channel, { new_name: 'renamed' }),
          edit(ann, channel, { description: 'Now **with** one' }),
          edit(ann, channel, { folder_id }),
          edit(ann, channel, { topics_policy: 'allow_empty_topic' }),
          edit(owner, channel, { message_retention_days: 30 }),
          edit(ann, channel, { can_send_message_group: { new: administrators } }),
          edit(ann, channel, { can_resolve_topics_group: given(ann, owner) }),
        ],
        'several at once, and back': [
          edit(ann, channel, { new_name: 'again', description: '', topics_policy: 'inherit', folder_id: null }),
          edit(owner, channel, { message_retention_days: '"realm_default"' }),
          edit(ann, channel, { can_send_message_group: { new: moderators } }),
        ],
      },
      OF_CHANNELS,
    );
  });

  test('that become default channels', async () => {
    const { viewers, administrator, general, empty } = await house();
    await expectReplay(
      viewers,
      {
        on: [general, empty].map((channel) => edit(administrator, channel, { is_default_stream: true })),
        off: [edit(administrator, general, { is_default_stream: false }), archive(administrator, empty)],
      },
      OF_CHANNELS,
    );
  });

  const privacies = async () => {
    const { ann, general, hidden, empty, ...rest } = await house();
    return {
      ...rest,
      acts: {
        'public to private': edit(ann, general, { is_private: true }),
        'private to public': edit(ann, general, { is_private: false }),
        'private with subscribers to public': edit(ann, hidden, { is_private: false }),
        'public to private with shared history': edit(ann, hidden, {
          is_private: true,
          history_public_to_subscribers: true,
        }),
        'shared to protected history': edit(ann, hidden, { history_public_to_subscribers: false }),
        'private and another name at once': edit(ann, empty, { is_private: true, new_name: 'renamed' }),
      } satisfies Record<string, Act>,
    };
  };

  test('that become private or public', async () => {
    const { viewers, acts } = await privacies();
    await expectReplay(viewers, acts, OF_CHANNELS);
  });

  test('that become private or public, with other clients', async () => {
    const { few, acts } = await privacies();
    await expectReplay(few, acts, { ...OF_CHANNELS, ...OTHER_CLIENTS });
  });

  test('that become visible or hidden by permissions', async () => {
    const { viewers, few, ann, bob, moderator, guest, hidden, owner } = await house();
    const organization = await owner.register({ fetch_event_types: ['realm'] });
    const { realm_can_set_delete_message_policy_group: moderators, realm_can_create_groups: members } = organization;
    const nobody = { new: { direct_members: [], direct_subgroups: [] } };
    const acts = {
      'bob may subscribe': edit(ann, hidden, { can_subscribe_group: given(bob) }),
      'bob may subscribe and add, by two permissions': edit(ann, hidden, {
        can_add_subscribers_group: given(bob, guest),
      }),
      'one of the two is taken': edit(ann, hidden, { can_subscribe_group: nobody }),
      'the other is given to moderators': edit(ann, hidden, { can_add_subscribers_group: { new: moderators } }),
      'all members administer': edit(ann, hidden, { can_administer_channel_group: { new: members } }),
      'only the moderator administers': edit(ann, hidden, { can_administer_channel_group: given(moderator, ann) }),
      'nobody holds anything': edit(ann, hidden, {
        can_add_subscribers_group: nobody,
        can_administer_channel_group: nobody,
      }),
    };
    await expectReplay(viewers, acts, OF_CHANNELS);
    const again = edit(owner, hidden, { can_administer_channel_group: given(bob) });
    await expectReplay(
      few,
      { again, 'and back': edit(owner, hidden, { can_administer_channel_group: nobody }) },
      OTHER_CLIENTS,
    );
  });

  test('that are archived and restored', async () => {
    const { viewers, few, ann, general, hidden, empty } = await house();
    const all = [general, hidden, empty];
    const acts = {
      archived: all.map((channel) => archive(ann, channel)),
      'back again': all.map((channel) => edit(ann, channel, { is_archived: false })),
    };
    await expectReplay(viewers, acts, OF_CHANNELS);
    await expectReplay(few, acts, { ...OF_CHANNELS, ...OTHER_CLIENTS });
  });

  test('that change while they are archived', async () => {
    const { viewers, few, owner, ann, bob, gia, general, hidden } = await house();
    await ann.ok('DELETE', `/streams/${general}`);
    await ann.ok('DELETE', `/streams/${hidden}`);
    const acts = {
      'a name, subscriptions and a setting': [
        edit(ann, general, { new_name: 'archive' }),
        subscribe(ann, ['archive', 'hidden'], [bob]),
        setProperty(ann, general, 'is_muted', true),
      ],
      'ends of subscriptions': [unsubscribe(gia, ['archive']), unsubscribe(owner, ['hidden'], [gia])],
      'a private one made public': edit(ann, hidden, { is_private: false }),
      'and private again': edit(ann, hidden, { is_private: true }),
      'back again, one renamed at once': [
        edit(ann, general, { is_archived: false }),
        edit(ann, hidden, { is_archived: false, new_name: 'not hidden' }),
      ],
    };
    await expectReplay(viewers, acts, OF_CHANNELS);
    await archive(ann, general)();
    const more = {
      'another name': edit(ann, general, { new_name: 'old' }),
      back: edit(ann, general, { is_archived: false }),
    };
    await expectReplay(few, more, { ...OF_CHANNELS, ...OTHER_CLIENTS });
  });
});

test('channels that can be read without credentials', async () => {
  await using server = await shareInProcess();
  const { organization, owner, member, guest } = await createOrganization({}, { on: server });
  await server.app.db.organization.update({
    where: { id: organization.id },
    data: { settings: { enable_spectator_access: true } },
  });
  const open = await create(owner, 'open', { is_web_public: true, subscribers: [member.id] });
  const channel = await create(owner, 'channel', { subscribers: [member.id] });
  const viewers = [owner, member, guest];
  const acts = {
    'one more': () => create(owner, 'more', { is_web_public: true }),
    'opened, and closed': [edit(owner, channel, { is_web_public: true }), edit(owner, open, { is_web_public: false })],
    'from private at once': edit(owner, open, { is_private: true }),
    'another name': edit(owner, open, { new_name: 'not open' }),
    'archived and back': [archive(owner, channel), edit(owner, channel, { is_archived: false })],
  };
  await expectReplay(viewers, acts, OF_CHANNELS);
});

describe('subscriptions', () => {
  const movements = async () => {
    const { owner, administrator, moderator, ann, bob, gia, guest, bot, ...rest } = await house();
    return {
      ...rest,
      acts: {
        'to public channels': [subscribe(bob, ['general']), subscribe(ann, ['general', 'empty'], [moderator, guest])],
        'to a private channel': subscribe(ann, ['hidden'], [bob, guest, bot]),
        'ended by the user': unsubscribe(bob, ['general', 'hidden']),
        'of others, ended': unsubscribe(administrator, ['general', 'hidden'], [ann, gia, guest]),
        'of the last one, ended by who does not read the channel': unsubscribe(administrator, ['hidden'], [owner]),
        'begun again': [subscribe(bob, ['general']), subscribe(bob, ['general'], [ann, gia])],
        'added and ended at once': () =>
          bob.ok('PATCH', '/users/me/subscriptions', {
            add: [{ name: 'empty' }, { name: 'new' }],
            delete: ['general'],
          }),
      } satisfies Record<string, Act | Act[]>,
    };
  };

  test('that start and end', async () => {
    const { viewers, acts } = await movements();
    await expectReplay(viewers, acts, OF_CHANNELS);
  });

  test('that start and end, with other clients', async () => {
    const { few, acts } = await movements();
    await expectReplay(few, acts, { ...OF_CHANNELS, ...OTHER_CLIENTS });
  });

  test('whose settings change', async () => {
    const { ann, gia, owner, general } = await house();
    const set = (property: string, value: unknown) => setProperty(ann, general, property, value);
    const all = [
      ...['pin_to_top', 'desktop_notifications', 'audible_notifications', 'push_notifications'],
      ...['email_notifications', 'wildcard_mentions_notify'],
    ];
    await expectReplay(
      [ann, gia, owner],
      {
        'muted, by the new name': set('is_muted', true),
        'muted no more, by the old name': set('in_home_view', true),
        'muted, by the old name': set('in_home_view', false),
        'all the others': [set('color', '#123456'), ...all.map((property) => set(property, true))],
        'all the others off': all.map((property) => set(property, false)),
      },
      OF_CHANNELS,
    );
  });

  test('whose settings are restored with them', async () => {
    const { viewers, ann, general } = await house();
    await setProperty(ann, general, 'is_muted', true)();
    await setProperty(ann, general, 'push_notifications', true)();
    await expectReplay(
      viewers,
      {
        ended: unsubscribe(ann, ['general']),
        'begun again': subscribe(ann, ['general']),
        'muted no more': setProperty(ann, general, 'in_home_view', true),
      },
      OF_CHANNELS,
    );
  });
});

test('channel folders', async () => {
  const { viewers, owner, administrator } = await house();
  const [first, second] = [await folderOf(owner, 'First'), await folderOf(owner, 'Second')];
  const change = (id: number, changes: object) => () =>
    administrator.ok('PATCH', `/channel_folders/${id}`, { ...changes });
  await expectReplay(viewers, {
    'a new one, and others changed': [
      () => folderOf(administrator, 'Third', 'The *third*'),
      change(first, { name: '1st' }),
      change(first, { description: 'The **first**' }),
      change(second, { is_archived: true }),
    ],
    'one back again, with another name': change(second, { is_archived: false, name: '2nd' }),
    'another order': async () => {
      const { channel_folders } = await owner.ok('GET', '/channel_folders', { include_archived: true });
      const order = channel_folders.map(({ id }: { id: number }) => id).reverse();
      await owner.ok('PATCH', '/channel_folders', { order });
    },
  });
});

test('topics that are muted, unmuted and followed', async () => {
  const { ann, gia, general, hidden } = await house();
  const set = (stream_id: number, topic: string, visibility_policy: number) => () =>
    gia.ok('POST', '/user_topics', { stream_id, topic, visibility_policy });
  await expectReplay([ann, gia], {
    'some topics': [set(general, 'Lunch', 1), set(general, '', 2), set(hidden, 'lunch', 3)],
    'in another case': [set(general, 'LUNCH', 3), set(general, '(no topic)', 0)],
    'no more': set(hidden, 'LUNCH', 0),
    'muted, in several channels': [set(general, 'Lunch', 1), set(general, '', 1), set(hidden, 'plans', 1)],
    'muted no more': [set(general, 'lunch', 2), set(hidden, 'plans', 0)],
    'in a channel with another name': edit(ann, general, { new_name: 'public' }),
    'in a channel they lose': [set(hidden, 'plans', 1), unsubscribe(ann, ['hidden'], [gia])],
  });
});

test('the first message of a channel, and a second one', async () => {
  const { viewers, owner, ann, bob, gia, general, hidden } = await house();
  const say = (channel: number) => () =>
    ann.ok('POST', '/messages', { type: 'channel', to: channel, topic: 'greetings', content: 'hello' });
  // These users receive the message.
  await expectReplay([owner, ann, gia], { 'the first': say(general), 'one more': say(general) }, OF_CHANNELS);
  await expectReplay(viewers, say(hidden), { ...OF_CHANNELS, eventless: [WITHOUT_EVENT.channelActivity] });
  // A user who subscribes later receives the activity of the channel together with the channel.
  await expectReplay([...viewers, bob], subscribe(ann, ['hidden'], [bob]), OF_CHANNELS);
});

test('messages that arrive unread, are read, starred and unread again', async () => {
  const { ann, gia, owner, general, hidden } = await house();
  const send = async (by: Person, parameters: object): Promise<number> =>
    (await by.ok('POST', '/messages', { content: 'hello', ...parameters })).id;
  const say = (topic: string, content = 'hello', to = general) => send(owner, { type: 'channel', to, topic, content });
  const write = (by: Person, to: readonly Person[]) => send(by, { type: 'direct', to: to.map(({ id }) => id) });
  const mute = (topic: string, visibility_policy: number) => () =>
    gia.ok('POST', '/user_topics', { stream_id: general, topic, visibility_policy });
  const ids: number[] = [];
  const flag = (op: string, name: string, from: number, to: number) => () =>
    gia.ok('POST', '/messages/flags', { messages: ids.slice(from, to), op, flag: name });
  await mute('noise', 1)();
  await expectReplay(
    [gia, ann],
    {
      'all kinds': async () => {
        ids.push(await say(''), await say('noise', '@**all**'), await say('noise', '@**gia**'), await say('lunch'));
        ids.push(await say('lunch', '@**all**', hidden), await write(owner, [gia]), await write(gia, [gia]));
        ids.push(await write(ann, [gia, owner]), await send(gia, { type: 'channel', to: general, topic: 'own' }));
      },
      'some starred, some read': [flag('add', 'starred', 2, 7), flag('add', 'read', 0, 2), flag('add', 'read', 5, 9)],
      'some unread again': [flag('remove', 'starred', 3, 5), flag('remove', 'read', 0, 9)],
      'a topic read, and a channel': [
        () => gia.ok('POST', '/mark_topic_as_read', { stream_id: general, topic_name: 'lunch' }),
        () => gia.ok('POST', '/mark_stream_as_read', { stream_id: hidden }),
      ],
      'muted and unmuted': [mute('', 1), setProperty(gia, general, 'is_muted', true), mute('own', 2)],
      'muted no more': setProperty(gia, general, 'is_muted', false),
      // A topic is muted again, because the list of muted topics is not sent when the channel returns.
      'away and back': [unsubscribe(gia, ['general']), subscribe(ann, ['general'], [gia]), mute('once more', 1)],
      'and everything': [() => say('last'), () => gia.ok('POST', '/mark_all_as_read')],
    },
    { eventless: [WITHOUT_EVENT.channelActivity] },
  );
  await say('lunch');
  await expectReplay([gia, ann], archive(ann, general));
  const eventless = [WITHOUT_EVENT.unreadOutside, WITHOUT_EVENT.mutedElsewhere];
  await expectReplay([gia, ann], edit(ann, general, { is_archived: false }), { eventless });
});

test('messages that are edited, moved and deleted', async () => {
  const { owner, ann, bob, gia, general } = await house();
  const other = await create(ann, 'other', { subscribers: [ann.id, bob.id, owner.id] });
  const closed = await create(ann, 'closed', { subscribers: [ann.id, owner.id], invite_only: true });
  const say = async (topic: string, content = 'hello'): Promise<number> =>
    (await ann.ok('POST', '/messages', { type: 'channel', to: general, topic, content })).id;
  const ids = [await say(''), await say('', '@**owner**'), await say('lunch'), await say('lunch')];
  const [first, second, third, fourth] = ids as [number, number, number, number];
  const { id: note } = await ann.ok('POST', '/messages', { type: 'direct', to: [owner.id, gia.id], content: 'hi' });
  await owner.ok('POST', '/messages/flags', { messages: [second, note], op: 'add', flag: 'starred' });
  await gia.ok('POST', '/user_topics', { stream_id: general, topic: 'lunch', visibility_policy: 1 });
  const change =
    (id: number, parameters: object): Act =>
    () =>
      ann.ok('PATCH', `/messages/${id}`, { send_notification_to_new_thread: false, ...parameters });
  const all = { propagate_mode: 'change_all' };
  const remove =
    (id: number): Act =>
    () =>
      ann.ok('DELETE', `/messages/${id}`);
  await expectReplay(
    [owner, ann, bob, gia],
    {
      'an edit that mentions': change(first, { content: '@**owner** @**gia**' }),
      'an edit that mentions no more': change(second, { content: 'plain' }),
      'one message moved': change(third, { topic: 'Dinner' }),
      'a topic moved into another': change(first, { topic: 'lunch', ...all }),
      'a topic moved to another channel': change(fourth, { stream_id: other, ...all }),
      'and to a private one': change(fourth, { stream_id: closed, topic: '', ...all }),
      'messages deleted': [remove(first), remove(third), remove(note)],
    },
    { eventless: [WITHOUT_EVENT.channelActivity, WITHOUT_EVENT.deletedMessages] },
  );
});

test('settings of the organization', async () => {
  const { owner, hidden, ann, gia } = await house();
  const { realm_can_create_groups: members, realm_create_multiuse_invite_group: administrators } = await owner.register(
    { fetch_event_types: ['realm'] },
  );
  const update = (edits: object) => () => owner.ok('PATCH', '/realm', { ...edits });
  await expectReplay(
    [owner, ann, gia],
    {
      'its texts': [
        update({ name: 'Other', description: 'of **many**' }),
        update({ welcome_message_custom_text: 'Hi' }),
      ],
      'settings, and what old clients know them by': [
        update({ topics_policy: 'disable_empty_topic', message_edit_history_visibility_policy: 'none' }),
        update({ message_content_edit_limit_seconds: '"unlimited"', message_retention_days: 30, digest_weekday: 0 }),
        update({ moderation_request_channel_id: hidden, inline_image_preview: false }),
      ],
      permissions: [
        update({ can_create_public_channel_group: { new: administrators } }),
        update({ can_mention_many_users_group: { new: members }, can_invite_users_group: given(owner, ann) }),
      ],
      'and back': [
        update({ topics_policy: 'allow_empty_topic', message_retention_days: '"unlimited"', description: '' }),
        update({ can_create_public_channel_group: { new: members }, moderation_request_channel_id: -1 }),
      ],
    },
    { eventless: [WITHOUT_EVENT.rightsOfRole] },
  );
});

test('settings and alert words of a user', async () => {
  const { few, owner, signUp } = await house();
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  const zoe = await signUp('Zoe');
  const update = (edits: object) => () => zoe.ok('PATCH', '/settings', { ...edits });
  const words = (method: 'POST' | 'DELETE', ...alert_words: string[]) => {
    return () => zoe.ok(method, '/users/me/alert_words', { alert_words });
  };
  await expectReplay([...few, zoe], {
    'of hers alone': [
      update({ web_home_view: 'recent', color_scheme: 2, enter_sends: true, twenty_four_hour_time: null }),
      update({ default_language: 'pt-br', enter_sends: false }),
      words('POST', 'Release', 'deadline'),
      words('DELETE', 'release'),
    ],
    'what others see': [update({ timezone: 'Europe/Kiev' }), update({ full_name: 'Zoë' })],
    'her address hidden': [update({ email_address_visibility: 3 })],
    'shown to members, to nobody, and to all again': [2, 4, 1].map((seen) =>
      update({ email_address_visibility: seen }),
    ),
    'drafts kept no more': [
      () => zoe.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'a' }] }),
      update({ enable_drafts_synchronization: false }),
      update({ enable_drafts_synchronization: true }),
      () => zoe.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'b' }] }),
    ],
  });
});

test('the address of a user', async () => {
  const { viewers, owner, organization, signUp } = await house();
  const right = { org: organization.subdomain, user: owner.email, right: 'can_change_user_emails' };
  await runCommand(serverOf().dataDir, 'user grant', right);
  // Some clients compute avatars from email addresses.
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  const yan = await signUp('Yan');
  const give = (name: string) => () =>
    owner.ok('PATCH', `/users/${yan.id}`, { new_email: `${name}@${organization.subdomain}.example` });
  const shownTo = (email_address_visibility: number) => async () => {
    const { delivery_email } = (await owner.ok('GET', `/users/${yan.id}`)).user;
    await yan.as(basic(delivery_email, yan.apiKey)).ok('PATCH', '/settings', { email_address_visibility });
  };
  await expectReplay(viewers, {
    'shown to all': give('one'),
    'hidden from some': shownTo(3),
    'changed for those who see it': give('two'),
  });
});

test('permission to create video calls', async () => {
  await using provider = await startVideoProvider();
  await using service = await startInProcess({ env: provider.env });
  const { member } = await createOrganization({}, { on: service });
  const agree = async () => {
    const { videoCallRegistrationUrl } = await member.query('{ videoCallRegistrationUrl }');
    const { code, state } = Object.fromEntries(new URL(provider.agree(videoCallRegistrationUrl)).searchParams);
    await member.mutate('completeVideoCallRegistration', { consent: { code }, state }, 'hasVideoCallToken');
  };
  const call = () => member.rest('POST', '/calls/videoprovider/create');
  await expectReplay(member, { given: agree, 'given anew': agree, taken: [async () => provider.revoke(), call] });
});

test('an app with a key and a token', async () => {
  await using phones = await startPhoneServices();
  await using service = await startInProcess({ env: phones.env });
  const { member } = await createOrganization({}, { on: service });
  const app = await registerApp(member, phones);
  const register = (token: string, changes = {}) =>
    member.ok('POST', '/mobile_push/register', app.registration('fcm', token, changes));
  await expectReplay(member, {
    configured: () => register('first'),
    'a token that is refused': () => register('second', { timestamp: 0 }),
    'another token': () => register('second'),
    'token removed': () => member.ok('DELETE', '/users/me/android_gcm_reg_id', { token: 'second' }),
  });
});

test('a person who joins by a link', async () => {
  // Without a mail server, no address is confirmed first.
  await using service = await startInProcess({ env: { SMTP_URL: '' } });
  const { owner, member } = await createOrganization({}, { on: service });
  const { invite_link } = await owner.ok('POST', '/invites/multiuse');
  const input = { token: invite_link.split('/').at(-1), fullName: 'Zoe Zane', password: 'correct horse battery' };
  await expectReplay([owner, member], { joined: () => owner.mutate('acceptInvitation', input, 'userId') });
});

test('drafts', async () => {
  const { ann, gia, general } = await house();
  const draft = (topic: string) => ({ type: 'stream', to: [general], topic, content: 'hello' });
  for (const person of [ann, gia]) {
    const { ids } = await person.ok('POST', '/drafts', { drafts: [draft('old'), draft('')] });
    await expectReplay([ann, gia], {
      'new ones': () => person.ok('POST', '/drafts', { drafts: [draft('new'), draft(''), draft('(no topic)')] }),
      'one in the place of another': () => person.ok('PATCH', `/drafts/${ids[0]}`, { draft: draft('') }),
      'one of another kind': () =>
        person.ok('PATCH', `/drafts/${ids[1]}`, { draft: { ...draft(''), type: '', to: [] } }),
      'one deleted': () => person.ok('DELETE', `/drafts/${ids[0]}`),
    });
  }
});

test('scheduled messages and reminders', async () => {
  const { ann, gia, general } = await house();
  const { id: message_id } = await ann.ok('POST', '/messages', {
    type: 'channel',
    to: general,
    topic: 't',
    content: 'x',
  });
  const later = { scheduled_delivery_timestamp: 4_102_444_800 };
  const schedule = async (topic: string): Promise<number> => {
    const message = { ...later, type: 'channel', to: general, topic, content: 'later' };
    return (await ann.ok('POST', '/scheduled_messages', message)).scheduled_message_id;
  };
  const remind = async (): Promise<number> =>
    (await ann.ok('POST', '/reminders', { ...later, message_id })).reminder_id;
  const [id, other, reminder] = [await schedule(''), await schedule('plans'), await remind()];
  await expectReplay([ann, gia], {
    'new ones': [() => schedule('new'), () => schedule(''), remind],
    'one edited': () => ann.ok('PATCH', `/scheduled_messages/${id}`, { content: 'changed' }),
    'one for others': () => ann.ok('PATCH', `/scheduled_messages/${other}`, { type: 'direct', to: [gia.id] }),
    'one cancelled': [
      () => ann.ok('DELETE', `/scheduled_messages/${id}`),
      () => ann.ok('DELETE', `/reminders/${reminder}`),
    ],
  });
});

test('statuses, allowed domains and custom emoji', async () => {
  const { owner, ann, gia } = await house();
  await expectReplay([owner, ann, gia], {
    'statuses are set and cleared': [
      () => ann.ok('POST', '/users/me/status', { status_text: 'at sea', emoji_name: 'boat' }),
      () => owner.ok('POST', `/users/${gia.id}/status`, { status_text: 'visiting' }),
      () => ann.ok('POST', '/users/me/status', { emoji_name: '', away: true }),
      () => owner.ok('POST', `/users/${gia.id}/status`, { status_text: '' }),
      () => ann.ok('PATCH', '/settings', { presence_enabled: true }),
    ],
    'domains are allowed, and no more': [
      () => owner.ok('POST', '/realm/domains', { domain: 'one.example', allow_subdomains: false }),
      () => owner.ok('PATCH', '/realm/domains/one.example', { allow_subdomains: true }),
      () => owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true }),
      () => owner.ok('DELETE', '/realm/domains/one.example'),
    ],
    'identity providers are added, changed and deleted': [
      () => owner.mutate('createIdentityProvider', PROVIDER, 'identityProvider { id }'),
      async () => {
        const query = '{ organization { identityProviders { nodes { id } } } }';
        const [{ id: identityProviderId }] = (await owner.query(query)).organization.identityProviders.nodes;
        await owner.mutate(
          'updateIdentityProvider',
          { identityProviderId, name: 'Company' },
          'identityProvider { id }',
        );
        await owner.mutate('deleteIdentityProvider', { identityProviderId }, 'identityProviderId');
      },
    ],
    'API keys are created, renamed and revoked': [
      () => ann.mutate('createApiKey', { name: 'Deployment', scopes: ['READ'] }, 'secret'),
      async () => {
        const { viewer } = await ann.query('{ viewer { apiKeys { nodes { id } } } }');
        const [{ id: apiKeyId }] = viewer.apiKeys.nodes;
        await ann.mutate('renameApiKey', { apiKeyId, name: 'Backup' }, 'apiKey { id }');
        await ann.mutate('revokeApiKey', { apiKeyId }, 'apiKeyId');
      },
    ],
    'files are uploaded, linked by a message, and deleted': [
      () => ann.ok('POST', '/user_uploads', { file: PNG }),
      async () => {
        const { attachments } = await ann.ok('GET', '/attachments');
        const [{ id, path_id }] = attachments;
        const content = `[a picture](/user_uploads/${path_id})`;
        await ann.ok('POST', '/messages', { type: 'direct', to: [ann.id], content });
        await ann.ok('DELETE', `/attachments/${id}`);
      },
    ],
    'people are invited by email': [
      () => ann.ok('POST', '/invites', { invitee_emails: 'zoe@new.example', stream_ids: [] }),
      async () => {
        const { invites } = await owner.ok('GET', '/invites');
        await ann.ok('POST', `/invites/${invites[0].id}/resend`);
        await owner.ok('DELETE', `/invites/${invites[0].id}`);
      },
    ],
    'emoji are added, and taken out of use': [
      () => ann.ok('POST', '/realm/emoji/steamer', { file: PNG }),
      () => owner.ok('POST', '/realm/emoji/tada', { file: PNG }),
      () => ann.ok('POST', '/users/me/status', { emoji_name: 'steamer' }),
      () => ann.ok('DELETE', '/realm/emoji/steamer'),
      () => owner.ok('POST', '/realm/emoji/steamer', { file: PNG }),
    ],
  });
});

test('avatars, if the default ones come from a provider', async () => {
  const { few, owner, signUp } = await house();
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  const zoe = await signUp('Zoe');
  const upload = (who: Person) => () => who.ok('POST', '/users/me/avatar', { file: PNG });
  await expectReplay([...few, zoe], {
    uploaded: [upload(zoe), upload(owner)],
    'uploaded anew': upload(zoe),
    'of whom an address is hidden': () => zoe.ok('PATCH', '/settings', { email_address_visibility: 4 }),
    removed: [() => zoe.ok('DELETE', '/users/me/avatar'), () => owner.ok('DELETE', '/users/me/avatar')],
  });
});

test('profile data', async () => {
  const { owner, ann, gia, bob, signUp } = await house();
  const make = async (field: object): Promise<number> =>
    (await owner.ok('POST', '/realm/profile_fields', { ...field })).id;
  const color = (...texts: string[]) => ({
    field_data: Object.fromEntries(texts.map((text, i) => [text, { text, order: String(i + 1) }])),
  });
  const ship = await make({ field_type: 1, name: 'Ship' });
  const flag = await make({ field_type: 3, name: 'Flag', ...color('red', 'blue') });
  const mates = await make({ field_type: 6, name: 'Mates', editable_by_user: false });
  const fill = (person: Person, ...values: [number, unknown][]) => {
    const data = values.map(([id, value]) => ({ id, value }));
    return () => person.ok('PATCH', '/users/me/profile_data', { data });
  };
  await expectReplay([owner, ann, gia], {
    'fields come': [
      () => make({ field_type: 2, name: 'About', hint: 'In *your* words', required: true }),
      () => make({ field_type: 8, name: 'Pronouns', display_in_profile_summary: true }),
    ],
    'people fill them in': [
      fill(ann, [ship, '*Argo*'], [flag, 'red']),
      fill(gia, [ship, 'Beagle'], [flag, 'blue']),
      () => owner.ok('PATCH', `/users/${bob.id}`, { profile_data: [{ id: mates, value: [ann.id, gia.id] }] }),
    ],
    'and empty them': [fill(ann, [ship, null]), () => gia.ok('DELETE', '/users/me/profile_data', { data: [ship] })],
    'an option is deleted, with the values that chose it': () =>
      owner.ok('PATCH', `/realm/profile_fields/${flag}`, color('blue', 'green')),
    'fields change their places': async () => {
      const { custom_fields } = await owner.ok('GET', '/realm/profile_fields');
      const order = custom_fields.map(({ id }: Json) => id).reverse();
      await owner.ok('PATCH', '/realm/profile_fields', { order });
    },
    'a new user has an empty profile': () => signUp('New'),
    'fields go, with what people had in them': [flag, mates].map(
      (id) => () => owner.ok('DELETE', `/realm/profile_fields/${id}`),
    ),
  });
});

describe('user groups', () => {
  const groupOf = async (person: Person, name: string, more: object = {}): Promise<number> =>
    (await person.ok('POST', '/user_groups/create', { name, description: '', members: [], ...more })).group_id;

  test('created, changed, filled, emptied, deactivated and reactivated', async () => {
    const { viewers, owner, ann, bob, gia } = await house();
    const { realm_can_create_groups: members } = await owner.register({ fetch_event_types: ['realm'] });
    const id = await groupOf(ann, 'Sailors', { members: [bob.id] });
    const inner = await groupOf(ann, 'Captains');
    const change =
      (what: string, parameters: object): Act =>
      () =>
        ann.ok('POST', `/user_groups/${id}/${what}`, { ...parameters });
    const patch =
      (parameters: object): Act =>
      () =>
        ann.ok('PATCH', `/user_groups/${id}`, { ...parameters });
    await expectReplay(viewers, {
      'a new one, and a change of another': [
        () => groupOf(ann, 'New', { members: [gia.id, ann.id], subgroups: [inner], can_join_group: members }),
        patch({ name: 'Crew', description: 'Who sails', can_leave_group: { new: inner } }),
      ],
      'people and groups come and go': [
        change('members', { add: [gia.id, ann.id], delete: [bob.id], add_subgroups: [members] }),
        change('subgroups', { add: [inner], delete: [members] }),
        change('members', { delete_subgroups: [inner] }),
      ],
      'it is deactivated': [patch({ can_leave_group: { new: members } }), change('deactivate', {})],
      'it is changed meanwhile': [
        patch({ name: 'Sailors' }),
        change('members', { add: [bob.id], delete: [gia.id] }),
        change('subgroups', { add: [inner] }),
        () => groupOf(ann, 'Another'),
      ],
      'it comes back': patch({ deactivated: false, description: 'Again' }),
    });
  });

  test('that show and hide private channels', async () => {
    const { viewers, few, owner, ann, bob, gia } = await house();
    const inner = await groupOf(owner, 'inner');
    const outer = await groupOf(owner, 'outer', { subgroups: [inner] });
    await create(ann, 'secret', { invite_only: true, subscribers: [ann.id], can_add_subscribers_group: outer });
    const secret = await create(ann, 'grouped', {
      invite_only: true,
      can_subscribe_group: { direct_members: [ann.id], direct_subgroups: [outer] },
    });
    const { realm_can_create_groups: members } = await owner.register({ fetch_event_types: ['realm'] });
    const change = (group: number, parameters: object) => () =>
      owner.ok('POST', `/user_groups/${group}/members`, { ...parameters });
    const acts = {
      'people come into a group within': change(inner, { add: [bob.id, gia.id] }),
      'the channel changes': edit(ann, secret, { description: 'for members' }),
      'the groups part': change(outer, { delete_subgroups: [inner] }),
      'everybody with a role comes': change(outer, { add_subgroups: [members] }),
      'one is a guest now': () => owner.ok('PATCH', `/users/${bob.id}`, { role: 600 }),
      'the role goes': change(outer, { delete_subgroups: [members] }),
      'the guest is in, and is a member again': [
        change(outer, { add: [bob.id] }),
        () => owner.ok('PATCH', `/users/${bob.id}`, { role: 400 }),
      ],
    };
    await expectReplay([...viewers.slice(0, 3), bob], acts, { eventless: [WITHOUT_EVENT.rightsOfRole] });
    await expectReplay(
      few,
      {
        'all go': change(outer, { delete: [bob.id], add: [gia.id] }),
        'a role again': change(outer, { add_subgroups: [members] }),
      },
      OTHER_CLIENTS,
    );
  });

  test('of full members, when the waiting period changes', async () => {
    const { few, owner } = await house();
    const threshold = (days: number) => () => owner.ok('PATCH', '/realm', { waiting_period_threshold: days });
    await expectReplay(few, { 'nobody is one': threshold(5), 'all are': threshold(0) });
  });
});

test('reactions, and typing users', async () => {
  const { ann, gia, owner, general } = await house();
  const { id } = await ann.ok('POST', '/messages', { type: 'channel', to: general, topic: 'boats', content: 'hello' });
  await expectReplay([owner, ann, gia], {
    'a reaction comes and goes': [
      () => gia.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'boat' }),
      () => gia.ok('DELETE', `/messages/${id}/reactions`, { emoji_name: 'boat' }),
    ],
    'people type': ['start', 'stop'].flatMap((op) => [
      () => ann.ok('POST', '/typing', { op, to: [owner.id] }),
      () => ann.ok('POST', '/typing', { op, type: 'channel', stream_id: general, topic: 'boats' }),
      () => ann.ok('POST', `/messages/${id}/typing`, { op }),
    ]),
  });
});

test('users who come online, and who hide their presence', async () => {
  const { viewers, ann, gia } = await house();
  await expectReplay(viewers, {
    'one is active, one idle': [
      () => ann.ok('POST', '/users/me/presence', { status: 'active', ping_only: true }),
      () => gia.ok('POST', '/users/me/presence', { status: 'idle', ping_only: true }),
    ],
    'one hides': () => ann.ok('PATCH', '/settings', { presence_enabled: false }),
  });
});

test('defaults of new users, and settings changed for others', async () => {
  const { viewers, owner, ann, gia } = await house();
  await expectReplay(viewers, {
    'new defaults': () => owner.ok('PATCH', '/realm/user_settings_defaults', { color_scheme: 2, enter_sends: true }),
    'settings of two': () =>
      owner.ok('PATCH', '/settings', {
        ...{ web_font_size_px: 20, presence_enabled: false },
        target_users: { user_ids: [ann.id, gia.id] },
      }),
  });
});

test.for(OWN_CHANGES)('%s', async ([, makeChanges]) => {
  const { ann, gia } = await house();
  for (const person of [ann, gia]) await expectReplay([ann, gia], await makeChanges(person));
});

test('muted topics that are moved, merged, followed automatically, and deleted', async () => {
  const { owner, ann, bob, gia, general } = await house();
  const other = await create(ann, 'other', { subscribers: [ann.id, bob.id, owner.id] });
  const say = async (topic: string, by = ann): Promise<number> =>
    (await by.ok('POST', '/messages', { type: 'channel', to: general, topic, content: 'hello' })).id;
  const mute = (person: Person, topic: string) =>
    person.ok('POST', '/user_topics', { stream_id: general, topic, visibility_policy: 1 });
  const [lunch] = [await say('lunch'), await say('dinner'), await say('breakfast')];
  for (const [person, topic] of [
    [gia, 'lunch'],
    [gia, 'dinner'],
    [bob, 'lunch'],
    [bob, 'breakfast'],
  ] as const) {
    await mute(person, topic);
  }
  await ann.ok('POST', '/user_topics', { stream_id: general, topic: 'lunch', visibility_policy: 3 });
  const move = (parameters: object) => () =>
    ann.ok('PATCH', `/messages/${lunch}`, { propagate_mode: 'change_all', ...parameters });
  await expectReplay(
    [ann, bob, gia, owner],
    {
      'in another case': move({ topic: 'LUNCH' }),
      'to another name': move({ topic: 'meals' }),
      'to another topic': move({ topic: 'dinner' }),
      // Gia is not subscribed to this channel.
      'to another channel': move({ stream_id: other }),
      'one written to': () => say('breakfast', bob),
      'one deleted': async () => {
        await mute(gia, 'breakfast');
        await owner.ok('POST', `/streams/${general}/delete_topic`, { topic_name: 'breakfast' });
      },
    },
    { eventless: [WITHOUT_EVENT.channelActivity, WITHOUT_EVENT.deletedMessages, WITHOUT_EVENT.unreadOutside] },
  );
});

test('a replay after many changes and a server restart equals what was received live', async () => {
  await using server = await startServer();
  const people = await createOrganization({ ann: 'member', bob: 'member', gia: 'guest' }, { on: server });
  const { owner, administrator, ann, bob, gia } = people;
  const hidden = await create(ann, 'hidden', { invite_only: true, subscribers: [ann.id, bob.id] });
  const readers = [administrator, ann, bob, gia].flatMap((viewer) =>
    [MODERN, LEGACY].map((client) => ({ viewer, client })),
  );
  const live = await Promise.all(readers.map(({ viewer, client }) => readUntilDraft(viewer, client)));
  const random = randomOf(7);
  const one = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  let edits = 0;
  const acts = [
    () => subscribe(ann, ['hidden'], [one([bob, gia])])(),
    () => unsubscribe(administrator, ['hidden'], [one([bob, gia])])(),
    () => edit(ann, hidden, { description: `edit ${++edits}` })(),
    () => setProperty(ann, hidden, 'is_muted', one([true, false]))(),
    () => owner.ok('PATCH', `/users/${bob.id}`, { role: one([200, 400, 600]) }),
  ];
  for (let i = 0; i < 40; i++) await one(acts)();
  for (const viewer of [administrator, ann, bob, gia]) {
    await viewer.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'the end' }] });
  }
  const heard = await Promise.all(live.map(({ events }) => events));
  await server.restart();
  for (const [i, { viewer, client }] of readers.entries()) {
    const { queueId, startId } = live[i] as (typeof live)[number];
    const again = await viewer.poll(queueId, startId, { dontBlock: true });
    const before = again.filter(({ type }) => type !== 'restart');
    expect(before, `${viewer.name} with ${client.name}`).toEqual(heard[i]);
  }
  expect(heard.flat().length).toBeGreaterThan(100);
});

test('a client that receives a restart event has the same state as a new one', async () => {
  await using server = await startServer();
  const { member } = await createOrganization({}, { on: server });
  const reply = await member.register();
  await server.restart();
  const events = await member.poll(reply.queue_id, reply.last_event_id);
  expect(events.map(({ type }) => type)).toEqual(['restart']);
  const state = stateOf(reply);
  for (const event of events) applyEvent(state, event, MODERN);
  expect(state).toEqual(stateOf(await member.register()));
});

/**
 * Registers a queue as an old client, and reads it until the viewer saves a draft.
 *
 * @returns The events before that.
 */
async function readUntilDraft(viewer: Person, { name: _, ...client }: Client) {
  const { queue_id: queueId, last_event_id: startId } = await viewer.register({ ...client, fetch_event_types: [] });
  const read = async () => {
    const heard: Json[] = [];
    for (let after = startId; heard.at(-1)?.type !== 'drafts'; ) {
      const page = await viewer.poll(queueId, after);
      heard.push(...page.filter(({ type }) => type !== 'heartbeat'));
      after = page.at(-1)?.id ?? after;
    }
    return heard;
  };
  return { queueId, startId, events: read() };
}

/** Returns a generator of pseudorandom numbers from 0 to below 1. The sequence depends only on the seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('every kind of event was received, except those that no call of these tests causes', () => {
  const unheard = knownEvents()
    .filter((name) => !appliedEvents.has(name))
    .sort();
  expect(unheard).toEqual([
    ...['heartbeat', 'linked_identities_changed', 'realm/update', 'realm_user/remove', 'second_factor_changed'],
  ]);
});

test('the list of state without events is short, with a reason for each', () => {
  expect(Object.keys(WITHOUT_EVENT)).toEqual([
    ...['rightsOfRole', 'channelActivity', 'deletedMessages', 'unreadOutside', 'mutedElsewhere'],
  ]);
  for (const { reason } of Object.values(WITHOUT_EVENT)) expect(reason.length).toBeGreaterThan(40);
});

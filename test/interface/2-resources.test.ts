import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { multipart } from '../helpers/multipart.ts';
import { basic, type Person } from '../helpers/person.ts';
import { plain } from '../helpers/pictures.ts';
import { createOrganization, ROLES, type RoleName } from '../helpers/server.ts';
import {
  DRAFT,
  flag,
  integer,
  integers,
  SNAPSHOT,
  SUBSCRIPTION,
  success,
  TOPIC,
  text,
  USER,
} from '../helpers/shapes.ts';
import { channelOf, receivedMessage, say, scheduleSoon } from '../helpers/talk.ts';

const people = await createOrganization();
const { owner, member, guest, bot } = people;
let made = 0;
/** Creates a user that no other test uses. */
const newPerson = () => people.signUp(`somebody ${++made}`);
const general = await channelOf(owner, 'general', [owner, member, guest, bot]);

const getUser = async (by: Person, id: number, parameters: object = {}): Promise<Json> =>
  (await by.ok('GET', `/users/${id}`, { ...parameters })).user;

describe.concurrent('2.1 Scheduled message', () => {
  test('has a scheduled_message_id, which differs from the id of the sent message', async () => {
    const listen = () => guest.register({ event_types: ['message'], fetch_event_types: [] });
    const queues = { one: await listen(), two: await listen() };
    const of = (topic: string) => ({ type: 'channel', to: general, topic, content: 'hello' });
    const never = { ...of('never'), scheduled_delivery_timestamp: 4_102_444_800 };
    const one = await scheduleSoon(member, of('one'));
    const cancelled = (await member.ok('POST', '/scheduled_messages', never)).scheduled_message_id;
    const two = await scheduleSoon(member, of('two'));
    expect([one, cancelled, two]).toEqual([integer, integer, integer]);
    await member.ok('DELETE', `/scheduled_messages/${cancelled}`);
    const sent = await Promise.all(
      Object.entries(queues).map(async ([topic, queue]) => {
        const { message } = await receivedMessage(guest, queue, ({ subject }) => subject === topic);
        return message.id;
      }),
    );
    // A sent message can have the same id as its scheduled message by chance. Both messages cannot, because a cancelled message
    // is scheduled between them.
    expect(sent).not.toEqual([one, two]);
    expect(new Set([one, cancelled, two]).size).toBe(3);
  });
});

describe.concurrent('2.2 Subscription', () => {
  const own = async (person: Person): Promise<Json[]> =>
    (await person.ok('GET', '/users/me/subscriptions')).subscriptions;
  /** Creates a channel with the member as a subscriber. @returns The subscription in the event that the member receives. */
  const heardAdding = async (parameters: object) => {
    const heard = await member.receiving({ event_types: ['subscription'], ...parameters });
    const name = `new ${++made}`;
    const others = [owner.id, guest.id, bot.id];
    const channel = { name, description: 'A *new* one', subscribers: [member.id, ...others] };
    await owner.ok('POST', '/channels/create', channel);
    const all = (await heard()).flatMap(({ op, subscriptions }) => (op === 'add' ? subscriptions : []));
    return { name, others, subscription: all.find((one) => one.name === name) };
  };
  const capable = { client_capabilities: { notification_settings_null: true } };

  test.for([
    ['color', '#c0ffee'],
    ['is_muted', true],
    ['in_home_view', false],
    ['pin_to_top', true],
    ['desktop_notifications', true],
    ['audible_notifications', false],
    ['push_notifications', true],
    ['email_notifications', true],
    ['wildcard_mentions_notify', false],
  ] as const)('%s can be changed by the user', async ([property, value]) => {
    const channel = await channelOf(owner, `to change ${property}`, [member]);
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: channel, property, value }],
    });
    const changed = (await own(member)).find(({ stream_id }) => stream_id === channel);
    expect(changed[property]).toBe(value);
  });

  test.for([true, false])('in_home_view %s is the inverse of is_muted', async (value) => {
    const channel = await channelOf(owner, `at home ${value}`, [member]);
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: channel, property: 'in_home_view', value }],
    });
    const changed = (await own(member)).find(({ stream_id }) => stream_id === channel);
    expect([changed.in_home_view, changed.is_muted]).toEqual([value, !value]);
  });

  test('an event contains all fields of the subscription', async () => {
    const { subscription, name } = await heardAdding(capable);
    expect(subscription).toMatchObject(SUBSCRIPTION);
    expect(subscription).toMatchObject({
      ...{ name, description: 'A *new* one', rendered_description: '<p>A <em>new</em> one</p>' },
      ...{ creator_id: owner.id, invite_only: false, is_muted: false, pin_to_top: false },
    });
  });

  test.for(['email_address', 'role'])('%s does not exist any more', async (field) => {
    expect((await heardAdding(capable)).subscription).not.toHaveProperty(field);
    for (const subscription of await own(member)) expect(subscription).not.toHaveProperty(field);
  });

  test('invite_only is true for a private channel', async () => {
    const heard = await member.receiving({ event_types: ['subscription'] });
    const channel = await channelOf(owner, 'private', [owner, member], { invite_only: true });
    const all = (await heard()).flatMap(({ subscriptions = [] }) => subscriptions);
    expect(all.find(({ stream_id }) => stream_id === channel)).toMatchObject({ invite_only: true });
  });

  test('has the other subscribers if include_subscribers is true', async () => {
    const { subscription, others } = await heardAdding({ include_subscribers: 'true' });
    expect(subscription.subscribers.toSorted()).toEqual(others.toSorted());
  });

  test('has no subscribers otherwise', async () => {
    const { subscription } = await heardAdding({});
    expect(subscription).not.toHaveProperty('subscribers');
    expect(subscription).not.toHaveProperty('partial_subscribers');
  });

  test('has partial_subscribers if it is large: all bots and all users active in the last 14 days', async () => {
    const crowd = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`p${i}`, 'guest'])) as Record<
      'p7',
      'guest'
    >;
    const large = await createOrganization(crowd);
    const { members } = await large.owner.ok('GET', '/users');
    const subscribers = members.map(({ user_id }: Json) => user_id);
    await large.owner.ok('POST', '/channels/create', { name: 'large', subscribers });
    const all = await large.owner.register({ include_subscribers: 'partial', fetch_event_types: ['subscription'] });
    const [{ partial_subscribers, ...subscription }] = all.subscriptions;
    expect(subscription).not.toHaveProperty('subscribers');
    expect(partial_subscribers).toEqual(expect.arrayContaining([large.bot.id, large.member.id, large.p7.id]));
  });

  test.for([
    ['desktop_notifications', 'enable_stream_desktop_notifications'],
    ['email_notifications', 'enable_stream_email_notifications'],
    ['wildcard_mentions_notify', 'wildcard_mentions_notify'],
    ['push_notifications', 'enable_stream_push_notifications'],
    ['audible_notifications', 'enable_stream_audible_notifications'],
  ] as const)('%s of null means the user default %s', async ([field, setting]) => {
    const shown = async (parameters: object) => {
      const { subscriptions } = await member.register({ ...parameters, fetch_event_types: ['subscription'] });
      return subscriptions.find(({ stream_id }: Json) => stream_id === general)[field];
    };
    expect(await shown(capable)).toBeNull();
    for (const value of [true, false]) {
      await member.ok('PATCH', '/settings', { [setting]: value });
      // Clients without the capability for null receive the effective value.
      expect(await shown({})).toBe(value);
    }
  });
});

describe.concurrent('2.3 User', () => {
  test('a member has these fields and no others', async () => {
    expect(await getUser(owner, member.id)).toEqual({
      ...USER,
      ...{ user_id: member.id, full_name: 'member', is_bot: false, bot_type: null, bot_owner_id: null },
      ...{ is_active: true, is_imported_stub: false, avatar_url: text, timezone: text },
    });
  });

  test('a bot has the same fields, with its type and owner', async () => {
    expect(await getUser(member, bot.id)).toEqual({
      ...USER,
      ...{ is_bot: true, bot_type: 1, bot_owner_id: owner.id, delivery_email: bot.email, role: 400 },
    });
  });

  test.for(Object.entries(ROLES))('%s is role %d, with the corresponding flags', async ([name, role]) => {
    expect(await getUser(member, people[name as RoleName].id)).toMatchObject({
      ...{ role, is_owner: role === 100, is_admin: role <= 200, is_guest: role === 600 },
    });
  });

  test('delivery_email is always present: null for users who cannot see it', async () => {
    const person = await newPerson();
    await person.ok('PATCH', '/settings', { email_address_visibility: 3 });
    expect((await getUser(owner, person.id)).delivery_email).toBe(person.email);
    expect((await getUser(guest, person.id)).delivery_email).toBeNull();
    expect((await getUser(person, person.id)).delivery_email).toBe(person.email);
    expect((await getUser(guest, owner.id)).delivery_email).toBe(owner.email);
  });

  test('email is a fake but usable address for users who cannot see the real one', async () => {
    const person = await newPerson();
    await person.ok('PATCH', '/settings', { email_address_visibility: 4 });
    const { email } = await getUser(guest, person.id);
    expect(email).not.toBe(person.email);
    expect((await owner.ok('GET', `/users/${email}`)).user.user_id).toBe(person.id);
    const again = person.as(basic(email, person.apiKey));
    expect((await again.ok('GET', '/users/me')).user_id).toBe(person.id);
  });

  test('is_deleted is absent for users who are not deleted', async () => {
    expect(await getUser(owner, member.id)).not.toHaveProperty('is_deleted');
  });

  test('is_billing_admin does not exist any more', async () => {
    expect(await getUser(owner, owner.id)).not.toHaveProperty('is_billing_admin');
  });

  test.for([
    ['requested, of a human user', () => member.id, true, true],
    ['not requested', () => member.id, false, false],
    ['requested, of a bot', () => bot.id, true, false],
  ] as const)('profile_data, %s', async ([, id, include_custom_profile_fields, isThere]) => {
    const user = await getUser(owner, id(), { include_custom_profile_fields });
    expect('profile_data' in user).toBe(isThere);
    if (isThere) expect(user).toEqual({ ...USER, profile_data: expect.any(Object) });
  });
});

describe.concurrent('2.4 Status', () => {
  const EMPTY = { emoji_name: '', status_text: '' };
  const statusOf = async (parameters: object) => {
    const person = await newPerson();
    await person.ok('POST', '/users/me/status', { ...parameters });
    return { person, status: (await guest.ok('GET', `/users/${person.id}/status`)).status };
  };

  test.for([
    ['60 code points', 'é'.repeat(60)],
    ['60 code points of two units each', '🚢'.repeat(60)],
  ] as const)('status_text has up to %s', async ([, status_text]) => {
    expect((await statusOf({ status_text })).status).toEqual({ status_text });
  });

  test('an empty status_text clears the status', async () => {
    const { person } = await statusOf({ status_text: 'here' });
    await person.ok('POST', '/users/me/status', EMPTY);
    expect((await person.ok('GET', `/users/${person.id}/status`)).status).toEqual({});
  });

  test.for([
    ['car', '1f697', 'unicode_emoji'],
    ['black_cat', '1f408-200d-2b1b', 'unicode_emoji'],
    ['team_chat', 'team_chat', 'service_extra_emoji'],
  ] as const)('%s has the code %s in %s', async ([emoji_name, emoji_code, reaction_type]) => {
    const emoji = { emoji_name, emoji_code, reaction_type };
    expect((await statusOf({ emoji_name })).status).toEqual(emoji);
    expect((await statusOf(emoji)).status).toEqual(emoji);
  });

  test('the code of a custom emoji is its id, in realm_emoji', async () => {
    const file = await plain('red').png().toBuffer();
    await owner.ok('POST', '/realm/emoji/red_flag', {}, { body: multipart([['file', file]]) });
    const [id] = Object.keys((await member.ok('GET', '/realm/emoji')).emoji);
    expect((await statusOf({ emoji_name: 'red_flag' })).status).toEqual({
      ...{ emoji_name: 'red_flag', emoji_code: id, reaction_type: 'realm_emoji' },
    });
  });

  test.for([true, false])('away %s sets presence_enabled to the opposite', async (away) => {
    const { person } = await statusOf({ away: !away });
    await person.ok('POST', '/users/me/status', { away });
    const { user_settings } = await person.register({ fetch_event_types: ['user_settings'] });
    expect(user_settings.presence_enabled).toBe(!away);
  });
});

describe.concurrent('2.5 Draft', () => {
  test.for([
    ['a channel', { type: 'stream', to: [general], topic: 'ships', content: 'hello' }],
    ['people', { type: 'private', to: [owner.id, guest.id], topic: '', content: 'hello' }],
    ['no recipient', { type: '', to: [], topic: '', content: 'hello' }],
  ] as const)('a draft for %s keeps its fields, and has the time of its last edit', async ([, draft]) => {
    const { ids } = await member.ok('POST', '/drafts', { drafts: [draft] });
    const { drafts } = await member.ok('GET', '/drafts');
    const saved = drafts.find(({ id }: Json) => id === ids[0]);
    expect(saved).toEqual({ ...DRAFT, ...draft, id: ids[0] });
    expect(Math.abs(saved.timestamp - Date.now() / 1000)).toBeLessThan(60);
  });

  test('keeps a given timestamp', async () => {
    const draft = { type: '', to: [], topic: '', content: 'old', timestamp: 1_595_479_019 };
    const { ids } = await owner.ok('POST', '/drafts', { drafts: [draft] });
    const { drafts } = await owner.ok('GET', '/drafts');
    expect(drafts.find(({ id }: Json) => id === ids[0]).timestamp).toBe(1_595_479_019);
  });

  test('ignores "to" if the type is empty', async () => {
    const draft = { type: '', to: [2_000_000_000], topic: '', content: 'unaddressed' };
    const { ids } = await guest.ok('POST', '/drafts', { drafts: [draft] });
    const { drafts } = await guest.ok('GET', '/drafts');
    expect(drafts.find(({ id }: Json) => id === ids[0]).to).toEqual([]);
  });

  test.for(['type', 'to', 'topic', 'content'])('%s is required', async (field) => {
    const { [field]: _, ...draft } = { type: '', to: [], topic: '', content: 'x' } as Record<string, unknown>;
    expect(await member.rest('POST', '/drafts', { drafts: [draft] })).toMatchObject({
      ...{ status: 400, body: { code: 'BAD_REQUEST' } },
    });
  });

  test.for(['topic', 'content'])('%s must not contain null bytes', async (field) => {
    const draft = { type: 'stream', to: [general], topic: 'a', content: 'b', [field]: 'a\0b' };
    expect(await member.rest('POST', '/drafts', { drafts: [draft] })).toMatchObject({
      ...{ status: 400, body: { code: 'BAD_REQUEST' } },
    });
  });

  test('rejects other types', async () => {
    const draft = { type: 'channel message', to: [general], topic: 'a', content: 'b' };
    expect((await member.rest('POST', '/drafts', { drafts: [draft] })).status).toBe(400);
  });
});

describe.concurrent('2.6 Message edit-history snapshot', () => {
  const historyOf = async (id: number, by = owner): Promise<Json[]> =>
    (await by.ok('GET', `/messages/${id}/history`)).message_history;
  const QUIET = { send_notification_to_new_thread: false, send_notification_to_old_thread: false };
  const edited = async (change: object) => {
    const id = await say(owner, general, 'before', 'one');
    await owner.ok('PATCH', `/messages/${id}`, { ...QUIET, ...change });
    return historyOf(id);
  };

  test('a message without edits has one snapshot: the original', async () => {
    const id = await say(member, general, 'calm', 'a **word**');
    expect(await historyOf(id)).toEqual([
      {
        ...SNAPSHOT,
        ...{ topic: 'calm', content: 'a **word**', rendered_content: '<p>a <strong>word</strong></p>' },
        user_id: member.id,
      },
    ]);
  });

  test('an edit of the content has the previous content, and the difference as HTML', async () => {
    const [original, edit, ...more] = await edited({ content: 'two' });
    expect([original, more]).toEqual([{ ...SNAPSHOT, content: 'one' }, []]);
    expect(edit).toEqual({
      ...SNAPSHOT,
      ...{ topic: 'before', content: 'two', rendered_content: '<p>two</p>', user_id: owner.id },
      ...{ prev_content: 'one', prev_rendered_content: '<p>one</p>' },
      content_html_diff: expect.stringMatching(/one.*two|two.*one/),
    });
  });

  test('an edit of the topic has only topic and prev_topic', async () => {
    const [, edit] = await edited({ topic: 'after' });
    expect(edit).toEqual({ ...SNAPSHOT, topic: 'after', prev_topic: 'before', content: 'one' });
  });

  test('a move has only stream and prev_stream', async () => {
    const other = await channelOf(owner, 'other', [owner]);
    const [, edit] = await edited({ stream_id: other });
    expect(edit).toEqual({ ...SNAPSHOT, topic: 'before', stream: other, prev_stream: general });
  });
});

describe.concurrent('2.7 Topic entry', () => {
  test('has the name, and the id of the last message as max_id', async () => {
    const channel = await channelOf(owner, 'topics', [owner]);
    await say(owner, channel, 'ships');
    const last = await say(owner, channel, 'ships');
    const { topics } = await owner.ok('GET', `/users/me/${channel}/topics`);
    expect(topics).toEqual([{ ...TOPIC, max_id: last, name: 'ships' }]);
  });
});

describe.concurrent('2.8 Other records', () => {
  test('a channel folder has an id, a name, a description and an archived flag', async () => {
    const folder = { name: 'Ships', description: 'of the line' };
    const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', folder);
    expect(channel_folder_id).toEqual(integer);
    const { channel_folders } = await member.ok('GET', '/channel_folders');
    expect(channel_folders.find(({ id }: Json) => id === channel_folder_id)).toMatchObject({
      ...folder,
      is_archived: false,
    });
  });

  test('a saved snippet has an id, a title and a content', async () => {
    const snippet = { title: 'Hello', content: '**Hello**' };
    const { saved_snippet_id } = await member.ok('POST', '/saved_snippets', snippet);
    expect(saved_snippet_id).toEqual(integer);
    const { saved_snippets } = await member.ok('GET', '/saved_snippets');
    expect(saved_snippets.find(({ id }: Json) => id === saved_snippet_id)).toMatchObject(snippet);
  });

  test('a navigation view has a fragment, is_pinned and a name or null', async () => {
    await member.ok('POST', '/navigation_views', { fragment: 'inbox', is_pinned: true });
    await member.ok('POST', '/navigation_views', { fragment: 'narrow/has/image', is_pinned: false, name: 'Images' });
    const { navigation_views } = await member.ok('GET', '/navigation_views');
    expect(navigation_views).toEqual([
      { fragment: 'inbox', is_pinned: true, name: null },
      { fragment: 'narrow/has/image', is_pinned: false, name: 'Images' },
    ]);
  });

  test('a fragment is unique for each user', async () => {
    await guest.ok('POST', '/navigation_views', { fragment: 'drafts', is_pinned: true });
    expect((await guest.rest('POST', '/navigation_views', { fragment: 'drafts', is_pinned: true })).status).toBe(400);
    await owner.ok('POST', '/navigation_views', { fragment: 'drafts', is_pinned: true });
  });

  test('an allowed domain has a domain and allow_subdomains', async () => {
    await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: true });
    expect(await member.ok('GET', '/realm/domains')).toEqual(
      success({ domains: [{ domain: 'acme.example', allow_subdomains: true }] }),
    );
  });

  test('a user group has an id, subgroups and a deactivated flag', async () => {
    const { realm_user_groups } = await member.register({ fetch_event_types: ['realm_user_groups'] });
    for (const group of realm_user_groups) {
      expect(group).toMatchObject({ id: integer, direct_subgroup_ids: integers, deactivated: flag });
    }
    expect(realm_user_groups).not.toEqual([]);
  });
});

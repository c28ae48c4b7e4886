import { describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const bad = (msg: string) => ({ status: 400, body: { result: 'error', code: 'BAD_REQUEST', msg } });
const NOT_ALLOWED = bad('Insufficient permission');
const PALETTE = ['#76ce90', '#fae589', '#a6c7e5'];

async function create(person: Person, name: string, fields: object = {}): Promise<number> {
  return (await person.ok('POST', '/channels/create', { name, subscribers: [], ...fields })).id;
}

const named = (...names: string[]) => names.map((name) => ({ name }));

function subscribe(person: Person, subscriptions: object[], more: object = {}) {
  return person.rest('POST', '/users/me/subscriptions', { subscriptions, ...more });
}

function unsubscribe(person: Person, subscriptions: string[], more: object = {}) {
  return person.rest('DELETE', '/users/me/subscriptions', { subscriptions, ...more });
}

async function own(person: Person, parameters: object = {}): Promise<Json[]> {
  return (await person.ok('GET', '/users/me/subscriptions', { ...parameters })).subscriptions;
}

const namesOf = async (person: Person) => (await own(person)).map(({ name }) => name);

/** Creates an organization in which only the member is subscribed to "general". */
async function withSubscription() {
  const organised = await createOrganization();
  const channel = await create(organised.member, 'general', { subscribers: [organised.member.id] });
  const set = (property: string, value: unknown, stream_id = channel) =>
    organised.member.rest('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id, property, value }],
    });
  return { ...organised, channel, set };
}

describe('POST /users/me/subscriptions', () => {
  test.concurrent('subscribes the viewer, with a different color for each channel', async () => {
    const { owner, member } = await createOrganization();
    for (const name of ['a', 'b', 'c']) await create(owner, name);
    const { body } = await subscribe(member, [...named('a', 'B'), { name: 'c', color: '#ABC' }]);
    expect(body).toMatchObject({
      ...{ result: 'success', subscribed: { [member.id]: ['a', 'b', 'c'] }, already_subscribed: {} },
    });
    const subscriptions = await own(member);
    expect(subscriptions.map(({ name, color }) => [name, color])).toEqual([
      ['a', PALETTE[0]],
      ['b', PALETTE[1]],
      ['c', '#aabbcc'],
    ]);
    expect(subscriptions[0]).toMatchObject({
      ...{ is_muted: false, in_home_view: true, pin_to_top: false, subscriber_count: 1, creator_id: owner.id },
      ...{ desktop_notifications: null, audible_notifications: null, push_notifications: null },
      ...{ email_notifications: null, wildcard_mentions_notify: null },
    });
    expect(subscriptions[0]).not.toHaveProperty('subscribers');
  });

  test.concurrent('creates channels that do not exist', async () => {
    const { member, owner } = await createOrganization();
    const heard = await owner.receiving();
    const { status } = await subscribe(member, [{ name: 'new', description: 'A *new* one' }], { invite_only: false });
    expect(status).toBe(200);
    const [{ stream_id, ...channel }] = await own(member);
    expect(channel).toMatchObject({ name: 'new', description: 'A *new* one', creator_id: member.id });
    expect(await heard()).toMatchObject([
      { type: 'stream', op: 'create', streams: [{ stream_id }] },
      { type: 'subscription', op: 'peer_add', stream_ids: [stream_id], user_ids: [member.id] },
    ]);
  });

  test.concurrent('notifies the subscriber, and other users who can see the channel', async () => {
    const { member, guest, owner, channel } = await withSubscription();
    const heard = await Promise.all([member, guest, owner].map((person) => person.receiving()));
    await subscribe(member, named('general'), { principals: [guest.id], send_new_subscription_messages: false });
    const [byMember, byGuest, byOwner] = await Promise.all(heard.map((hear) => hear()));
    const peer = { type: 'subscription', op: 'peer_add', stream_ids: [channel], user_ids: [guest.id] };
    expect(byMember).toEqual([peer]);
    expect(byOwner).toEqual([peer]);
    // The guest could not see the channel before, so they also receive an event that it was created.
    expect(byGuest).toMatchObject([
      { type: 'stream', op: 'create', streams: [{ stream_id: channel }] },
      {
        type: 'subscription',
        op: 'add',
        subscriptions: [{ stream_id: channel, name: 'general', subscriber_count: 2 }],
      },
    ]);
  });

  test.concurrent('lists users who were already subscribed, without events', async () => {
    const { member, guest } = await withSubscription();
    const heard = await member.receiving();
    const { body } = await subscribe(member, named('general'), { principals: [member.id] });
    expect(body).toMatchObject({ subscribed: {}, already_subscribed: { [member.id]: ['general'] } });
    expect(await heard()).toEqual([]);
    const { body: both } = await subscribe(member, named('general'), { principals: [member.email, guest.email] });
    expect(both).toMatchObject({
      subscribed: { [guest.id]: ['general'] },
      already_subscribed: { [member.id]: ['general'] },
    });
  });

  test.concurrent('restores the former settings of a returning subscriber', async () => {
    const { member, channel, set } = await withSubscription();
    await set('is_muted', true);
    await set('color', '#123456');
    await unsubscribe(member, ['general']);
    await subscribe(member, named('general'));
    expect(await own(member)).toMatchObject([
      { stream_id: channel, is_muted: true, in_home_view: false, color: '#123456' },
    ]);
  });

  test.concurrent('refuses a private channel that the viewer cannot access, or only skips it', async () => {
    const { owner, administrator, member, moderator } = await createOrganization();
    await create(member, 'hidden', { invite_only: true, subscribers: [member.id] });
    await create(member, 'open');
    for (const person of [moderator, administrator, owner]) {
      const refused = await subscribe(person, named('open', 'hidden'));
      expect(refused).toMatchObject(bad('Unable to access channel (hidden).'));
      expect(await namesOf(person)).toEqual([]);
    }
    const { body } = await subscribe(moderator, named('open', 'hidden'), { authorization_errors_fatal: false });
    expect(body).toMatchObject({ subscribed: { [moderator.id]: ['open'] }, unauthorized: ['hidden'] });
    const { status } = await subscribe(member, named('hidden'), { principals: [moderator.id] });
    expect(status).toBe(200);
    expect(await namesOf(moderator)).toEqual(['hidden', 'open']);
  });

  test.concurrent("reports a private channel's name as taken only to users who can create one, as they wrote it", async () => {
    const { owner, member, moderator } = await createOrganization();
    await create(member, 'Hidden', { invite_only: true, subscribers: [member.id] });
    expect(await subscribe(moderator, named('hidden'))).toMatchObject(bad('Unable to access channel (hidden).'));
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const owners = realm_user_groups.find(({ name }: { name: string }) => name === 'role:owners').id;
    await owner.ok('PATCH', '/realm', { can_create_public_channel_group: { new: owners } });
    const wanted = [{ subscriptions: named('hidden') }, { subscriptions: named('nothing') }] as const;
    const [ofHidden, ofNothing] = await Promise.all(
      wanted.map(({ subscriptions }) => subscribe(moderator, subscriptions)),
    );
    expect(ofNothing?.status).toBe(400);
    expect(ofHidden?.body).toEqual(ofNothing?.body);
    const makes = ['hidden', 'nothing'].map((name) =>
      moderator.rest('POST', '/channels/create', { name, subscribers: [] }),
    );
    const [taken, free] = await Promise.all(makes);
    expect(free?.status).toBe(400);
    expect(taken?.body).toEqual(free?.body);
  });

  test.concurrent('lets users with the permission subscribe to a private channel, except guests', async () => {
    const { member, moderator, guest } = await createOrganization();
    const ids = { direct_members: [moderator.id, guest.id], direct_subgroups: [] };
    await create(member, 'hidden', { invite_only: true, can_subscribe_group: ids });
    expect((await subscribe(moderator, named('hidden'))).status).toBe(200);
    expect((await subscribe(guest, named('hidden'))).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
  });

  test.concurrent('does not let a guest subscribe to public channels, create one, or add other users', async () => {
    const { member, guest, channel } = await withSubscription();
    // A channel that the guest cannot see is treated as nonexistent, and guests cannot create channels.
    const refused = await subscribe(guest, named('new'));
    expect(refused.body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    const ofUnseen = await subscribe(guest, named('general'));
    expect([ofUnseen.status, ofUnseen.body]).toEqual([refused.status, refused.body]);
    expect(await subscribe(guest, named('general'), { authorization_errors_fatal: false })).toMatchObject({
      body: { code: 'UNAUTHORIZED_PRINCIPAL' },
    });
    await subscribe(member, named('general'), { principals: [guest.id] });
    const other = await subscribe(guest, named('general'), { principals: [member.id] });
    expect(other).toMatchObject(NOT_ALLOWED);
    expect((await own(guest)).map(({ stream_id }) => stream_id)).toEqual([channel]);
  });

  test.concurrent.for<[string, object, string]>([
    ['a blank name', { subscriptions: named(' ') }, "Channel name can't be empty."],
    [
      'a name that is too long',
      { subscriptions: named('n'.repeat(61)) },
      'Channel name too long (limit: 60 characters).',
    ],
    ['a null byte', { subscriptions: named('a\0b') }, ''],
    [
      'a colour that is none',
      { subscriptions: [{ name: 'general', color: 'red' }] },
      'color is not a valid hex color code',
    ],
    ['a user who is not there', { principals: [2_000_000_000] }, 'No such user'],
    ['an address of nobody', { principals: ['nobody@example.com'] }, 'No such user'],
    ['an object that names nothing', { subscriptions: [{}] }, ''],
    ['names that are no objects', { subscriptions: ['general'] }, ''],
    ['a good channel beside a bad one', { subscriptions: named('fine', ' ') }, "Channel name can't be empty."],
  ])('refuses %s', async ([, fields, msg]) => {
    const { owner } = await withSubscription();
    const heard = await owner.receiving();
    const { status, body } = await subscribe(owner, named('general'), { ...fields });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    if (msg !== '') expect(body.msg).toBe(msg);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('refuses users and channels of another organization', async () => {
    const [{ member, channel }, other] = await Promise.all([withSubscription(), withSubscription()]);
    const reply = await subscribe(member, named('general'), { principals: [other.owner.id] });
    expect(reply).toMatchObject(bad('No such user'));
    expect((await own(member)).map(({ stream_id }) => stream_id)).toEqual([channel]);
  });
});

describe('DELETE /users/me/subscriptions', () => {
  test.concurrent('unsubscribes the viewer, and reports what was done', async () => {
    const { member, owner, guest, channel } = await withSubscription();
    await subscribe(member, named('general'), { principals: [guest.id] });
    await create(owner, 'other');
    const heard = await Promise.all([member, owner, guest].map((person) => person.receiving()));
    const { body } = await unsubscribe(member, ['general', 'other']);
    expect(body).toMatchObject({ removed: ['general'], not_removed: ['other'] });
    const peer = { type: 'subscription', op: 'peer_remove', stream_ids: [channel], user_ids: [member.id] };
    expect(await Promise.all(heard.map((hear) => hear()))).toEqual([
      [{ type: 'subscription', op: 'remove', subscriptions: [{ stream_id: channel, name: 'general' }] }],
      [peer],
      [peer],
    ]);
    expect(await namesOf(member)).toEqual([]);
  });

  test.concurrent('hides a private channel from users who leave it', async () => {
    const { member, moderator } = await createOrganization();
    const id = await create(member, 'hidden', { invite_only: true, subscribers: [member.id, moderator.id] });
    const heard = await moderator.receiving();
    await unsubscribe(moderator, ['hidden']);
    expect((await heard()).map(({ type, op }) => `${type} ${op}`)).toEqual(['subscription remove', 'stream delete']);
    expect(await moderator.rest('GET', `/streams/${id}`)).toMatchObject(bad('Invalid channel ID'));
  });

  test.concurrent('lets administrators, and users who administer every given channel, remove others', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization();
    const everybody = [owner, administrator, moderator, member, guest].map(({ id }) => id);
    await create(member, 'mine', { subscribers: everybody });
    await create(owner, 'theirs', { subscribers: everybody });
    const remove = (person: Person, channels: string[], who: Person) =>
      unsubscribe(person, channels, { principals: [who.id] });
    for (const person of [moderator, guest]) expect(await remove(person, ['mine'], owner)).toMatchObject(NOT_ALLOWED);
    expect(await remove(member, ['mine', 'theirs'], owner)).toMatchObject(NOT_ALLOWED);
    expect(await namesOf(owner)).toEqual(['mine', 'theirs']);
    expect((await remove(member, ['mine'], owner)).body.removed).toEqual(['mine']);
    expect((await remove(administrator, ['mine', 'theirs'], guest)).body.removed).toEqual(['mine', 'theirs']);
    const give = { can_remove_subscribers_group: { new: { direct_members: [moderator.id], direct_subgroups: [] } } };
    const [{ stream_id }] = await own(moderator);
    await member.ok('PATCH', `/streams/${stream_id}`, give);
    expect((await remove(moderator, ['mine'], administrator)).body.removed).toEqual(['mine']);
  });

  test.concurrent('lets users remove their own bots', async () => {
    const { owner, bot, member } = await createOrganization();
    await create(member, 'general', { subscribers: [owner.id, bot.id] });
    const { body } = await unsubscribe(owner, ['general'], { principals: [bot.id] });
    expect(body.removed).toEqual(['general']);
  });

  test.concurrent('refuses unknown and invisible channels', async () => {
    const { member, moderator } = await createOrganization();
    await create(member, 'hidden', { invite_only: true, subscribers: [member.id] });
    for (const name of ['nothing', 'hidden']) {
      expect(await unsubscribe(moderator, [name])).toMatchObject(bad(`Channel(s) (${name}) do not exist`));
    }
  });
});

describe('PATCH /users/me/subscriptions', () => {
  test.concurrent('adds and removes in one request', async () => {
    const { member, owner } = await withSubscription();
    await create(owner, 'other');
    const parameters = { add: [{ name: 'other', color: '#ff0000' }], delete: ['general'] };
    expect(await member.ok('PATCH', '/users/me/subscriptions', parameters)).toMatchObject({
      ...{ subscribed: { [member.id]: ['other'] }, already_subscribed: {}, removed: ['general'], not_removed: [] },
    });
    expect(await own(member)).toMatchObject([{ name: 'other', color: '#ff0000' }]);
  });

  test.concurrent('does everything or nothing, and requires at least one change', async () => {
    const { member } = await withSubscription();
    const nothing = bad('Nothing to do. Specify at least one of "add" or "delete".');
    expect(await member.rest('PATCH', '/users/me/subscriptions')).toMatchObject(nothing);
    expect(await member.rest('PATCH', '/users/me/subscriptions', { add: [], delete: [] })).toMatchObject(nothing);
    const half = await member.rest('PATCH', '/users/me/subscriptions', { add: named('new'), delete: ['nothing'] });
    expect(half).toMatchObject(bad('Channel(s) (nothing) do not exist'));
    expect(await namesOf(member)).toEqual(['general']);
  });
});

describe('GET /users/me/subscriptions', () => {
  test.concurrent('contains the other subscribers on request', async () => {
    const { member, owner, guest } = await withSubscription();
    await subscribe(member, named('general'), { principals: [owner.id, guest.id] });
    const others = [owner.id, guest.id].sort((a, b) => a - b);
    for (const include_subscribers of ['true', 'partial']) {
      expect((await own(member, { include_subscribers }))[0].subscribers).toEqual(others);
    }
    expect((await own(member, { include_subscribers: 'false' }))[0]).not.toHaveProperty('subscribers');
    const { body } = await member.rest('GET', '/users/me/subscriptions', { include_subscribers: 'some' });
    expect(body).toMatchObject({ code: 'BAD_REQUEST', msg: 'Invalid include_subscribers' });
  });

  test.concurrent('keeps subscriptions when a channel is archived and restored', async () => {
    const { member, channel } = await withSubscription();
    await member.ok('DELETE', `/streams/${channel}`);
    await member.ok('PATCH', `/streams/${channel}`, { is_archived: false });
    expect(await namesOf(member)).toEqual(['general']);
  });
});

describe('POST /users/me/subscriptions/properties', () => {
  const BOOLEANS = [
    ...['pin_to_top', 'desktop_notifications', 'audible_notifications', 'push_notifications'],
    ...['email_notifications', 'wildcard_mentions_notify'],
  ];

  test.concurrent.for(BOOLEANS.map((name) => [name]))('sets %s, notifies only the user', async ([property = '']) => {
    const { member, owner, channel, set } = await withSubscription();
    await subscribe(owner, named('general'));
    const heard = await Promise.all([member.receiving(), owner.receiving()]);
    expect((await set(property, true)).status).toBe(200);
    expect((await own(member))[0][property]).toBe(true);
    const event = { type: 'subscription', op: 'update', stream_id: channel, property, value: true };
    expect(await Promise.all(heard.map((hear) => hear()))).toEqual([[event], []]);
  });

  test.concurrent('accepts muting by both names, sends events for both, and keeps the pin', async () => {
    const { member, channel, set } = await withSubscription();
    const heard = await member.receiving();
    await set('is_muted', true);
    expect((await own(member))[0]).toMatchObject({ is_muted: true, in_home_view: false, pin_to_top: false });
    await set('in_home_view', true);
    expect((await own(member))[0]).toMatchObject({ is_muted: false, in_home_view: true });
    const update = { type: 'subscription', op: 'update', stream_id: channel };
    const events = await heard();
    expect(events).toHaveLength(4);
    for (const [i, muted] of [true, false].entries()) {
      expect(events.slice(2 * i, 2 * i + 2)).toEqual(
        expect.arrayContaining([
          { ...update, property: 'is_muted', value: muted },
          { ...update, property: 'in_home_view', value: !muted },
        ]),
      );
    }
  });

  test.concurrent('stores a short color in its long form', async () => {
    const { member, set } = await withSubscription();
    const heard = await member.receiving();
    await set('color', '#F0a');
    expect((await own(member))[0].color).toBe('#ff00aa');
    expect(await heard()).toMatchObject([{ property: 'color', value: '#ff00aa' }]);
  });

  test.concurrent('sends no events for unchanged values', async () => {
    const { member, set } = await withSubscription();
    const heard = await member.receiving();
    await set('is_muted', false);
    await set('in_home_view', true);
    await set('pin_to_top', false);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('applies several changes in order, or none if one is refused', async () => {
    const { member, channel } = await withSubscription();
    const entry = (property: string, value: unknown, stream_id = channel) => ({ stream_id, property, value });
    const change = (...subscription_data: object[]) =>
      member.rest('POST', '/users/me/subscriptions/properties', { subscription_data });
    expect((await change(entry('pin_to_top', true), entry('pin_to_top', false), entry('is_muted', true))).status).toBe(
      200,
    );
    expect((await own(member))[0]).toMatchObject({ pin_to_top: false, is_muted: true });
    const refused = await change(entry('is_muted', false), entry('pin_to_top', true, 2_000_000_000));
    expect(refused).toMatchObject(bad('Invalid channel ID'));
    expect((await own(member))[0].is_muted).toBe(true);
  });

  test.concurrent.for<[string, string, unknown, string]>([
    ['an unknown property', 'role', true, 'Unknown subscription property: role'],
    ["an object's own property", '__proto__', true, 'Unknown subscription property: __proto__'],
    ['a text for a boolean', 'is_muted', 'true', 'is_muted is not a boolean'],
    ['a boolean for a colour', 'color', true, 'color is not a string'],
    ['a colour that is none', 'color', '#12345', 'color is not a valid hex color code'],
    ['a number', 'pin_to_top', 1, ''],
    ['null', 'push_notifications', null, ''],
  ])('refuses %s', async ([, property, value, msg]) => {
    const { member, set } = await withSubscription();
    const heard = await member.receiving();
    const { status, body } = await set(property, value);
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    if (msg !== '') expect(body.msg).toBe(msg);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('refuses unknown and invisible channels, and channels without a subscription', async () => {
    const [{ owner, member, guest, channel }, other] = await Promise.all([withSubscription(), withSubscription()]);
    const hidden = await create(member, 'hidden', { invite_only: true, subscribers: [member.id] });
    const pin = (person: Person, stream_id: number) =>
      person.rest('POST', '/users/me/subscriptions/properties', {
        subscription_data: [{ stream_id, property: 'pin_to_top', value: true }],
      });
    for (const id of [other.channel, hidden, 2 ** 31, 0])
      expect(await pin(owner, id)).toMatchObject(bad('Invalid channel ID'));
    expect(await pin(guest, channel)).toMatchObject(bad('Invalid channel ID'));
    expect(await pin(owner, channel)).toMatchObject(bad(`Not subscribed to channel ID ${channel}`));
  });

  test.concurrent('requires its parameter, and the keys of each entry', async () => {
    const { member } = await withSubscription();
    const path = '/users/me/subscriptions/properties';
    expect((await member.rest('POST', path)).body).toMatchObject({
      ...{ code: 'REQUEST_VARIABLE_MISSING', var_name: 'subscription_data' },
    });
    const { body } = await member.rest('POST', path, { subscription_data: [{ stream_id: 1 }] });
    expect(body.code).toBe('BAD_REQUEST');
  });
});

describe('/users/me/subscriptions/{stream_id}', () => {
  test.concurrent.for([['POST'], ['PATCH']] as const)(
    '%s sets one property, with the rules for several',
    async ([method]) => {
      const { member, owner, channel } = await withSubscription();
      const path = `/users/me/subscriptions/${channel}`;
      await member.ok(method, path, { property: 'pin_to_top', value: true });
      await member.ok(method, path, { property: 'color', value: '"#00ff00"' });
      expect((await own(member))[0]).toMatchObject({ pin_to_top: true, color: '#00ff00' });
      const wrong = await member.rest(method, path, { property: 'color', value: true });
      expect(wrong).toMatchObject(bad('color is not a string'));
      const absent = await owner.rest(method, path, { property: 'is_muted', value: true });
      expect(absent).toMatchObject(bad(`Not subscribed to channel ID ${channel}`));
      for (const name of ['property', 'value']) {
        const { body } = await member.rest(method, path, { property: 'color', value: '"#00ff00"', [name]: undefined });
        expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', name]);
      }
    },
  );
});

describe('GET /users/{user_id}/subscriptions/{stream_id}', () => {
  test.concurrent('reports whether a user is subscribed to a channel that the viewer can see', async () => {
    const { member, owner, guest, channel } = await withSubscription();
    const ask = (viewer: Person, userId: number, channelId = channel) =>
      viewer.rest('GET', `/users/${userId}/subscriptions/${channelId}`);
    expect((await ask(owner, member.id)).body.is_subscribed).toBe(true);
    expect((await ask(owner, guest.id)).body.is_subscribed).toBe(false);
    expect(await ask(guest, member.id)).toMatchObject(bad('Invalid channel ID'));
    expect(await ask(owner, member.id, 2_000_000_000)).toMatchObject(bad('Invalid channel ID'));
    expect(await ask(owner, 2_000_000_000)).toMatchObject(bad('No such user'));
  });
});

describe('Channel.subscribers', () => {
  const LIST = `query ($id: ID!, $text: String, $role: UserRole, $first: Int, $after: String) { node(id: $id) {
    ... on Channel { subscriberCount subscribers(
      nameContains: $text, role: $role, first: $first, after: $after, orderBy: { field: FULL_NAME }
    ) { totalCount pageInfo { hasNextPage endCursor } nodes { fullName } } } } }`;

  test.concurrent('can be filtered by name and role, in pages', async () => {
    const people = await createOrganization({ ada: 'member', zoe: 'member', gone: 'member' });
    const { owner, moderator, guest, ada, zoe, gone } = people as typeof people & Record<string, Person>;
    for (const [person, full_name] of [
      ...([
        [ada, 'Ada Byron'],
        [zoe, 'Zoë Byron-Bramley'],
        [gone, 'Ed Byron'],
      ] as const),
      ...([
        [guest, 'Guy Byron'],
        [moderator, 'Mo Lind'],
      ] as const),
    ] as const) {
      await person?.ok('PATCH', '/settings', { full_name });
    }
    const subscribers = [owner, moderator, guest, ada, zoe, gone].map((person) => person?.id);
    const { id } = await owner.ok('POST', '/channels/create', { name: 'general', subscribers });
    await owner.ok('DELETE', `/users/${gone?.id}`);
    const list = async (variables: object) => {
      const { node } = await owner.query(LIST, { id: globalId('Channel', id), ...variables });
      const { totalCount, nodes, pageInfo } = node.subscribers;
      expect(node.subscriberCount).toBe(5);
      return { totalCount, pageInfo, names: nodes.map(({ fullName }: Json) => fullName) };
    };
    expect(await list({ text: 'byron' })).toMatchObject({
      ...{ totalCount: 3, names: ['Ada Byron', 'Guy Byron', 'Zoë Byron-Bramley'] },
    });
    expect(await list({ text: 'bram zoe' })).toMatchObject({ totalCount: 1, names: ['Zoë Byron-Bramley'] });
    expect(await list({ text: 'byron', role: 'MEMBER' })).toMatchObject({ totalCount: 2 });
    expect(await list({ role: 'MODERATOR' })).toMatchObject({ totalCount: 1, names: ['Mo Lind'] });
    expect(await list({ role: 'ADMINISTRATOR' })).toMatchObject({ totalCount: 0, names: [] });
    expect((await list({})).totalCount).toBe(5);
    const first = await list({ text: 'byron', first: 2 });
    expect(first).toMatchObject({ totalCount: 3, names: ['Ada Byron', 'Guy Byron'], pageInfo: { hasNextPage: true } });
    expect(await list({ text: 'byron', first: 2, after: first.pageInfo.endCursor })).toMatchObject({
      ...{ totalCount: 3, names: ['Zoë Byron-Bramley'], pageInfo: { hasNextPage: false } },
    });
    const { data, errors } = await owner.graphql(LIST, { id: globalId('Channel', id), text: 'a\0' });
    expect(data.node.subscribers).toBeNull();
    expect(errors).toHaveLength(1);
  });
});

describe('GET /users/{user_id}/channels', () => {
  test.concurrent("lists a user's channels that the viewer can see, in both APIs", async () => {
    const { owner, administrator, member, guest, bot, signUp } = await createOrganization();
    const ids: Record<string, number> = {};
    for (const [name, more] of [
      ['open', {}],
      ['closed', { invite_only: true }],
      ['shared', { invite_only: true, subscribers: [member.id, guest.id] }],
      ['old', {}],
      ['left', {}],
    ] as const) {
      const channel = { name, subscribers: [member.id], ...more };
      ids[name] = (await member.ok('POST', '/channels/create', channel)).id;
    }
    await owner.ok('DELETE', `/streams/${ids['old']}`);
    await member.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['left'] });
    const outsider = await signUp('Outsider');
    const listed = async (viewer: Person, user: Person) => {
      const { subscribed_channel_ids } = await viewer.ok('GET', `/users/${user.id}/channels`);
      const query = `{ user(by: { id: "${globalId('User', user.id)}" }) { channels { edges { node { databaseId } } } } }`;
      const { edges } = (await viewer.query(query)).user.channels;
      expect(edges.map(({ node }: Json) => node.databaseId)).toEqual(subscribed_channel_ids);
      return subscribed_channel_ids.map((id: number) => Object.keys(ids).find((name) => ids[name] === id));
    };
    expect(await listed(member, member)).toEqual(['open', 'closed', 'shared']);
    expect(await listed(administrator, member)).toEqual(['open', 'closed', 'shared']);
    expect(await listed(outsider, member)).toEqual(['open']);
    expect(await listed(bot, member)).toEqual(['open']);
    expect(await listed(guest, member)).toEqual(['shared']);
    expect(await listed(member, guest)).toEqual(['shared']);
    expect(await listed(outsider, guest)).toEqual([]);
    expect(await listed(member, bot)).toEqual([]);
    // Deactivated users have no subscriptions, and the list of subscribers omits them too.
    await owner.ok('DELETE', `/users/${member.id}`);
    expect(await listed(owner, member)).toEqual([]);
    const { owner: stranger } = await createOrganization();
    for (const nobody of [stranger.id, 2_000_000_000]) {
      expect(await owner.rest('GET', `/users/${nobody}/channels`)).toMatchObject(bad('No such user'));
    }
    await expectIgnoredParameters(owner, 'GET', async () => ({ path: `/users/${guest.id}/channels` }), 'user_id');
  });

  test.concurrent('can be paginated over GraphQL, from either end', async () => {
    const { owner, member } = await createOrganization();
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await owner.ok('POST', '/channels/create', { name, subscribers: [member.id] });
    const page = async (args: string) => {
      const query = `{ user(by: { id: "${globalId('User', member.id)}" }) { channels(${args}) { edges { cursor node { name } }
        pageInfo { hasNextPage hasPreviousPage endCursor startCursor } } } }`;
      const { edges, pageInfo } = (await owner.query(query)).user.channels;
      return { names: edges.map(({ node }: Json) => node.name).join(''), ...pageInfo };
    };
    const first = await page('first: 2');
    expect(first).toMatchObject({ names: 'ab', hasNextPage: true, hasPreviousPage: false });
    const second = await page(`first: 2, after: "${first.endCursor}"`);
    expect(second).toMatchObject({ names: 'cd', hasNextPage: true, hasPreviousPage: true });
    expect(await page(`first: 2, after: "${second.endCursor}"`)).toMatchObject({ names: 'e', hasNextPage: false });
    expect(await page(`last: 3, before: "${second.endCursor}"`)).toMatchObject({
      names: 'abc',
      hasPreviousPage: false,
    });
    expect(await page('last: 2')).toMatchObject({ names: 'de', hasPreviousPage: true });
  });
});

test.concurrent('every subscriptions endpoint names the parameters that it ignored', async () => {
  const { member, channel } = await withSubscription();
  const path = '/users/me/subscriptions';
  const subscription_data = [{ stream_id: channel, property: 'is_muted', value: true }];
  const one = { property: 'is_muted', value: true };
  await expectIgnoredParameters(member, 'GET', async () => ({ path }));
  await expectIgnoredParameters(member, 'POST', async () => ({
    path,
    parameters: { subscriptions: named('general') },
  }));
  await expectIgnoredParameters(member, 'PATCH', async () => ({ path, parameters: { add: named('general') } }));
  await expectIgnoredParameters(member, 'POST', async () => ({
    path: `${path}/properties`,
    parameters: { subscription_data },
  }));
  for (const method of ['POST', 'PATCH'] as const) {
    const call = async () => ({ path: `${path}/${channel}`, parameters: one });
    await expectIgnoredParameters(member, method, call, 'stream_id');
  }
  const own = async () => ({ path: `/users/${member.id}/subscriptions/${channel}` });
  await expectIgnoredParameters(member, 'GET', own, 'user_id');
  await expectIgnoredParameters(member, 'DELETE', async () => ({ path, parameters: { subscriptions: ['general'] } }));
});

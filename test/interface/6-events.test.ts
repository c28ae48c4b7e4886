import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import { multipart } from '../helpers/multipart.ts';
import type { Person } from '../helpers/person.ts';
import { plain } from '../helpers/pictures.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';
import { integer, orNull, SUBSCRIPTION, text, texts } from '../helpers/shapes.ts';
import { channelOf } from '../helpers/talk.ts';

const shared = await createOrganization();
const { owner, guest, anonymous } = shared;
for (const right of ['can_create_users', 'can_change_user_emails']) {
  await runCommand(serverOf().dataDir, 'user grant', { org: shared.organization.subdomain, user: owner.email, right });
}

let made = 0;
/** Creates a user that no other test uses. */
const newPerson = () => shared.signUp(`somebody ${++made}`);
/** Returns the events that are about one user. */
const about = (wanted: number, events: readonly Json[]) =>
  events.filter(({ person, user_ids }) => person?.user_id === wanted || user_ids?.includes(wanted));

/**
 * Creates a member and runs `act` with this member. @returns The events about the member that the guest or the member receives.
 */
async function heardOf(act: (member: Person) => Promise<unknown>, type: string, by: 'guest' | 'member' = 'guest') {
  const member = await newPerson();
  const heard = await (by === 'guest' ? guest : member).receiving({
    event_types: [type],
    client_capabilities: { notification_settings_null: true },
  });
  await act(member);
  const events = await heard();
  return { member, events: by === 'guest' ? about(member.id, events) : events };
}

describe.concurrent('6 Events', () => {
  test('every event has an increasing integer id and a type', async () => {
    const member = await newPerson();
    const types = ['alert_words', 'saved_snippets', 'user_status'];
    const { queue_id, last_event_id } = await member.register({ event_types: types, fetch_event_types: [] });
    await member.ok('POST', '/users/me/alert_words', { alert_words: ['ship'] });
    await member.ok('POST', '/saved_snippets', { title: 't', content: 'c' });
    await member.ok('POST', '/users/me/status', { status_text: 'here' });
    const events = await member.poll(queue_id, last_event_id);
    expect(events.map(({ id, type }) => [id, type])).toEqual(types.map((type) => [integer, type]));
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  });

  test('only events with a sub-operation contain op', async () => {
    const member = await newPerson();
    const heard = await member.receiving({ event_types: ['saved_snippets', 'alert_words'] });
    await member.ok('POST', '/saved_snippets', { title: 't', content: 'c' });
    await member.ok('POST', '/users/me/alert_words', { alert_words: ['ship'] });
    expect((await heard()).map(({ type, op }) => [type, op])).toEqual([
      ['saved_snippets', 'add'],
      ['alert_words', undefined],
    ]);
  });

  test('a heartbeat is sent if there is no event', async () => {
    const { queue_id, last_event_id } = await guest.register({ event_types: [], fetch_event_types: [] });
    expect(await guest.poll(queue_id, last_event_id)).toEqual([{ id: integer, type: 'heartbeat' }]);
  });
});

describe.concurrent('6.1 alert_words', () => {
  test("contains all words, for the user's clients only", async () => {
    const member = await newPerson();
    const [own, others] = await Promise.all(
      [member, owner].map((person) => person.receiving({ event_types: ['alert_words'] })),
    );
    await member.ok('POST', '/users/me/alert_words', { alert_words: ['ship', 'crew'] });
    const events = (await own?.()) ?? [];
    expect(events).toEqual([{ type: 'alert_words', alert_words: texts }]);
    expect(events[0].alert_words.toSorted()).toEqual(['crew', 'ship']);
    expect(await others?.()).toEqual([]);
  });
});

describe.concurrent('6.2 user_settings, op "update"', () => {
  test.for([
    ['a boolean', 'enter_sends', true],
    ['an integer', 'desktop_icon_count_display', 2],
    ['a string', 'notification_sound', 'ding'],
  ] as const)('contains %s', async ([, property, value]) => {
    const { events } = await heardOf(
      (member) => member.ok('PATCH', '/settings', { [property]: value }),
      'user_settings',
      'member',
    );
    expect(events).toEqual([{ type: 'user_settings', op: 'update', property, value }]);
  });

  test('contains language_name for default_language', async () => {
    const change = { default_language: 'de' };
    const { events } = await heardOf((member) => member.ok('PATCH', '/settings', change), 'user_settings', 'member');
    expect(events).toEqual([
      { type: 'user_settings', op: 'update', property: 'default_language', value: 'de', language_name: 'German' },
    ]);
  });

  test("is sent only to the user's own clients", async () => {
    const { events } = await heardOf(
      (member) => member.ok('PATCH', '/settings', { enter_sends: true }),
      'user_settings',
    );
    expect(events).toEqual([]);
  });

  test.for(['update_display_settings', 'update_global_notifications'])('%s does not exist any more', async (type) => {
    const change = { twenty_four_hour_time: true, enable_desktop_notifications: false };
    const { events } = await heardOf((member) => member.ok('PATCH', '/settings', change), type, 'member');
    expect(events).toEqual([]);
  });
});

/** Returns the multipart body of an image upload. */
const upload = async () => ({ body: multipart([['file', await plain('red').png().toBuffer()]]) });

describe.concurrent('6.3 realm_user, op "update"', () => {
  /** Runs an action and returns the `person` objects of the guest's events. */
  async function persons(act: (member: Person) => Promise<unknown>) {
    const { member, events } = await heardOf(act, 'realm_user');
    for (const { type, op } of events) expect([type, op]).toEqual(['realm_user', 'update']);
    return { member, told: events.map(({ person }) => person) };
  }

  test('full name change', async () => {
    const { told, member } = await persons((member) => owner.ok('PATCH', `/users/${member.id}`, { full_name: 'Ann' }));
    expect(told).toEqual([{ user_id: member.id, full_name: 'Ann' }]);
  });

  test('avatar change: uploaded', async () => {
    const { told, member } = await persons(async (member) => member.ok('POST', '/users/me/avatar', {}, await upload()));
    expect(told).toEqual([
      {
        ...{ user_id: member.id, avatar_url: text, avatar_source: 'U', avatar_url_medium: text },
        avatar_version: integer,
      },
    ]);
  });

  test('avatar change: removed', async () => {
    const { told, member } = await persons(async (member) => {
      await member.ok('POST', '/users/me/avatar', {}, await upload());
      await member.ok('DELETE', '/users/me/avatar');
    });
    expect(told.at(-1)).toEqual({
      ...{ user_id: member.id, avatar_url: orNull(text), avatar_source: expect.toBeOneOf(['G', 'J']) },
      ...{ avatar_url_medium: orNull(text), avatar_version: integer },
    });
    expect(told.at(-1).avatar_version).toBeGreaterThan(told[0].avatar_version);
  });

  test('time zone change', async () => {
    const { told, member } = await persons((member) => member.ok('PATCH', '/settings', { timezone: 'Asia/Tokyo' }));
    expect(told).toEqual([{ user_id: member.id, email: member.email, timezone: 'Asia/Tokyo' }]);
  });

  test('bot owner change', async () => {
    const { user_id } = await owner.ok('POST', '/bots', { full_name: 'Robot', short_name: 'robot' });
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    await owner.ok('PATCH', `/bots/${user_id}`, { bot_owner_id: shared.member.id });
    const person = { user_id, bot_owner_id: shared.member.id };
    expect(about(user_id, await heard())).toEqual([{ type: 'realm_user', op: 'update', person }]);
  });

  test('role change', async () => {
    const { told, member } = await persons((member) => owner.ok('PATCH', `/users/${member.id}`, { role: 300 }));
    expect(told).toEqual([{ user_id: member.id, role: 300 }]);
  });

  test('delivery email visibility change, which also changes the API email', async () => {
    const { told, member } = await persons((member) =>
      member.ok('PATCH', '/settings', { email_address_visibility: 4 }),
    );
    expect(told).toContainEqual({ user_id: member.id, delivery_email: null });
    expect(told).toContainEqual({ user_id: member.id, new_email: expect.not.stringMatching(member.email) });
    for (const person of told) expect(Object.keys(person)).not.toEqual(['user_id']);
  });

  test('delivery email change', async () => {
    const { told, member } = await persons((member) =>
      owner.ok('PATCH', `/users/${member.id}`, { new_email: 'ann@new.example' }),
    );
    expect(told).toContainEqual({ user_id: member.id, delivery_email: 'ann@new.example' });
  });

  test.for([
    ['a text', 1, 'captain', { value: 'captain', rendered_value: '<p>captain</p>' }],
    ['a link', 5, 'https://ships.example', { value: 'https://ships.example' }],
    ['a removed value', 1, null, { value: null }],
  ] as const)('custom profile field change: %s', async ([, field_type, value, shown]) => {
    let id = 0;
    const { told, member } = await persons(async (member) => {
      ({ id } = await owner.ok('POST', '/realm/profile_fields', { field_type, name: `Rank ${++made}` }));
      if (value === null) await member.ok('PATCH', '/users/me/profile_data', { data: [{ id, value: 'before' }] });
      await member.ok('PATCH', '/users/me/profile_data', { data: [{ id, value }] });
    });
    expect(told.at(-1)).toEqual({ user_id: member.id, custom_profile_field: { id, ...shown } });
  });

  test('deactivation', async () => {
    const { told, member } = await persons((member) => owner.ok('DELETE', `/users/${member.id}`));
    expect(told).toEqual([{ user_id: member.id, is_active: false }]);
  });

  test('deactivation sends no group events: clients remove the user from all groups', async () => {
    const { events } = await heardOf((member) => owner.ok('DELETE', `/users/${member.id}`), 'user_group');
    expect(events).toEqual([]);
  });

  test('reactivation', async () => {
    const { told, member } = await persons(async (member) => {
      await owner.ok('DELETE', `/users/${member.id}`);
      await owner.ok('POST', `/users/${member.id}/reactivate`);
    });
    expect(told.at(-1)).toEqual({ user_id: member.id, is_active: true });
  });

  test("stub user's first login and its date", async () => {
    const account = { email: 'ada@new.example', password: 'correct horse battery' };
    const { user_id } = await owner.ok('POST', '/users', { ...account, full_name: 'Ada' });
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    await anonymous.ok('POST', '/fetch_api_key', { username: account.email, password: account.password });
    expect(about(user_id, await heard()).map(({ person }) => person)).toEqual([
      { user_id, is_imported_stub: false },
      { user_id, date_joined: text },
    ]);
  });

  test('users of other organizations receive no event', async () => {
    const other = await createOrganization();
    const heard = await other.owner.receiving();
    await persons((member) => owner.ok('PATCH', `/users/${member.id}`, { full_name: 'Ann' }));
    expect(await heard()).toEqual([]);
  });
});

describe.concurrent('6.4 subscription, op "add"', () => {
  test('contains an array of subscription objects', async () => {
    const { events } = await heardOf((member) => channelOf(owner, 'general', [member]), 'subscription', 'member');
    expect(events.filter(({ op }) => op === 'add')).toEqual([
      {
        ...{ type: 'subscription', op: 'add' },
        subscriptions: [expect.objectContaining({ ...SUBSCRIPTION, name: 'general' })],
      },
    ]);
  });
});

describe.concurrent('6.5 Events tied to operations', () => {
  test('POST /drafts: drafts events', async () => {
    const note = { type: '', to: [], topic: '', content: 'note' };
    const { events } = await heardOf((member) => member.ok('POST', '/drafts', { drafts: [note] }), 'drafts', 'member');
    expect(events).toMatchObject([{ type: 'drafts' }]);
  });

  test.for(['is_muted', 'in_home_view'])('properties, on %s: two subscription update events', async (property) => {
    const member = await newPerson();
    const stream_id = await channelOf(owner, `for ${property}`, [member]);
    const heard = await member.receiving({ event_types: ['subscription'] });
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id, property, value: property === 'is_muted' }],
    });
    const told = (await heard())
      .filter((event) => event.stream_id === stream_id)
      .map(({ op, property }) => [op, property]);
    expect(told.toSorted()).toEqual([
      ['update', 'in_home_view'],
      ['update', 'is_muted'],
    ]);
  });

  test('DELETE /users/{user_id}: a realm_user event with is_active=false', async () => {
    const { events, member } = await heardOf((member) => owner.ok('DELETE', `/users/${member.id}`), 'realm_user');
    expect(events).toMatchObject([{ op: 'update', person: { user_id: member.id, is_active: false } }]);
  });
});

import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const FIELDS = '/realm/profile_fields';
const OWN = '/users/me/profile_data';
const FLAGS = { r: { text: 'Red', order: '1' }, b: { text: 'Blue', order: '2' } };
const TYPES = {
  ship: { field_type: 1, name: 'Ship' },
  about: { field_type: 2, name: 'About' },
  flag: { field_type: 3, name: 'Flag', field_data: FLAGS },
  born: { field_type: 4, name: 'Born' },
  home: { field_type: 5, name: 'Home' },
  mates: { field_type: 6, name: 'Mates' },
  log: { field_type: 7, name: 'Log', field_data: { subtype: 'custom', url_pattern: 'https://e.example/%(username)s' } },
  pronouns: { field_type: 8, name: 'Pronouns' },
  rank: { field_type: 1, name: 'Rank', editable_by_user: false, required: true },
} as const;
type Field = keyof typeof TYPES;

async function crew() {
  const made = await createOrganization();
  const ids = {} as Record<Field, number>;
  for (const [name, field] of Object.entries(TYPES)) {
    ids[name as Field] = (await made.owner.ok('POST', FIELDS, { ...field })).id;
  }
  const entries = (values: Partial<Record<Field, unknown>>) =>
    Object.entries(values).map(([name, value]) => ({ id: ids[name as Field], value }));
  return {
    ...made,
    ids,
    entries,
    set: (person: Person, values: Partial<Record<Field, unknown>>) =>
      person.rest('PATCH', OWN, { data: entries(values) }),
    /** Returns the profile data of a user that `reader` can see, by the names of the fields. */
    profileOf: async (person: Person, reader = made.guest): Promise<Json> => {
      const { user } = await reader.ok('GET', `/users/${person.id}`, { include_custom_profile_fields: true });
      const names = Object.fromEntries(Object.entries(ids).map(([name, id]) => [id, name]));
      return Object.fromEntries(Object.entries(user.profile_data).map(([id, value]) => [names[id], value]));
    },
  };
}

const changed = (userId: number, field: object) => ({
  type: 'realm_user',
  op: 'update',
  person: { user_id: userId, custom_profile_field: field },
});

describe('PATCH and DELETE /users/me/profile_data', () => {
  test.concurrent('accept a value of each type, and notify all users of each changed field', async () => {
    const { member, guest, owner, ids, set, profileOf } = await crew();
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    const values = {
      ...{ ship: 'The *Argo*', about: 'Two\n\nparagraphs', flag: 'b', born: '2000-02-29' },
      ...{ home: 'https://example.com/~member?a=b#c', mates: [owner.id, guest.id, owner.id], log: 'argo' },
      pronouns: 'they/them',
    };
    expect((await set(member, values)).body).toMatchObject({ result: 'success' });
    const expected = {
      ...{ flag: { value: 'b' }, born: { value: '2000-02-29' }, home: { value: values.home } },
      ...{ log: { value: 'argo' }, pronouns: { value: 'they/them' } },
      ship: { value: 'The *Argo*', rendered_value: '<p>The <em>Argo</em></p>' },
      about: { value: 'Two\n\nparagraphs', rendered_value: '<p>Two</p>\n<p>paragraphs</p>' },
      mates: { value: `[${owner.id},${guest.id}]` },
    };
    expect(await profileOf(member)).toEqual(expected);
    // Events contain only the fields that have changed.
    await set(member, { ...values, ship: 'The Beagle', born: '', log: null });
    await member.ok('DELETE', OWN, { data: [ids.mates, ids.mates, ids.log] });
    const event = (field: Field, value: object) => changed(member.id, { id: ids[field], ...value });
    expect(await heard()).toEqual([
      ...Object.keys(values).map((field) => event(field as Field, expected[field as keyof typeof expected])),
      event('ship', { value: 'The Beagle', rendered_value: '<p>The Beagle</p>' }),
      event('born', { value: null }),
      event('log', { value: null }),
      event('mates', { value: null }),
    ]);
    expect(Object.keys(await profileOf(member)).sort()).toEqual(['about', 'flag', 'home', 'pronouns', 'ship']);
  });

  test.concurrent('store the last of two values for one field, and refuse the whole request for one invalid value', async () => {
    const { member, guest, ids, entries, profileOf } = await crew();
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    const data = [...entries({ ship: 'one' }), ...entries({ ship: 'two' })];
    await member.ok('PATCH', OWN, { data });
    const { body } = await member.rest('PATCH', OWN, { data: entries({ ship: 'three', born: 'soon' }) });
    expect([body.code, body.msg]).toEqual(['BAD_REQUEST', 'Born is not a date']);
    expect(await profileOf(member)).toEqual({ ship: { value: 'two', rendered_value: '<p>two</p>' } });
    const value = { value: 'two', rendered_value: '<p>two</p>' };
    expect(await heard()).toEqual([changed(member.id, { id: ids.ship, ...value })]);
    await member.ok('PATCH', OWN, { data: [] });
    await member.ok('DELETE', OWN, { data: [] });
  });

  test.concurrent('refuse values that a field does not accept', async () => {
    const { member, bot, owner, signUp, set, profileOf } = await crew();
    const others = await createOrganization();
    const gone = await signUp('Gone');
    await owner.ok('DELETE', `/users/${gone.id}`);
    const cases: readonly (readonly [Field, unknown, string])[] = [
      ['ship', 'x'.repeat(51), 'Ship is too long (limit: 50 characters)'],
      ['ship', 5, 'Ship is not a string'],
      ['ship', [owner.id], 'Ship is not a string'],
      ['ship', 'a\0b', 'Ship must not contain null bytes'],
      ['about', '🚢'.repeat(501), 'About is too long (limit: 500 characters)'],
      ['about', true, 'About is not a string'],
      ['log', 'x'.repeat(51), 'Log is too long (limit: 50 characters)'],
      ['log', {}, 'Log is not a string'],
      ['pronouns', 'she\u202E', 'Invalid character in Pronouns, at position 4.'],
      ['pronouns', 'x'.repeat(51), 'Pronouns is too long (limit: 50 characters)'],
      ['flag', 'Red', "'Red' is not a valid choice for 'Flag'."],
      ['flag', '__proto__', "'__proto__' is not a valid choice for 'Flag'."],
      ...['soon', '2000-2-3', '2001-02-29', '2000-13-01', '0000-01-01', '2000-01-01T00:00:00Z'].map(
        (value) => ['born', value, 'Born is not a date'] as const,
      ),
      ...[
        'here',
        'example.com',
        'javascript:alert(1)',
        'mailto:a@b.example',
        'https://',
        'http:x',
        'https://a b.example',
      ].map((value) => ['home', value, 'Home is not a URL'] as const),
      ['mates', '[1]', 'Mates is not a list'],
      ['mates', ['1'], 'Mates[0] is not an integer'],
      ['mates', [owner.id, 1.5], 'Mates[1] is not an integer'],
      ['mates', [2_000_000_000], 'Invalid user ID: 2000000000'],
      ['mates', [9_000_000_000], 'Invalid user ID: 9000000000'],
      ['mates', [others.member.id], `Invalid user ID: ${others.member.id}`],
      ['mates', [owner.id, gone.id], `User with ID ${gone.id} is deactivated`],
      ['mates', [bot.id], `User with ID ${bot.id} is a bot`],
    ];
    for (const [field, value, message] of cases) {
      const { status, body } = await set(member, { [field]: value });
      expect([status, body.code, body.msg], JSON.stringify(value)).toEqual([400, 'BAD_REQUEST', message]);
    }
    expect(await profileOf(member)).toEqual({});
    await set(member, { ship: '🚢'.repeat(50), about: '🚢'.repeat(500), home: 'ftps://example.com/a' });
    expect(Object.keys(await profileOf(member))).toEqual(['ship', 'about', 'home']);
  });

  test.concurrent('find only fields of the organization', async () => {
    const { member } = await crew();
    const theirs = (await crew()).ids.ship;
    for (const id of [theirs, 2_000_000_000, -1]) {
      for (const [method, data] of [
        ['PATCH', [{ id, value: 'x' }]],
        ['PATCH', [{ id, value: null }]],
        ['DELETE', [id]],
      ] as const) {
        const { body } = await member.rest(method, OWN, { data });
        expect([body.code, body.msg]).toEqual(['BAD_REQUEST', `Field id ${id} not found.`]);
      }
    }
    const { body } = await member.rest('PATCH', OWN, { data: [{ id: theirs }] });
    expect(body.msg).toBe('data[0]["value"] field is missing');
  });

  test.concurrent('are for human users, and leave some fields to administrators', async () => {
    const { member, administrator, bot, ids, set, profileOf } = await crew();
    const notAllowed = 'You are not allowed to change this field. Contact an administrator to update it.';
    expect((await set(member, { ship: 'Argo', rank: 'Captain' })).body).toMatchObject({
      code: 'BAD_REQUEST',
      msg: notAllowed,
    });
    expect((await member.rest('DELETE', OWN, { data: [ids.rank] })).body.msg).toBe(notAllowed);
    expect(await profileOf(member)).toEqual({});
    await set(administrator, { rank: 'Captain' });
    expect(await profileOf(administrator)).toEqual({ rank: { value: 'Captain', rendered_value: '<p>Captain</p>' } });
    for (const method of ['PATCH', 'DELETE'] as const) {
      const data = method === 'PATCH' ? [{ id: ids.ship, value: 'Argo' }] : [ids.ship];
      const { status, body } = await bot.rest(method, OWN, { data });
      expect([status, body.code, body.msg]).toEqual([
        ...[400, 'BAD_REQUEST', 'This endpoint does not accept bot requests.'],
      ]);
    }
  });
});

describe('PATCH /users/{user_id} and /users/{email}, profile_data', () => {
  test.concurrent('lets administrators change every field of every user', async () => {
    const { administrator, member, moderator, guest, bot, owner, ids, entries, profileOf } = await crew();
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    const profile_data = entries({ rank: 'Mate', mates: [owner.id], ship: 'Argo' });
    await administrator.ok('PATCH', `/users/${member.id}`, { profile_data, full_name: 'Member Two' });
    expect(Object.keys(await profileOf(member))).toEqual(['ship', 'mates', 'rank']);
    // Each of these empty values removes the stored value of its field.
    const empty = entries({ rank: null, mates: [], ship: '' });
    await administrator.ok('PATCH', `/users/${encodeURIComponent(member.email)}`, { profile_data: empty });
    expect(await profileOf(member)).toEqual({});
    expect((await heard()).map(({ person }) => person.full_name ?? person.custom_profile_field)).toEqual([
      'Member Two',
      { id: ids.rank, value: 'Mate', rendered_value: '<p>Mate</p>' },
      { id: ids.mates, value: `[${owner.id}]` },
      { id: ids.ship, value: 'Argo', rendered_value: '<p>Argo</p>' },
      ...[ids.rank, ids.mates, ids.ship].map((id) => ({ id, value: null })),
    ]);
    const refusal = async (who: Person, whom: Person, values: Partial<Record<Field, unknown>>) => {
      const parameters = { profile_data: entries(values), full_name: 'Nobody' };
      const { body } = await who.rest('PATCH', `/users/${whom.id}`, parameters);
      return [body.code, body.msg];
    };
    expect(await refusal(administrator, member, { born: 'soon' })).toEqual(['BAD_REQUEST', 'Born is not a date']);
    expect(await refusal(administrator, bot, { ship: 'Argo' })).toEqual(['BAD_REQUEST', 'A bot has no profile data']);
    expect((await refusal(moderator, member, { ship: 'Argo' }))[0]).toBe('UNAUTHORIZED_PRINCIPAL');
    // The refused request changes no other field either, such as the name.
    expect((await guest.ok('GET', `/users/${member.id}`)).user.full_name).toBe('Member Two');
  });
});

describe('profile data', () => {
  test.concurrent('is part of every user object that must contain it', async () => {
    const { member, guest, bot, ids, set, owner, signUp } = await crew();
    await set(member, { ship: 'Argo' });
    const profile_data = { [ids.ship]: { value: 'Argo', rendered_value: '<p>Argo</p>' } };
    const wanted = { include_custom_profile_fields: true };
    const { members } = await guest.ok('GET', '/users', wanted);
    const inList = (person: Person) => members.find(({ user_id }: Json) => user_id === person.id);
    expect(inList(member).profile_data).toEqual(profile_data);
    expect(inList(guest).profile_data).toEqual({});
    expect(inList(bot)).not.toHaveProperty('profile_data');
    const some = await guest.ok('GET', '/users', { ...wanted, user_ids: [member.id] });
    expect(some.members).toEqual([expect.objectContaining({ profile_data })]);
    for (const who of [member.id, encodeURIComponent(member.email)]) {
      expect((await guest.ok('GET', `/users/${who}`, wanted)).user.profile_data).toEqual(profile_data);
      expect((await guest.ok('GET', `/users/${who}`)).user).not.toHaveProperty('profile_data');
    }
    expect((await member.ok('GET', '/users/me')).profile_data).toEqual(profile_data);
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    await signUp('New');
    expect((await heard())[0]?.['person']).toMatchObject({ full_name: 'New', profile_data: {} });
    await owner.ok('DELETE', `/users/${member.id}`);
    const state = await guest.register({ fetch_event_types: ['realm_user'] });
    expect(state.realm_non_active_users).toEqual([expect.objectContaining({ user_id: member.id, profile_data })]);
    const others = state.realm_users.filter(({ is_bot }: Json) => !is_bot);
    expect(others.map((user: Json) => user.profile_data)).toEqual(others.map(() => ({})));
    expect(state.realm_users.filter(({ is_bot }: Json) => is_bot)).toEqual([
      expect.not.objectContaining({ profile_data: expect.anything() }),
    ]);
  });

  test.concurrent('loses values with a removed option, and those of a deleted field', async () => {
    const { owner, member, guest, ids, set, profileOf } = await crew();
    await set(member, { flag: 'r', ship: 'Argo' });
    await set(guest, { flag: 'b' });
    await set(owner, { flag: 'r' });
    const heard = await guest.receiving({ event_types: ['realm_user', 'custom_profile_fields'] });
    const field_data = { b: { text: 'Deep blue', order: '1' }, g: { text: 'Green', order: '2' } };
    await owner.ok('PATCH', `${FIELDS}/${ids.flag}`, { field_data });
    await owner.ok('DELETE', `${FIELDS}/${ids.ship}`);
    const fieldsChanged = expect.objectContaining({ type: 'custom_profile_fields' });
    expect(await heard()).toEqual([
      fieldsChanged,
      ...[owner, member].map(({ id }) => changed(id, { id: ids.flag, value: null })),
      fieldsChanged,
    ]);
    expect([await profileOf(owner), await profileOf(member), await profileOf(guest)]).toEqual([
      ...[{}, {}, { flag: { value: 'b' } }],
    ]);
  });

  test.concurrent('never contains a removed option, even if both changes are concurrent', async () => {
    const { owner, member, guest, moderator, ids, set, profileOf } = await crew();
    const field_data = { b: FLAGS.b };
    const [replies] = await Promise.all([
      Promise.all([member, guest, moderator].map((person) => set(person, { flag: 'r' }))),
      owner.ok('PATCH', `${FIELDS}/${ids.flag}`, { field_data }),
    ]);
    expect([200, 400]).toEqual(expect.arrayContaining(replies.map(({ status }) => status)));
    for (const person of [member, guest, moderator]) expect(await profileOf(person)).toEqual({});
  });

  test.concurrent('is readable while a field of it is deleted', async () => {
    const { owner, member, guest, set } = await crew();
    await set(member, { ship: 'Argo' });
    const document =
      'query ($userId: ID!) { user(by: { id: $userId }) { profileData { field { name } value renderedValue } } }';
    for (let round = 0; round < 8; round++) {
      const { id } = await owner.ok('POST', FIELDS, { field_type: 1, name: `Port ${round}` });
      await member.ok('PATCH', OWN, { data: [{ id, value: 'Iolcos' }] });
      const read = () => guest.query(document, { userId: member.id });
      const deleted = owner.ok('DELETE', `${FIELDS}/${id}`);
      let isDeleted = false;
      const reader = async () => {
        while (!isDeleted) await read();
      };
      const readers = Array.from({ length: 8 }, reader);
      await deleted.finally(() => {
        isDeleted = true;
      });
      await Promise.all(readers);
    }
    const { user } = await guest.query(document, { userId: member.id });
    expect(user.profileData.map(({ field }: Json) => field.name)).toEqual(['Ship']);
  });

  test.concurrent('still contains users who were deactivated since', async () => {
    const { owner, member, signUp, set, profileOf, guest } = await crew();
    const mate = await signUp('Mate');
    await set(member, { mates: [owner.id, mate.id] });
    await owner.ok('DELETE', `/users/${mate.id}`);
    expect(await profileOf(member)).toEqual({ mates: { value: `[${owner.id},${mate.id}]` } });
    const { user } = await guest.query(
      'query ($userId: ID!) { user(by: { id: $userId }) { profileData { value users { databaseId isActive } } } }',
      { userId: member.id },
    );
    expect(user.profileData[0].users).toEqual([
      { databaseId: owner.id, isActive: true },
      { databaseId: mate.id, isActive: false },
    ]);
  });

  test.concurrent('replaces a lone surrogate with an unknown character, over both APIs', async () => {
    const { owner, ids, profileOf } = await crew();
    const half = { lead: 'x\ud800', whole: 'x\ufffd' };
    const choices = [{ key: half.lead, text: half.lead }];
    await owner.mutate('updateCustomProfileField', { customProfileFieldId: ids.flag, data: { choices } }, '__typename');
    const texts = { ship: half.lead, home: `https://e.example/${half.lead}`, flag: half.lead };
    const values = Object.entries(texts).map(([name, text]) => ({ fieldId: ids[name as Field], content: { text } }));
    await owner.mutate('updateProfileData', { values }, '__typename');
    expect(await profileOf(owner)).toEqual({
      ship: { value: half.whole, rendered_value: `<p>${half.whole}</p>` },
      home: { value: `https://e.example/${half.whole}` },
      flag: { value: half.whole },
    });
    const same = [half.lead, half.whole].map((key, i) => ({ key, text: `${i}` }));
    const { data } = await owner.graphql(
      `mutation ($input: UpdateCustomProfileFieldInput!) {
        updateCustomProfileField(input: $input) { ... on ValidationError { message } }
      }`,
      { input: { customProfileFieldId: ids.flag, data: { choices: same } } },
    );
    expect(data.updateCustomProfileField.message).toBe('Field must not have duplicate choices.');
  });

  test.concurrent('is the same in GraphQL as in REST, in state and events', async () => {
    const { owner, member, guest, bot, ids } = await crew();
    const shown = 'profileData { field { databaseId name } value renderedValue users { fullName } }';
    await using stream = await guest.events(`... on UserUpdatedEvent { userProperty user { databaseId ${shown} } }`);
    const { user } = await member.mutate(
      'updateProfileData',
      {
        values: [
          { fieldId: ids.mates, content: { userIds: [owner.id] } },
          { fieldId: ids.ship, content: { text: 'The *Argo*' } },
        ],
      },
      `user { ${shown} }`,
    );
    const html = '<p>The <em>Argo</em></p>';
    expect(user.profileData).toEqual([
      {
        ...{ field: { databaseId: ids.ship, name: 'Ship' }, value: 'The *Argo*', renderedValue: html },
        users: null,
      },
      {
        ...{ field: { databaseId: ids.mates, name: 'Mates' }, value: `[${owner.id}]`, renderedValue: null },
        users: [{ fullName: 'owner' }],
      },
    ]);
    // Both values were set before the events are fetched, so each event shows the current state with both values.
    const told = { userProperty: 'PROFILE_DATA', user: { databaseId: member.id, profileData: user.profileData } };
    expect(await stream.take(2)).toEqual([told, told]);
    const emptied = await member.mutate('removeProfileData', { fieldIds: [ids.ship] }, `user { ${shown} }`);
    expect(await stream.next()).toMatchObject(emptied);
    const twice = await member.graphql(
      `mutation ($one: UpdateProfileDataInput!, $two: UpdateProfileDataInput!) {
        one: updateProfileData(input: $one) { ...shown } two: updateProfileData(input: $two) { ...shown }
      }
      fragment shown on UpdateProfileDataPayload { user { profileData { value } } }`,
      Object.fromEntries(['one', 'two'].map((text) => [text, { values: [{ fieldId: ids.log, content: { text } }] }])),
    );
    for (const text of ['one', 'two']) {
      expect(twice.data[text].user.profileData.at(-1)).toEqual({ value: text });
    }
    const ofBot = await guest.query(`query ($userId: ID!) { user(by: { id: $userId }) { ${shown} } }`, {
      userId: bot.id,
    });
    expect(ofBot.user.profileData).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';

// The same rules apply to the endpoints of sections 4.6 and 4.7, so each test runs with both.

const house = await createOrganization();
const { owner, administrator, moderator, member, guest } = house;

let made = 0;

const CAR = { emoji_name: 'car', emoji_code: '1f697', reaction_type: 'unicode_emoji' };
const statusOf = async ({ id }: Person) => (await guest.ok('GET', `/users/${id}/status`)).status;

describe.concurrent.for([
  ['4.6 POST /users/{user_id}/status', false],
  ['4.7 POST /users/me/status', true],
] as const)('%s', ([, isOwn]) => {
  /** Creates a user whose status no other test sets. @returns The user, and functions that use the endpoint for the user. */
  async function newPerson(status: object = {}) {
    const person = await house.signUp(`person ${++made}`);
    const set = (parameters: object) =>
      isOwn
        ? person.rest('POST', '/users/me/status', { ...parameters })
        : administrator.rest('POST', `/users/${person.id}/status`, { ...parameters });
    if (Object.keys(status).length > 0) expect((await set(status)).body).toEqual(success());
    return { person, set };
  }

  test('sets text and emoji', async () => {
    const { person } = await newPerson({ status_text: 'driving', emoji_name: 'car' });
    expect(await statusOf(person)).toEqual({ status_text: 'driving', ...CAR });
  });

  test.for([
    ['status_text', { status_text: 'parked' }, { status_text: 'parked', ...CAR }],
    ['emoji_name', { emoji_name: '' }, { status_text: 'driving' }],
  ] as const)('1: changes only %s if only that is passed', async ([, change, left]) => {
    const { person, set } = await newPerson({ status_text: 'driving', ...CAR });
    expect((await set(change)).body).toEqual(success());
    expect(await statusOf(person)).toEqual(left);
  });

  test.for([{}, { emoji_code: '1f697' }, { reaction_type: 'unicode_emoji' }])(
    '2: rejects %j, which has no new value',
    async (parameters) => {
      const { set } = await newPerson();
      expect(await set(parameters)).toMatchObject(refused());
    },
  );

  test.for([
    ['61 letters', 'x'.repeat(61)],
    ['61 ships', '🚢'.repeat(61)],
  ] as const)('3: rejects %s', async ([, status_text]) => {
    const { person, set } = await newPerson();
    expect(await set({ status_text })).toMatchObject(refused());
    expect(await statusOf(person)).toEqual({});
  });

  test.for([{ emoji_code: '1f697' }, { reaction_type: 'unicode_emoji' }])(
    '4: rejects %j without emoji_name',
    async (parameters) => {
      const { set } = await newPerson();
      expect(await set({ status_text: 'x', ...parameters })).toMatchObject(refused());
    },
  );

  test.for([
    ['a name that does not exist', { emoji_name: 'no_such_emoji' }],
    ['a name that does not match the code', { ...CAR, emoji_name: 'octopus' }],
    ['a code that does not exist', { ...CAR, emoji_code: 'ffff' }],
    ['a custom emoji that does not exist', { ...CAR, emoji_code: '1', reaction_type: 'realm_emoji' }],
    ['an unknown namespace', { ...CAR, reaction_type: 'emoji' }],
  ] as const)('5: rejects %s', async ([, parameters]) => {
    const { set } = await newPerson();
    expect(await set(parameters)).toMatchObject(refused());
  });

  test('sends an event to all users who can access the user', async () => {
    const { person, set } = await newPerson();
    const heard = await guest.receiving({ event_types: ['user_status'] });
    await set({ status_text: 'here' });
    const events = (await heard()).filter(({ user_id }) => user_id === person.id);
    expect(events).toEqual([{ type: 'user_status', user_id: person.id, status_text: 'here' }]);
  });
});

describe.concurrent('4.6 POST /users/{user_id}/status: permission', () => {
  const set = (by: Person) => by.rest('POST', `/users/${member.id}/status`, { status_text: `by ${by.name}` });

  test.for([owner, administrator])('the $name can set it', async (by) => {
    expect((await set(by)).body).toEqual(success());
  });

  test.for([moderator, guest])('the $name gets BAD_REQUEST', async (by) => {
    expect(await set(by)).toMatchObject(refused('BAD_REQUEST', { msg: 'Insufficient permission' }));
  });
});

describe.concurrent('4.7 POST /users/me/status: away', () => {
  test.for([true, false])('accepts only away %s', async (away) => {
    const person = await house.signUp(`away ${away}`);
    expect(await person.ok('POST', '/users/me/status', { away })).toEqual(success());
    const { user_settings } = await person.register({ fetch_event_types: ['user_settings'] });
    expect(user_settings.presence_enabled).toBe(!away);
  });

  test('all parameters are optional, but at least one is required', async () => {
    expect(await member.rest('POST', '/users/me/status')).toMatchObject(refused());
  });
});

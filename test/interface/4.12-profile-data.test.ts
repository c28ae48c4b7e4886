import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';

const { owner, administrator, member, guest, signUp } = await createOrganization();

const LINK = 5;
const USERS = 6;
const [SHORT, LONG] = [1, 2];
let made = 0;
const field = async (field_type: number, more: object = {}): Promise<number> => {
  const parameters = { field_type, name: `field ${++made}`, ...more };
  return (await owner.ok('POST', '/realm/profile_fields', parameters)).id;
};
const patch = (data: unknown, by = member) => by.rest('PATCH', '/users/me/profile_data', { data });
const profile = async (of = member): Promise<Json> =>
  (await guest.ok('GET', `/users/${of.id}`, { include_custom_profile_fields: true })).user.profile_data;

describe.concurrent('4.12 PATCH /users/me/profile_data', () => {
  test.for([
    ['a text', SHORT, 'captain', 'captain'],
    ['a URL', LINK, 'https://ships.example', 'https://ships.example'],
    ['an array of user IDs', USERS, [owner.id], JSON.stringify([owner.id])],
  ] as const)('accepts %s', async ([, type, value, shown]) => {
    const id = await field(type);
    expect((await patch([{ id, value }])).body).toEqual(success());
    expect((await profile())[id]).toMatchObject({ value: shown });
  });

  test.for([
    ['short', SHORT],
    ['long', LONG],
  ] as const)('a %s text has a rendered_value as well', async ([, type]) => {
    const id = await field(type);
    await patch([{ id, value: 'a **word**' }]);
    expect((await profile())[id]).toEqual({
      ...{ value: 'a **word**', rendered_value: '<p>a <strong>word</strong></p>' },
    });
  });

  test('a link has no rendered_value', async () => {
    const id = await field(LINK);
    await patch([{ id, value: 'https://ships.example' }]);
    expect((await profile())[id]).toEqual({ value: 'https://ships.example' });
  });

  test.for([
    ['a number for a text', SHORT, 7],
    ['a word for a URL', LINK, 'ships'],
    ['a text for users', USERS, 'owner'],
    ['an unknown user', USERS, [2_000_000_000]],
  ] as const)('rejects %s', async ([, type, value]) => {
    expect(await patch([{ id: await field(type), value }])).toMatchObject(refused());
  });

  test('null removes the value', async () => {
    const id = await field(SHORT);
    await patch([{ id, value: 'captain' }]);
    expect((await patch([{ id, value: null }])).body).toEqual(success());
    expect(await profile()).not.toHaveProperty(String(id));
  });

  test('changes several fields, and keeps the others', async () => {
    const person = await signUp('several');
    const [one, two, three] = [await field(SHORT), await field(SHORT), await field(SHORT)];
    await patch([{ id: one, value: 'one' }], person);
    await patch(
      [two, three].map((id) => ({ id, value: `field ${id}` })),
      person,
    );
    expect(Object.keys(await profile(person)).toSorted()).toEqual([one, two, three].map(String).toSorted());
  });

  test('data is required', async () => {
    expect(await patch(undefined)).toMatchObject(refused('REQUEST_VARIABLE_MISSING', { var_name: 'data' }));
  });

  test.for(['id', 'value'])('%s of each object is required', async (name) => {
    const { [name]: _, ...entry } = { id: await field(SHORT), value: 'x' } as Json;
    expect(await patch([entry])).toMatchObject(refused());
  });

  test('rejects a field that only administrators can edit', async () => {
    const id = await field(SHORT, { editable_by_user: false });
    expect(await patch([{ id, value: 'x' }])).toMatchObject(refused());
    expect((await patch([{ id, value: 'x' }], administrator)).body).toEqual(success());
  });

  test('rejects an unknown field ID, and changes nothing', async () => {
    const [id, value] = [await field(SHORT), 'unchanged'];
    expect(
      await patch([
        { id, value },
        { id: 2_000_000_000, value },
      ]),
    ).toMatchObject(refused());
    expect(await profile()).not.toHaveProperty(String(id));
  });
});

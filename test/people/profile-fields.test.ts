import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const FIELDS = '/realm/profile_fields';
const make = async (person: Person, field: object): Promise<number> =>
  (await person.ok('POST', FIELDS, { ...field })).id;
const list = async (person: Person): Promise<Json[]> => (await person.ok('GET', FIELDS)).custom_fields;
const refused = async (person: Person, method: 'POST' | 'PATCH' | 'DELETE', path: string, parameters: object) => {
  const { status, body } = await person.rest(method, path, { ...parameters });
  expect(status, body.msg).toBe(400);
  return [body.code, body.msg];
};
const bad = (message: string) => ['BAD_REQUEST', message];
const choices = (...texts: string[]) =>
  Object.fromEntries(texts.map((text, i) => [String(i), { text, order: String(i + 1) }]));
const account = (url_pattern: string) => ({ subtype: 'custom', url_pattern });

describe('custom profile fields', () => {
  test.concurrent('are managed by administrators, visible to all users, and sent to all users in full', async () => {
    const { administrator, guest, member } = await createOrganization();
    const heard = await guest.receiving({ event_types: ['custom_profile_fields'] });
    const ship = await make(administrator, { field_type: 1, name: '  Ship ', hint: 'Yours', required: true });
    const flag = await make(administrator, {
      ...{ field_type: 3, name: 'Flag', field_data: choices('Red', 'Blue') },
      ...{ display_in_profile_summary: true, editable_by_user: false },
    });
    const log = await make(administrator, {
      ...{ field_type: 7, name: 'Log', field_data: account('https://log.example/%(username)s') },
      use_for_user_matching: true,
    });
    const plain = { hint: '', field_data: '', required: false, editable_by_user: true };
    const expected = [
      { ...plain, id: ship, type: 1, order: ship, name: 'Ship', hint: 'Yours', required: true },
      {
        ...{ ...plain, id: flag, type: 3, order: flag, name: 'Flag', editable_by_user: false },
        field_data: '{"0":{"text":"Red","order":"1"},"1":{"text":"Blue","order":"2"}}',
        display_in_profile_summary: true,
      },
      {
        ...{ ...plain, id: log, type: 7, order: log, name: 'Log' },
        field_data: '{"subtype":"custom","url_pattern":"https://log.example/%(username)s"}',
        use_for_user_matching: true,
      },
    ];
    expect(await list(guest)).toEqual(expected);
    const state = await guest.register({ fetch_event_types: ['custom_profile_fields'] });
    expect(state.custom_profile_fields).toEqual(expected);
    expect(Object.entries<Json>(state.custom_profile_field_types).map(([key, { id }]) => [key, id])).toEqual([
      ...[
        ['SHORT_TEXT', 1],
        ['PARAGRAPH', 2],
        ['DROPDOWN', 3],
        ['DATE', 4],
      ],
      ...[
        ['URL', 5],
        ['USER', 6],
        ['EXTERNAL_ACCOUNT', 7],
        ['PRONOUNS', 8],
      ],
    ]);
    await administrator.ok('PATCH', FIELDS, { order: [log, ship, flag] });
    const [first, second, third] = await list(member);
    expect([first?.id, second?.id, third?.id]).toEqual([log, ship, flag]);
    expect([first?.order, second?.order, third?.order]).toEqual([0, 1, 2]);
    await administrator.ok('PATCH', `${FIELDS}/${flag}`, { name: 'Banner', display_in_profile_summary: false });
    // The next two requests change nothing, so they send no events.
    await administrator.ok('PATCH', `${FIELDS}/${flag}`, { name: 'Banner' });
    await administrator.ok('PATCH', FIELDS, { order: [log, ship, flag] });
    await administrator.ok('DELETE', `${FIELDS}/${ship}`);
    expect((await list(guest)).map(({ name }) => name)).toEqual(['Log', 'Banner']);
    const events = await heard();
    expect(events.map(({ type, op }) => [type, op])).toEqual(Array(6).fill(['custom_profile_fields', undefined]));
    expect(events.map(({ fields }) => fields.map(({ name }: Json) => name))).toEqual([
      ...[['Ship'], ['Ship', 'Flag'], ['Ship', 'Flag', 'Log'], ['Log', 'Ship', 'Flag'], ['Log', 'Ship', 'Banner']],
      ['Log', 'Banner'],
    ]);
    expect(events.at(-1)?.['fields']).toEqual(await list(guest));
  });

  test.concurrent('cannot be changed by others', async () => {
    const { owner, moderator, bot } = await createOrganization();
    const id = await make(owner, { field_type: 1, name: 'Ship' });
    for (const person of [moderator, bot]) {
      for (const [method, path, parameters] of [
        ['POST', FIELDS, { field_type: 1, name: 'Other' }],
        ['PATCH', FIELDS, { order: [id] }],
        ['PATCH', `${FIELDS}/${id}`, { name: 'Other' }],
        ['DELETE', `${FIELDS}/${id}`, {}],
      ] as const) {
        expect((await refused(person, method, path, parameters))[0]).toBe('UNAUTHORIZED_PRINCIPAL');
      }
    }
  });

  test.concurrent.for<[string, object, string]>([
    ['a blank label', { name: '  ' }, 'Label cannot be blank.'],
    ['no label', { name: undefined }, 'Label cannot be blank.'],
    ['a label of 41 characters', { name: 'é'.repeat(41) }, 'name is too long (limit: 40 characters)'],
    ['a hint of 81 characters', { hint: 'x'.repeat(81) }, 'hint is too long (limit: 80 characters)'],
    ['an unknown type', { field_type: 9 }, 'Invalid field type.'],
    ['a list without options', { field_type: 3 }, 'Field must have at least one choice.'],
    ['options of a text', { field_data: choices('Red') }, 'Field type does not take field_data.'],
    ['a list of none', { field_type: 3, field_data: {} }, 'Field must have at least one choice.'],
    [
      'a list with one option twice',
      { field_type: 3, field_data: choices('Red', ' Red ') },
      'Field must not have duplicate choices.',
    ],
    ['an option that is a text', { field_type: 3, field_data: { a: 'Red' } }, 'field_data["a"] is not a dict'],
    [
      'an option without a place',
      { field_type: 3, field_data: { a: { text: 'Red' } } },
      'field_data["a"]["order"] field is missing',
    ],
    [
      'an option without words',
      { field_type: 3, field_data: { a: { text: ' ', order: '1' } } },
      'field_data["a"]["text"] cannot be blank',
    ],
    [
      'an option with a place that is no number',
      { field_type: 3, field_data: { a: { text: 'Red', order: 'first' } } },
      'Invalid field_data["a"]["order"]',
    ],
    [
      'an option that says more',
      { field_type: 3, field_data: { a: { text: 'Red', order: '1', color: 'red' } } },
      'Argument "color" at field_data["a"] is unexpected',
    ],
    ['an account of no kind', { field_type: 7 }, 'field_data["subtype"] field is missing'],
    ['an account of another kind', { field_type: 7, field_data: { subtype: 'x' } }, 'Invalid external account type'],
    [
      'an account without pages',
      { field_type: 7, field_data: { subtype: 'custom' } },
      'Custom external account must define URL pattern',
    ],
    ...['https://e.example/', 'https://e.example/%(username)s/%(username)s'].map(
      (pattern): [string, object, string] => [
        `an account at ${pattern}`,
        { field_type: 7, field_data: account(pattern) },
        "URL pattern must contain '%(username)s'",
      ],
    ),
    [
      'an account whose page is a script',
      { field_type: 7, field_data: account('javascript:alert("%(username)s")') },
      'field_data["url_pattern"] is not a URL',
    ],
    [
      'users in the summary',
      { field_type: 6, display_in_profile_summary: true },
      'Field type not supported for display in profile summary.',
    ],
    [
      'dates to match users by',
      { field_type: 4, use_for_user_matching: true },
      'Field type not supported for user matching.',
    ],
  ])('refuse %s', async ([, field, message]) => {
    const { owner } = await createOrganization();
    expect(await refused(owner, 'POST', FIELDS, { field_type: 1, name: 'Ship', ...field })).toEqual(bad(message));
    expect(await list(owner)).toEqual([]);
  });

  test.concurrent('can have labels and hints of the documented maximum length', async () => {
    const { owner } = await createOrganization();
    const field = { name: '🚢'.repeat(40), hint: '🚢'.repeat(80) };
    await make(owner, { field_type: 8, ...field });
    expect(await list(owner)).toEqual([expect.objectContaining(field)]);
  });

  test.concurrent('have unique labels, also for concurrent requests', async () => {
    const { owner, administrator } = await createOrganization();
    const attempts = await Promise.all(
      [owner, administrator, owner, administrator].map((person) =>
        person.rest('POST', FIELDS, { field_type: 1, name: 'Ship' }),
      ),
    );
    expect(attempts.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    const other = await make(owner, { field_type: 1, name: 'Boat' });
    const taken = bad('A field with that label already exists.');
    expect(await refused(owner, 'POST', FIELDS, { field_type: 4, name: ' Ship' })).toEqual(taken);
    expect(await refused(owner, 'PATCH', `${FIELDS}/${other}`, { name: 'Ship' })).toEqual(taken);
    await owner.ok('PATCH', `${FIELDS}/${other}`, { name: 'Boat', hint: 'Its own label is free' });
    // A name that differs from an existing one only in case is refused as taken, in both APIs.
    expect(await refused(owner, 'POST', FIELDS, { field_type: 4, name: 'SHIP' })).toEqual(taken);
    expect(await refused(owner, 'PATCH', `${FIELDS}/${other}`, { name: 'sHIP' })).toEqual(taken);
    const { data } = await owner.graphql(
      `mutation { createCustomProfileField(input: { type: DATE, name: "SHIP" }) {
        ... on ConflictError { code message }
      } }`,
    );
    expect(Object.values(data.createCustomProfileField)).toEqual(taken);
    await owner.ok('PATCH', `${FIELDS}/${other}`, { name: 'BOAT' });
  });

  test.concurrent('are shown in the summary for at most two of them', async () => {
    const { owner } = await createOrganization();
    const summary = { display_in_profile_summary: true };
    const [, two] = [
      await make(owner, { field_type: 1, name: 'One', ...summary }),
      await make(owner, { field_type: 2, name: 'Two', ...summary }),
    ];
    const three = await make(owner, { field_type: 4, name: 'Three' });
    const full = bad('Only 2 custom profile fields can be displayed in the profile summary.');
    expect(await refused(owner, 'PATCH', `${FIELDS}/${three}`, summary)).toEqual(full);
    expect(await refused(owner, 'POST', FIELDS, { field_type: 1, name: 'Four', ...summary })).toEqual(full);
    await owner.ok('PATCH', `${FIELDS}/${two}`, { ...summary, hint: 'It is there already' });
    await owner.ok('PATCH', `${FIELDS}/${two}`, { display_in_profile_summary: false });
    await owner.ok('PATCH', `${FIELDS}/${three}`, summary);
  });

  test.concurrent('can be reordered, all together', async () => {
    const { owner } = await createOrganization();
    const [one, two] = [
      await make(owner, { field_type: 1, name: 'One' }),
      await make(owner, { field_type: 1, name: 'Two' }),
    ];
    for (const order of [[], [one], [one, one], [one, two, 2_000_000_000], [one, 2_000_000_000]]) {
      expect(await refused(owner, 'PATCH', FIELDS, { order })).toEqual(bad('Invalid order mapping.'));
    }
    await owner.ok('PATCH', FIELDS, { order: [two, one] });
    const three = await make(owner, { field_type: 1, name: 'Three' });
    expect((await list(owner)).map(({ id }) => id)).toEqual([two, one, three]);
  });

  test.concurrent('are not found if unknown or of another organization', async () => {
    const [{ owner }, others] = [await createOrganization(), await createOrganization()];
    const theirs = await make(others.owner, { field_type: 1, name: 'Ship' });
    for (const id of [theirs, 2_000_000_000, 9_000_000_000]) {
      const missing = bad(`Field id ${id} not found.`);
      expect(await refused(owner, 'PATCH', `${FIELDS}/${id}`, { name: 'Mine' })).toEqual(missing);
      expect(await refused(owner, 'DELETE', `${FIELDS}/${id}`, {})).toEqual(missing);
    }
    expect(await list(others.owner)).toEqual([expect.objectContaining({ name: 'Ship' })]);
  });

  test.concurrent('keep their type, and have data only if their type requires it', async () => {
    const { owner } = await createOrganization();
    const id = await make(owner, { field_type: 1, name: 'Ship', field_data: {} });
    const { body } = await owner.rest('PATCH', `${FIELDS}/${id}`, { field_type: 3, field_data: {} });
    expect(body).toMatchObject({ result: 'success', ignored_parameters_unsupported: ['field_type'] });
    expect(await list(owner)).toEqual([expect.objectContaining({ type: 1, field_data: '' })]);
    const flag = await make(owner, { field_type: 3, name: 'Flag', field_data: choices('Red') });
    expect(await refused(owner, 'PATCH', `${FIELDS}/${flag}`, { field_data: {} })).toEqual(
      bad('Field must have at least one choice.'),
    );
    await owner.ok('PATCH', `${FIELDS}/${flag}`, { hint: 'The options stay' });
    expect((await list(owner))[1]).toMatchObject({ field_data: '{"0":{"text":"Red","order":"1"}}' });
  });
});

test.concurrent('GraphQL contains the data of a field, in state and in events', async () => {
  const { owner, guest } = await createOrganization();
  const shown = 'databaseId type name choices { key text } urlPattern displayInProfileSummary editableByUser';
  await using stream = await guest.events(
    `... on CustomProfileFieldsChangedEvent { customProfileFields { ${shown} } }`,
  );
  const { customProfileField: flag } = await owner.mutate(
    'createCustomProfileField',
    {
      type: 'DROPDOWN',
      name: 'Flag',
      data: {
        choices: [
          { key: 'r', text: 'Red' },
          { key: 'b', text: 'Blue' },
        ],
      },
    },
    `customProfileField { id ${shown} }`,
  );
  const { id, ...ofFlag } = flag;
  expect(ofFlag).toEqual({
    ...{ databaseId: expect.any(Number), type: 'DROPDOWN', name: 'Flag', urlPattern: null },
    ...{
      choices: [
        { key: 'r', text: 'Red' },
        { key: 'b', text: 'Blue' },
      ],
    },
    ...{ displayInProfileSummary: false, editableByUser: true },
  });
  expect(await stream.next()).toMatchObject({ customProfileFields: [ofFlag] });
  expect(
    await guest.query(`query ($id: ID!) { node(id: $id) { ... on CustomProfileField { ${shown} } } }`, { id }),
  ).toEqual({
    node: ofFlag,
  });
  await owner.mutate(
    'createCustomProfileField',
    { type: 'EXTERNAL_ACCOUNT', name: 'Log', data: { urlPattern: 'https://log.example/%(username)s' } },
    'customProfileField { id }',
  );
  const { customProfileFields } = await guest.query('{ customProfileFields { name urlPattern choices { key } } }');
  expect(customProfileFields).toEqual([
    { name: 'Flag', urlPattern: null, choices: [{ key: 'r' }, { key: 'b' }] },
    { name: 'Log', urlPattern: 'https://log.example/%(username)s', choices: null },
  ]);
  const twice = {
    type: 'DROPDOWN',
    name: 'Twice',
    data: {
      choices: [
        { key: 'a', text: 'One' },
        { key: 'a', text: 'Two' },
      ],
    },
  };
  expect(await owner.tryMutation('createCustomProfileField', twice)).toMatchObject({
    message: 'Field must not have duplicate choices.',
  });
});

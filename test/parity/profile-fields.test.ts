import { describe, test } from 'vitest';
import { mutate, NOBODY, type Who } from '../helpers/both-doors.ts';
import { type Act, type EquivalentOrganization, expectParity } from '../helpers/equivalents.ts';
import type { Method } from '../helpers/person.ts';

describe('profiles', () => {
  const label = (name: string, value: string) => ({
    rest: { field_type: 1, name, hint: value },
    graphql: { type: 'SHORT_TEXT', name, hint: value },
  });

  async function withFields(twin: EquivalentOrganization) {
    const { people } = twin;
    const make = async (name: string, field: object) =>
      twin.name('field', (await people.owner.ok('POST', '/realm/profile_fields', { name, ...field })).id, name);
    return {
      ...people,
      ship: await make('Ship', { field_type: 1 }),
      flag: await make('Flag', { field_type: 3, field_data: { r: { text: 'Red', order: '1' } } }),
      mates: await make('Mates', { field_type: 6, editable_by_user: false }),
    };
  }
  type Fields = Awaited<ReturnType<typeof withFields>>;

  const act = (
    who: Who,
    method: Method,
    path: (fields: Fields) => string,
    mutation: string,
    parameters: (fields: Fields) => object,
    input: (fields: Fields) => object,
    code?: string,
  ): Act<Fields> => ({
    rest: (fields) => fields[who].rest(method, path(fields), parameters(fields) as Record<string, unknown>),
    graphql: (fields) => mutate(fields[who], mutation, input(fields)),
    ...(code !== undefined && { code }),
  });

  test.concurrent('POST /realm/profile_fields and createCustomProfileField', async () => {
    const create = (who: Who, parameters: object, input: object, code?: string) =>
      act(
        who,
        'POST',
        () => '/realm/profile_fields',
        'createCustomProfileField',
        () => parameters,
        () => input,
        code,
      );
    const text = label('About', 'you');
    const accountOf = (url_pattern: string) => ({ field_data: { subtype: 'custom', url_pattern } });
    const account = (name: string, pattern: string, code?: string) =>
      create(
        'owner',
        { field_type: 7, name, ...accountOf(pattern) },
        { type: 'EXTERNAL_ACCOUNT', name, data: { urlPattern: pattern } },
        code,
      );
    await expectParity(withFields, {
      'a member': create('member', text.rest, text.graphql, 'UNAUTHORIZED_PRINCIPAL'),
      'a text': create('owner', text.rest, text.graphql),
      'the label again': create('owner', text.rest, text.graphql, 'BAD_REQUEST'),
      'a list of options': create(
        'administrator',
        {
          field_type: 3,
          name: 'Wind',
          field_data: { n: { text: 'North', order: '1' }, s: { text: 'South', order: '2' } },
        },
        {
          type: 'DROPDOWN',
          name: 'Wind',
          data: {
            choices: [
              { key: 'n', text: 'North' },
              { key: 's', text: 'South' },
            ],
          },
        },
      ),
      'a list of none': create(
        'owner',
        { field_type: 3, name: 'None' },
        { type: 'DROPDOWN', name: 'None' },
        'BAD_REQUEST',
      ),
      'an account': account('Log', 'https://example.com/%(username)s'),
      'an account nowhere': account('Nowhere', 'https://example.com/', 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH, DELETE /realm/profile_fields/{id} and PATCH /realm/profile_fields', async () => {
    const at = (name: 'ship' | 'flag' | 'mates') => (fields: Fields) => `/realm/profile_fields/${fields[name]}`;
    const order = (who: Who, of: (fields: Fields) => number[], code?: string) =>
      act(
        who,
        'PATCH',
        () => '/realm/profile_fields',
        'reorderCustomProfileFields',
        (fields) => ({ order: of(fields) }),
        (fields) => ({ customProfileFieldIds: of(fields) }),
        code,
      );
    const rename = (who: Who, name: string, code?: string) =>
      act(
        who,
        'PATCH',
        at('ship'),
        'updateCustomProfileField',
        () => ({ name, required: true }),
        ({ ship }) => ({ customProfileFieldId: ship, name, required: true }),
        code,
      );
    const remove = (who: Who, code?: string) =>
      act(
        who,
        'DELETE',
        at('mates'),
        'deleteCustomProfileField',
        () => ({}),
        ({ mates }) => ({ customProfileFieldId: mates }),
        code,
      );
    await expectParity(withFields, {
      'a member': rename('member', 'Vessel', 'UNAUTHORIZED_PRINCIPAL'),
      'a new label': rename('owner', 'Vessel'),
      'one in use': rename('owner', 'Flag', 'BAD_REQUEST'),
      'other choices': act(
        'owner',
        'PATCH',
        at('flag'),
        'updateCustomProfileField',
        () => ({ field_data: { b: { text: 'Blue', order: '1' } } }),
        ({ flag }) => ({ customProfileFieldId: flag, data: { choices: [{ key: 'b', text: 'Blue' }] } }),
      ),
      'an order of some': order('owner', ({ ship }) => [ship], 'BAD_REQUEST'),
      'an order': order('owner', ({ ship, flag, mates }) => [mates, ship, flag]),
      'a moderator deletes': remove('moderator', 'UNAUTHORIZED_PRINCIPAL'),
      'an administrator deletes': remove('administrator'),
      again: remove('administrator', 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH, DELETE /users/me/profile_data and PATCH /users/{user_id}', async () => {
    const own = (who: Who, values: (fields: Fields) => [number, string | null][], code?: string) =>
      act(
        who,
        'PATCH',
        () => '/users/me/profile_data',
        'updateProfileData',
        (fields) => ({ data: values(fields).map(([id, value]) => ({ id, value })) }),
        (fields) => ({
          values: values(fields).map(([fieldId, text]) => ({ fieldId, content: text === null ? null : { text } })),
        }),
        code,
      );
    const remove = (who: Who, of: (fields: Fields) => number[], code?: string) =>
      act(
        who,
        'DELETE',
        () => '/users/me/profile_data',
        'removeProfileData',
        (fields) => ({ data: of(fields) }),
        (fields) => ({ fieldIds: of(fields) }),
        code,
      );
    const mates = (who: Who, of: (fields: Fields) => number[], code?: string) =>
      act(
        who,
        'PATCH',
        ({ member }) => `/users/${member.id}`,
        'updateUser',
        (fields) => ({ profile_data: [{ id: fields.mates, value: of(fields) }] }),
        (fields) => ({
          userId: fields.member.id,
          profileData: [{ fieldId: fields.mates, content: { userIds: of(fields) } }],
        }),
        code,
      );
    await expectParity(withFields, {
      'a text and a choice': own('member', ({ ship, flag }) => [
        [ship, '*Argo*'],
        [flag, 'r'],
      ]),
      'no choice': own('member', ({ flag }) => [[flag, 'x']], 'BAD_REQUEST'),
      'a field that is not there': own('member', () => [[NOBODY, 'x']], 'BAD_REQUEST'),
      'what only administrators change': remove('guest', ({ mates }) => [mates], 'BAD_REQUEST'),
      'a bot': own('bot', ({ ship }) => [[ship, 'Argo']], 'BAD_REQUEST'),
      nothing: own('member', ({ ship }) => [[ship, null]]),
      removed: remove('member', ({ flag }) => [flag]),
      'by an administrator': mates('administrator', ({ guest, owner }) => [guest.id, owner.id]),
      'a bot as a mate': mates('administrator', ({ bot }) => [bot.id], 'BAD_REQUEST'),
      'by a member': mates('member', ({ guest }) => [guest.id], 'UNAUTHORIZED_PRINCIPAL'),
      emptied: mates('owner', () => []),
    });
  });
});

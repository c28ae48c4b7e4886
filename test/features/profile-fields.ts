import { fresh } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import type { Json } from '../helpers/http.ts';
import { heldBy } from '../helpers/piles.ts';

export const profileFields: FeatureTests = {
  rest: {
    'PATCH /users/me/profile_data': ({ profileFieldId, choiceFieldId }) => [
      { parameters: { data: [{ id: profileFieldId, value: 'argo' }] } },
      { parameters: { data: [{ id: choiceFieldId, value: 's' }] } },
    ],
    'DELETE /users/me/profile_data': ({ profileFieldId }) => [{ parameters: { data: [profileFieldId] } }],
    'GET /realm/profile_fields': () => [{}],
    'PATCH /realm/profile_fields': ({ profileFieldId, choiceFieldId }) => [
      { parameters: { order: [choiceFieldId, profileFieldId] } },
    ],
    'PATCH /realm/profile_fields/{id}': ({ profileFieldId, choiceFieldId }) => [
      {
        slots: { id: profileFieldId },
        parameters: {
          ...{ name: fresh(), hint: fresh(), required: true, editable_by_user: true },
          ...{ display_in_profile_summary: true, use_for_user_matching: true },
          field_data: { subtype: 'custom', url_pattern: 'https://other.example/%(username)s' },
        },
      },
      { slots: { id: choiceFieldId }, parameters: { field_data: { s: { text: 'Steam', order: '1' } } } },
    ],
    'POST /realm/profile_fields': () => [
      {
        parameters: {
          ...{ field_type: 7, name: fresh(), hint: 'Where you are', required: true, editable_by_user: false },
          ...{ display_in_profile_summary: false, use_for_user_matching: true },
          field_data: { subtype: 'custom', url_pattern: 'https://example.com/%(username)s' },
        },
      },
      { parameters: { field_type: 3, name: fresh(), field_data: { s: { text: 'Sail', order: '1' } } } },
    ],
    'DELETE /realm/profile_fields/{id}': ({ profileFieldId }) => [{ slots: { id: profileFieldId } }],
  },
  queries: {
    customProfileFields: () => [{}],
  },
  mutations: {
    updateProfileData: ({ profileFieldId, choiceFieldId }) => [
      { values: [{ fieldId: profileFieldId, content: { text: 'argo' } }] },
      { values: [{ fieldId: choiceFieldId, content: { userIds: [] } }] },
    ],
    removeProfileData: ({ profileFieldId }) => [{ fieldIds: [profileFieldId] }],
    reorderCustomProfileFields: ({ profileFieldId, choiceFieldId }) => [
      { customProfileFieldIds: [choiceFieldId, profileFieldId] },
    ],
    updateCustomProfileField: ({ profileFieldId, choiceFieldId }) => [
      {
        ...{ customProfileFieldId: profileFieldId, name: fresh(), hint: fresh(), required: true, editableByUser: true },
        ...{ displayInProfileSummary: true, useForUserMatching: true },
        data: { urlPattern: 'https://other.example/%(username)s' },
      },
      { customProfileFieldId: choiceFieldId, data: { choices: [{ key: 's', text: 'Steam' }] } },
    ],
    createCustomProfileField: () => [
      {
        ...{ type: 'EXTERNAL_ACCOUNT', name: fresh(), hint: 'Where you are', required: true, editableByUser: false },
        ...{ displayInProfileSummary: false, useForUserMatching: true },
        data: { urlPattern: 'https://example.com/%(username)s' },
      },
      { type: 'DROPDOWN', name: fresh(), data: { choices: [{ key: 's', text: 'Sail' }] } },
    ],
    deleteCustomProfileField: ({ profileFieldId }) => [{ customProfileFieldId: profileFieldId }],
  },
  nodes: ({ profileFieldId }) => ({ CustomProfileField: profileFieldId }),
  piles: {
    custom_profile_fields: {
      adder: 'owner',
      fill: ({ sql }) =>
        sql(`INSERT INTO profile_field (realm_id, type, position, name)
        SELECT $1, 1, n, 'field ' || n FROM generate_series(1, 100) AS n`),
      rest: ({ owner }, i) => owner.rest('POST', '/realm/profile_fields', { field_type: 1, name: `new ${i}` }),
      graphql: (_, i) => ['createCustomProfileField', { type: 'SHORT_TEXT', name: `new ${i}` }],
      held: heldBy('profile_field', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: async ({ owner }) => {
        const { custom_fields } = await owner.ok('GET', '/realm/profile_fields');
        await owner.ok('DELETE', `/realm/profile_fields/${custom_fields[0].id}`);
      },
    },
  },
  rules: {
    custom_profile_fields: (state, { fields }) => {
      state['custom_profile_fields'] = fields;
      const isLeft = ([id]: [string, unknown]) => fields.some((field: Json) => field.id === Number(id));
      for (const user of ['realm_users', 'realm_non_active_users'].flatMap((list) =>
        Object.values<Json>(state[list]),
      )) {
        if (user.profile_data === undefined) continue;
        user.profile_data = Object.fromEntries(Object.entries(user.profile_data).filter(isLeft));
      }
    },
  },
};

import type { FeatureCalls } from './feature.ts';
import { fresh } from './shared.ts';

export const profileFields: FeatureCalls = {
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
    reorderCustomProfileFields: ({ profileFieldId, choiceFieldId }) => [{ order: [choiceFieldId, profileFieldId] }],
    updateCustomProfileField: ({ profileFieldId, choiceFieldId }) => [
      {
        ...{ fieldId: profileFieldId, name: fresh(), hint: fresh(), required: true, editableByUser: true },
        ...{ displayInProfileSummary: true, useForUserMatching: true },
        data: { urlPattern: 'https://other.example/%(username)s' },
      },
      { fieldId: choiceFieldId, data: { choices: [{ key: 's', text: 'Steam' }] } },
    ],
    createCustomProfileField: () => [
      {
        ...{ type: 'EXTERNAL_ACCOUNT', name: fresh(), hint: 'Where you are', required: true, editableByUser: false },
        ...{ displayInProfileSummary: false, useForUserMatching: true },
        data: { urlPattern: 'https://example.com/%(username)s' },
      },
      { type: 'DROPDOWN', name: fresh(), data: { choices: [{ key: 's', text: 'Sail' }] } },
    ],
    deleteCustomProfileField: ({ profileFieldId }) => [{ fieldId: profileFieldId }],
  },
  nodes: ({ profileFieldId }) => ({ CustomProfileField: profileFieldId }),
};

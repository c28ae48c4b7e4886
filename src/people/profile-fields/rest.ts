import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { profileDataSent, toEntries, toWire, wireProfileField } from '../wire-profile-fields.ts';
import {
  createProfileField,
  deleteProfileField,
  type FieldEdit,
  listProfileFields,
  reorderProfileFields,
  updateProfileField,
} from './fields.ts';
import { removeOwnValues, updateOwnProfile } from './values.ts';

const edits = {
  name: text(z.string(), {
    description: 'Label: not blank, at most 40 characters, unique in the organization (case-insensitive).',
    example: 'Ship',
  }).optional(),
  hint: text(z.string(), {
    description: 'Hint that helps users to fill in the field, at most 80 characters.',
  }).optional(),
  field_data: json(z.record(z.string(), z.unknown()), {
    description:
      'For a list of options: the options, by the key that values contain. For an external account: `subtype` ' +
      '"custom", and `url_pattern`, which contains `%(username)s` once.',
    example: '{"0": {"text": "Sail", "order": "1"}}',
  }).optional(),
  display_in_profile_summary: json(z.boolean(), {
    description:
      'Whether clients show the field in the summary of a profile. Allowed for at most two fields, and not for ' +
      'fields of users.',
  }).optional(),
  required: json(z.boolean(), { description: 'Whether clients ask users to fill in the field.' }).optional(),
  editable_by_user: json(z.boolean(), {
    description: 'Whether users can change their own value. If false, only administrators can.',
  }).optional(),
  use_for_user_matching: json(z.boolean(), {
    description: 'Whether users can be found by the value. For short texts and external accounts.',
  }).optional(),
};

interface Sent {
  readonly name?: string;
  readonly hint?: string;
  readonly field_data?: Readonly<Record<string, unknown>>;
  readonly display_in_profile_summary?: boolean;
  readonly required?: boolean;
  readonly editable_by_user?: boolean;
  readonly use_for_user_matching?: boolean;
}

const toEdit = (sent: Sent): FieldEdit => ({
  name: sent.name,
  hint: sent.hint,
  fieldData: sent.field_data,
  displayInProfileSummary: sent.display_in_profile_summary,
  required: sent.required,
  editableByUser: sent.editable_by_user,
  useForUserMatching: sent.use_for_user_matching,
});

export const getProfileFields = endpoint({
  method: 'GET',
  path: '/realm/profile_fields',
  auth: 'basic',
  equivalents: ['customProfileFields'],
  summary: 'List custom profile fields',
  params: {},
  reply: { custom_fields: z.array(wireProfileField) },
  async handle(ctx) {
    return { custom_fields: (await listProfileFields(ctx)).map(toWire) };
  },
});

export const postProfileField = endpoint({
  method: 'POST',
  path: '/realm/profile_fields',
  auth: 'basic',
  equivalents: ['createCustomProfileField'],
  scope: 'administration',
  summary: 'Create a custom profile field',
  permission: 'administrators',
  params: {
    field_type: json(z.int(), {
      description:
        'Type: 1 short text, 2 long text, 3 list of options, 4 date, 5 link, 6 users, 7 external account, 8 pronouns.',
      example: '1',
    }),
    ...edits,
  },
  reply: { id: z.int() },
  async handle(ctx, { field_type, ...sent }) {
    const { id } = await createProfileField(ctx, field_type, toEdit(sent));
    return { id };
  },
});

export const patchProfileFields = endpoint({
  method: 'PATCH',
  path: '/realm/profile_fields',
  auth: 'basic',
  equivalents: ['reorderCustomProfileFields'],
  scope: 'administration',
  summary: 'Reorder custom profile fields',
  permission: 'administrators',
  params: { order: json(z.array(z.int()), { description: 'Ids of all fields in the new order.', example: '[2, 1]' }) },
  reply: {},
  async handle(ctx, { order }) {
    await reorderProfileFields(ctx, order);
  },
});

export const patchProfileField = endpoint({
  method: 'PATCH',
  path: '/realm/profile_fields/{id}',
  auth: 'basic',
  equivalents: ['updateCustomProfileField'],
  scope: 'administration',
  summary: 'Update a custom profile field',
  description: 'If an option is removed, values that chose it are deleted.',
  permission: 'administrators',
  params: { id: inPath(z.int(), { description: 'Id of the field.' }), ...edits },
  reply: {},
  async handle(ctx, { id, ...sent }) {
    await updateProfileField(ctx, id, toEdit(sent));
  },
});

export const deleteProfileFieldEndpoint = endpoint({
  method: 'DELETE',
  path: '/realm/profile_fields/{id}',
  auth: 'basic',
  equivalents: ['deleteCustomProfileField'],
  scope: 'administration',
  summary: 'Delete a custom profile field',
  description: 'Deletes all values of the field too.',
  permission: 'administrators',
  params: { id: inPath(z.int(), { description: 'Id of the field.' }) },
  reply: {},
  async handle(ctx, { id }) {
    await deleteProfileField(ctx, id);
  },
});

export const patchOwnProfileData = endpoint({
  method: 'PATCH',
  path: '/users/me/profile_data',
  auth: 'basic',
  equivalents: ['updateProfileData'],
  summary: 'Update your profile data',
  permission: 'all users except bots',
  params: {
    data: json(profileDataSent, {
      description: 'Values to set: a text, or a list of user ids for a field of users. null or "" removes the value.',
      example: '[{"id": 1, "value": "at sea"}]',
    }),
  },
  reply: {},
  async handle(ctx, { data }) {
    await updateOwnProfile(ctx, toEntries(data));
  },
});

export const deleteOwnProfileData = endpoint({
  method: 'DELETE',
  path: '/users/me/profile_data',
  auth: 'basic',
  equivalents: ['removeProfileData'],
  summary: 'Remove your profile data',
  permission: 'all users except bots',
  params: { data: json(z.array(z.int()), { description: 'Ids of the fields.', example: '[1]' }) },
  reply: {},
  async handle(ctx, { data }) {
    await removeOwnValues(ctx, data);
  },
});

import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { given, mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { ProfileValueInput, toEntries, User } from '../graphql.ts';
import { usersById } from '../loaders.ts';
import type { WireProfileField } from '../wire-profile-fields.ts';
import { type Choice, choicesOf, dataOfAccount, dataOfChoices, type FieldData, urlPatternOf } from './field-data.ts';
import { FIELD_TYPES, type FieldType } from './field-types.ts';
import {
  createProfileField,
  deleteProfileField,
  listProfileFields,
  reorderProfileFields,
  updateProfileField,
} from './fields.ts';
import { profileValues, type ValueOfField } from './loaders.ts';
import { removeOwnValues, updateOwnProfile } from './values.ts';

const stored = ({ type, field_data }: WireProfileField) => ({ type, fieldData: field_data });

/** Event projection (the fields that an event alone provides) of a profile field: all its fields. */
const fieldProjection = new EventProjection<WireProfileField>(
  'CustomProfileField',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    type: ({ type }) => type,
    order: ({ order }) => order,
    name: ({ name }) => name,
    hint: ({ hint }) => hint,
    choices: (field) => choicesOf(stored(field)),
    urlPattern: (field) => urlPatternOf(stored(field)),
    displayInProfileSummary: (field) => field.display_in_profile_summary ?? false,
    required: ({ required }) => required,
    editableByUser: (field) => field.editable_by_user,
    useForUserMatching: (field) => field.use_for_user_matching ?? false,
  },
);

const CALLED = 'Label of the field, at most 40 characters.';
const HINT_SHOWN = 'Hint that helps users to fill in the field, at most 80 characters. Empty if there is none.';
const TYPE = 'Type of the values.';
const ORDER = 'Position in the list. The lowest is first.';
const CHOICE_KEY = 'Key that the value contains if the user chose this option.';
const CHOICE_TEXT = 'Text of the option, which users see.';
const NAME = 'Label: not blank, at most 40 characters, unique in the organization (case-insensitive).';
const HINT = 'Hint that helps users to fill in the field, at most 80 characters.';
const CHOICES = 'For DROPDOWN: the options in their order, at most 500.';
const URL_PATTERN = 'For EXTERNAL_ACCOUNT: URL of the account, with the placeholder %(username)s for its name.';
const DATA = 'For DROPDOWN: the options. For EXTERNAL_ACCOUNT: the URL pattern.';
const SUMMARY =
  'Whether clients show the field in the summary of a profile. Allowed for at most two fields, and not for type USER.';
const REQUIRED = 'Whether clients ask users to fill in the field.';
const EDITABLE = 'Whether users can change their own value. If false, only administrators can.';
const MATCHING = 'Whether users can be found by the value. For SHORT_TEXT and EXTERNAL_ACCOUNT.';

const CustomProfileFieldType = builder.enumType('CustomProfileFieldType', {
  description: 'Type of a custom profile field.',
  values: {
    SHORT_TEXT: { value: FIELD_TYPES.SHORT_TEXT.id, description: 'Markdown, at most 50 characters.' },
    PARAGRAPH: { value: FIELD_TYPES.PARAGRAPH.id, description: 'Markdown, at most 500 characters.' },
    DROPDOWN: { value: FIELD_TYPES.DROPDOWN.id, description: 'Key of one of the options.' },
    DATE: { value: FIELD_TYPES.DATE.id, description: 'A date, such as 2026-02-28.' },
    URL: { value: FIELD_TYPES.URL.id, description: 'An absolute URL: http, https, ftp or ftps.' },
    USER: { value: FIELD_TYPES.USER.id, description: 'Ids of users of the organization.' },
    EXTERNAL_ACCOUNT: {
      value: FIELD_TYPES.EXTERNAL_ACCOUNT.id,
      description: 'Name of an account of the user on another site, at most 50 characters.',
    },
    PRONOUNS: { value: FIELD_TYPES.PRONOUNS.id, description: 'Text of at most 50 characters.' },
  } as const,
});

const ProfileChoice = builder.objectRef<Choice>('ProfileChoice').implement({
  description: 'An option of a custom profile field of type DROPDOWN.',
  fields: (t) => ({
    key: t.exposeString('key', { description: CHOICE_KEY }),
    text: t.exposeString('text', { description: CHOICE_TEXT }),
  }),
});

const CustomProfileField = builder.prismaNode('ProfileField', {
  name: 'CustomProfileField',
  description: 'A field that the organization adds to the profiles of its users.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the field in the REST API.' }),
    type: t.field({ type: CustomProfileFieldType, description: TYPE, resolve: ({ type }) => type as FieldType }),
    order: t.exposeInt('order', { description: ORDER }),
    name: t.exposeString('name', { description: CALLED }),
    hint: t.exposeString('hint', { description: HINT_SHOWN }),
    choices: t.field({
      type: [ProfileChoice],
      nullable: true,
      description: CHOICES,
      resolve: (field) => choicesOf(field) ?? null,
    }),
    urlPattern: t.string({
      nullable: true,
      description: URL_PATTERN,
      resolve: (field) => urlPatternOf(field) ?? null,
    }),
    displayInProfileSummary: t.exposeBoolean('displayInProfileSummary', { description: SUMMARY }),
    required: t.exposeBoolean('required', { description: REQUIRED }),
    editableByUser: t.exposeBoolean('editableByUser', { description: EDITABLE }),
    useForUserMatching: t.exposeBoolean('useForUserMatching', { description: MATCHING }),
  }),
});
nodeModel('CustomProfileField', 'ProfileField', ({ organizationId }) => ({ organizationId }));

const ProfileValue = builder.objectRef<ValueOfField>('ProfileValue').implement({
  description: 'Value of a custom profile field of a user.',
  fields: (t) => ({
    field: t.field({ type: CustomProfileField, description: 'The field.', resolve: ({ field }) => field }),
    value: t.exposeString('value', {
      description: 'The value. For type USER: JSON text of a list of numeric user ids (`databaseId`).',
    }),
    renderedValue: t.exposeString('renderedValue', {
      nullable: true,
      description: 'The value as HTML, for the types whose values are Markdown. Otherwise null.',
    }),
    users: t.field({
      type: [User],
      nullable: true,
      description: 'For type USER: the users in the value, at most 1,000, including deactivated ones. Otherwise null.',
      // The cost assumes that a value of a field of users contains three users. One query loads the users of all values.
      complexity: { field: 1, multiplier: 3 },
      resolve: ({ field, value }, _args, ctx) =>
        field.type === FIELD_TYPES.USER.id
          ? Promise.all((JSON.parse(value) as number[]).map((id) => usersById(ctx).load(id)))
          : null,
    }),
  }),
});

builder.prismaObjectField(User, 'profileData', (t) =>
  t.field({
    type: [ProfileValue],
    description: 'Values of custom profile fields of a person, in the order of the fields, at most one per field.',
    // The cost assumes that each user has five profile values.
    complexity: { field: 1, multiplier: 5 },
    resolve: ({ id }, _args, ctx) => profileValues(ctx).load(id),
  }),
);

builder.queryField('customProfileFields', (t) =>
  t.field({
    type: [CustomProfileField],
    nullable: true,
    description: 'The custom profile fields in their order, at most 100.',
    resolve: (_root, _args, ctx) => listProfileFields(signedIn(ctx)),
  }),
);

const ProfileChoiceInput = builder.inputType('ProfileChoiceInput', {
  description: 'An option of a custom profile field of type DROPDOWN.',
  fields: (t) => ({
    key: t.string({ required: true, description: CHOICE_KEY }),
    text: t.string({ required: true, description: CHOICE_TEXT }),
  }),
});

const CustomProfileFieldDataInput = builder.inputType('CustomProfileFieldDataInput', {
  isOneOf: true,
  description: 'Data that the types DROPDOWN and EXTERNAL_ACCOUNT require.',
  fields: (t) => ({
    choices: t.field({ type: [ProfileChoiceInput], required: false, description: CHOICES }),
    urlPattern: t.string({ required: false, description: URL_PATTERN }),
  }),
});

interface Sent {
  readonly name?: string | null | undefined;
  readonly hint?: string | null | undefined;
  readonly data?: typeof CustomProfileFieldDataInput.$inferInput | null | undefined;
  readonly displayInProfileSummary?: boolean | null | undefined;
  readonly required?: boolean | null | undefined;
  readonly editableByUser?: boolean | null | undefined;
  readonly useForUserMatching?: boolean | null | undefined;
}

const toEdit = ({ data, ...edit }: Sent) => given({ ...edit, fieldData: data == null ? undefined : fieldDataOf(data) });

const fieldDataOf = ({ choices, urlPattern }: typeof CustomProfileFieldDataInput.$inferInput): FieldData =>
  choices === undefined ? dataOfAccount(urlPattern) : dataOfChoices(choices);

mutation('createCustomProfileField', {
  scope: 'administration',
  description: 'Creates a custom profile field at the end of the list. For administrators.',
  input: (t) => ({
    type: t.field({ type: CustomProfileFieldType, description: TYPE }),
    name: t.string({ description: NAME }),
    hint: t.string({ required: false, description: HINT }),
    data: t.field({ type: CustomProfileFieldDataInput, required: false, description: DATA }),
    displayInProfileSummary: t.boolean({ required: false, defaultValue: false, description: SUMMARY }),
    required: t.boolean({ required: false, defaultValue: false, description: REQUIRED }),
    editableByUser: t.boolean({ required: false, defaultValue: true, description: EDITABLE }),
    useForUserMatching: t.boolean({ required: false, defaultValue: false, description: MATCHING }),
  }),
  payload: () => ({ customProfileField: { type: CustomProfileField, description: 'The new field.' } }),
  resolve: async (ctx, { type, ...sent }) => ({
    customProfileField: await createProfileField(ctx, type, toEdit(sent)),
  }),
});

const FIELD_ID = 'Id of the field.';

mutation('updateCustomProfileField', {
  scope: 'administration',
  description:
    'Updates a custom profile field. Omitted fields do not change. If an option is removed, values that chose it ' +
    'are deleted. For administrators.',
  input: (t) => ({
    customProfileFieldId: t.id({ ...refersTo('CustomProfileField'), description: FIELD_ID }),
    name: t.string({ required: false, description: NAME }),
    hint: t.string({ required: false, description: HINT }),
    data: t.field({ type: CustomProfileFieldDataInput, required: false, description: DATA }),
    displayInProfileSummary: t.boolean({ required: false, description: SUMMARY }),
    required: t.boolean({ required: false, description: REQUIRED }),
    editableByUser: t.boolean({ required: false, description: EDITABLE }),
    useForUserMatching: t.boolean({ required: false, description: MATCHING }),
  }),
  payload: () => ({ customProfileField: { type: CustomProfileField, description: 'The field after the change.' } }),
  resolve: async (ctx, { customProfileFieldId, ...sent }) => ({
    customProfileField: await updateProfileField(ctx, customProfileFieldId, toEdit(sent)),
  }),
});

mutation('deleteCustomProfileField', {
  scope: 'administration',
  description: 'Deletes a custom profile field and all its values. For administrators.',
  input: (t) => ({ customProfileFieldId: t.id({ ...refersTo('CustomProfileField'), description: FIELD_ID }) }),
  payload: () => ({
    customProfileFieldId: { type: 'ID', refersTo: 'CustomProfileField', description: 'Id of the deleted field.' },
  }),
  resolve: async (ctx, { customProfileFieldId }) => {
    await deleteProfileField(ctx, customProfileFieldId);
    return { customProfileFieldId };
  },
});

mutation('reorderCustomProfileFields', {
  scope: 'administration',
  description: 'Reorders the custom profile fields. For administrators.',
  input: (t) => ({
    customProfileFieldIds: t.idList({
      ...refersTo('CustomProfileField'),
      description: 'Ids of all fields in the new order.',
    }),
  }),
  payload: () => ({
    customProfileFields: { type: [CustomProfileField], description: 'All fields in the new order, at most 100.' },
  }),
  resolve: async (ctx, { customProfileFieldIds }) => ({
    customProfileFields: await reorderProfileFields(ctx, customProfileFieldIds),
  }),
});

mutation('updateProfileData', {
  description:
    "Sets the viewer's values of custom profile fields. If one change is refused, nothing changes. Not " +
    'available to bots.',
  input: (t) => ({
    values: t.field({ type: [ProfileValueInput], description: 'Values to set. Other fields do not change.' }),
  }),
  payload: () => ({ user: { type: User, description: 'The viewer after the change.' } }),
  resolve: async (ctx, { values }) => {
    await updateOwnProfile(ctx, toEntries(values));
    return { user: ctx.viewer.user };
  },
});

mutation('removeProfileData', {
  description: "Deletes the viewer's values of custom profile fields. Not available to bots.",
  input: (t) => ({ fieldIds: t.idList({ ...refersTo('CustomProfileField'), description: 'Ids of the fields.' }) }),
  payload: () => ({ user: { type: User, description: 'The viewer after the change.' } }),
  resolve: async (ctx, { fieldIds }) => {
    await removeOwnValues(ctx, fieldIds);
    return { user: ctx.viewer.user };
  },
});

eventType<{ fields: readonly WireProfileField[] }>(
  'custom_profile_fields',
  undefined,
  'CustomProfileFieldsChangedEvent',
  (t) => ({
    customProfileFields: t.field({
      type: [CustomProfileField],
      nullable: { list: false, items: true },
      description: 'All fields in their order.',
      ...projectedFromEvent(
        fieldProjection,
        ({ event }: EventSource<{ fields: readonly WireProfileField[] }>) => event.fields,
      ),
    }),
  }),
  {
    description: 'The custom profile fields changed. Values of deleted fields are deleted too.',
    outdates: ['customProfileFields'],
  },
);

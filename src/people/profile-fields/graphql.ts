import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { ProfileValueInput, toEntries, User } from '../graphql.ts';
import { usersById } from '../loaders.ts';
import { fieldFacts } from './entity-facts.ts';
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
import type { WireProfileField } from './wire.ts';

const CALLED = 'What it is called, in at most 40 characters.';
const HINT_SHOWN = 'What helps people to fill it in; at most 80 characters, empty for none.';
const TYPE = 'What can be in it.';
const ORDER = 'Its place in the list, lowest first.';
const CHOICE_KEY = 'What a value says that chose it.';
const CHOICE_TEXT = 'What people read.';
const NAME = 'Not blank; at most 40 characters; unique in the organization, in whatever case.';
const HINT = 'What helps people to fill it in; at most 80 characters.';
const CHOICES = 'What can be chosen, of a list of options alone, in their order; at most 500.';
const URL_PATTERN = "Of an external account alone: its page, with %(username)s for the account's name.";
const DATA = 'For a list of options, or an external account: what can be chosen, or where the accounts are.';
const SUMMARY =
  'Whether clients show it in the summary of a profile. Two fields at most, and no field of users, can be there.';
const REQUIRED = 'Whether clients ask people to fill it in.';
const EDITABLE = 'Whether people change it themselves, or only administrators.';
const MATCHING = 'Whether people are found by it. For short texts and external accounts.';

const CustomProfileFieldType = builder.enumType('CustomProfileFieldType', {
  description: 'What can be in a custom profile field.',
  values: {
    SHORT_TEXT: { value: FIELD_TYPES.SHORT_TEXT.id, description: 'Markdown of at most 50 characters.' },
    PARAGRAPH: { value: FIELD_TYPES.PARAGRAPH.id, description: 'Markdown of at most 500 characters.' },
    DROPDOWN: { value: FIELD_TYPES.DROPDOWN.id, description: 'The key of one of its choices.' },
    DATE: { value: FIELD_TYPES.DATE.id, description: 'A day, as 2026-02-28.' },
    URL: { value: FIELD_TYPES.URL.id, description: 'An absolute URL: http, https, ftp or ftps.' },
    USER: { value: FIELD_TYPES.USER.id, description: 'People of the organization.' },
    EXTERNAL_ACCOUNT: { value: FIELD_TYPES.EXTERNAL_ACCOUNT.id, description: 'A name of at most 50 characters.' },
    PRONOUNS: { value: FIELD_TYPES.PRONOUNS.id, description: 'At most 50 characters.' },
  } as const,
});

const ProfileChoice = builder.objectRef<Choice>('ProfileChoice').implement({
  description: 'One option of a list that a custom profile field lets people choose from.',
  fields: (t) => ({
    key: t.exposeString('key', { description: CHOICE_KEY }),
    text: t.exposeString('text', { description: CHOICE_TEXT }),
  }),
});

const CustomProfileField = builder.prismaNode('ProfileField', {
  name: 'CustomProfileField',
  description: 'What the profiles of people can tell, besides what all users have.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
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
nodeModel('CustomProfileField', 'ProfileField', ({ realmId }) => ({ realmId }));

const ProfileValue = builder.objectRef<ValueOfField>('ProfileValue').implement({
  description: 'What a user has in one field of their profile.',
  fields: (t) => ({
    field: t.field({ type: CustomProfileField, description: 'Which field.', resolve: ({ field }) => field }),
    value: t.exposeString('value', {
      description: 'What they have in it. For a field of users, the JSON text of a list of their numbers.',
    }),
    renderedValue: t.exposeString('renderedValue', {
      nullable: true,
      description: 'The value as HTML, for the types that are Markdown.',
    }),
    users: t.field({
      type: [User],
      nullable: true,
      description:
        'The users it names, of a field of users alone, at most 1,000; those deactivated since are still in it.',
      // Our choice: people name a few, and they come in one query with those of all other values.
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
    description:
      'What a person has in custom fields of their profile, in the order of the fields: one for each at most.',
    // Our choice: people fill in a handful.
    complexity: { field: 1, multiplier: 5 },
    resolve: ({ id }, _args, ctx) => profileValues(ctx).load(id),
  }),
);

builder.queryField('customProfileFields', (t) =>
  t.field({
    type: [CustomProfileField],
    nullable: true,
    description: 'The custom profile fields in their order, at most a hundred.',
    resolve: (_root, _args, ctx) => listProfileFields(signedIn(ctx)),
  }),
);

const ProfileChoiceInput = builder.inputType('ProfileChoiceInput', {
  description: 'One option of a list that people are to choose from.',
  fields: (t) => ({
    key: t.string({ required: true, description: CHOICE_KEY }),
    text: t.string({ required: true, description: CHOICE_TEXT }),
  }),
});

const CustomProfileFieldDataInput = builder.inputType('CustomProfileFieldDataInput', {
  isOneOf: true,
  description: 'What a custom profile field of some types needs besides.',
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
  description: 'Makes a custom profile field, last in the order. For administrators.',
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
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { type, ...sent }) => ({
    customProfileField: await createProfileField(ctx, type, toEdit(sent)),
  }),
});

mutation('updateCustomProfileField', {
  description:
    'Changes what is given of a custom profile field. Who has chosen an option that is no more loses the value. For ' +
    'administrators.',
  input: (t) => ({
    fieldId: t.id({ ...refersTo('CustomProfileField'), description: 'Which field to change.' }),
    name: t.string({ required: false, description: NAME }),
    hint: t.string({ required: false, description: HINT }),
    data: t.field({ type: CustomProfileFieldDataInput, required: false, description: DATA }),
    displayInProfileSummary: t.boolean({ required: false, description: SUMMARY }),
    required: t.boolean({ required: false, description: REQUIRED }),
    editableByUser: t.boolean({ required: false, description: EDITABLE }),
    useForUserMatching: t.boolean({ required: false, description: MATCHING }),
  }),
  payload: () => ({ customProfileField: { type: CustomProfileField, description: 'The field, after the change.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { fieldId, ...sent }) => ({
    customProfileField: await updateProfileField(ctx, fieldId, toEdit(sent)),
  }),
});

mutation('deleteCustomProfileField', {
  description: 'Removes a custom profile field, with all that people have in it. For administrators.',
  input: (t) => ({ fieldId: t.id({ ...refersTo('CustomProfileField'), description: 'Which field to remove.' }) }),
  payload: () => ({ fieldId: { type: 'ID', refersTo: 'CustomProfileField', description: 'The `id` it had.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { fieldId }) => {
    await deleteProfileField(ctx, fieldId);
    return { fieldId };
  },
});

mutation('reorderCustomProfileFields', {
  description: 'Puts the custom profile fields into a new order. For administrators.',
  input: (t) => ({
    order: t.idList({
      ...refersTo('CustomProfileField'),
      description: 'The id of every field, in the order they are to have.',
    }),
  }),
  payload: () => ({
    customProfileFields: { type: [CustomProfileField], description: 'All fields, in the new order; at most 100.' },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { order }) => ({ customProfileFields: await reorderProfileFields(ctx, order) }),
});

mutation('updateProfileData', {
  description: "Changes what the viewer's profile has in custom fields. All is changed or nothing is. Not for bots.",
  input: (t) => ({
    values: t.field({ type: [ProfileValueInput], description: 'What to have in which field; all others stay.' }),
  }),
  payload: () => ({ user: { type: User, description: 'The viewer, after the change.' } }),
  resolve: async (ctx, { values }) => {
    await updateOwnProfile(ctx, toEntries(values));
    return { user: ctx.viewer.user };
  },
});

mutation('removeProfileData', {
  description: "Empties custom fields of the viewer's profile. Not for bots.",
  input: (t) => ({ fieldIds: t.idList({ ...refersTo('CustomProfileField'), description: 'Which fields to empty.' }) }),
  payload: () => ({ user: { type: User, description: 'The viewer, after the change.' } }),
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
      description: 'All fields, in their order.',
      ...fromEvent(fieldFacts, ({ event }: EventSource<{ fields: readonly WireProfileField[] }>) => event.fields),
    }),
  }),
  {
    description:
      'These are all the custom profile fields there are, in their order. What people had in others is gone with them.',
  },
);

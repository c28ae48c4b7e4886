import { apiEmail } from '../access/address.ts';
import { type Ctx, signedIn } from '../access/context.ts';
import { AVATAR_SOURCE } from '../access/realm-settings.ts';
import { USER_SETTINGS, type UserSettingName, userSetting } from '../access/user-settings.ts';
import { builder } from '../api/graphql/builder.ts';
import { pageOf } from '../api/graphql/connection.ts';
import { eventType } from '../api/graphql/event-types.ts';
import { nodeModel } from '../api/graphql/node.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { enumOf, meaningsOf, settingEnum, settingFields, settingValueFields } from '../api/graphql/setting-fields.ts';
import { BadRequestError } from '../platform/errors.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../platform/roles.ts';
import { EMBEDDED_BOT, GENERIC_BOT, INCOMING_WEBHOOK_BOT, OUTGOING_WEBHOOK_BOT } from './bot-types.ts';
import type { PersonChange } from './events.ts';
import type { ValueEntry } from './profile-fields/wire.ts';
import { accessUser, accessUserByEmail, visibleTo } from './users.ts';
import { avatarUrl, toMinute, visibleEmail, type WireUser } from './wire.ts';

export const UserRole = builder.enumType('UserRole', {
  description: 'What a user may do; each role may do what the ones below it may.',
  values: {
    OWNER: { value: OWNER },
    ADMINISTRATOR: { value: ADMINISTRATOR },
    MODERATOR: { value: MODERATOR },
    MEMBER: { value: MEMBER },
    GUEST: { value: GUEST, description: 'Sees only what they were let into.' },
  } as const,
});

const BotType = builder.enumType('BotType', {
  values: {
    GENERIC: { value: GENERIC_BOT },
    INCOMING_WEBHOOK: { value: INCOMING_WEBHOOK_BOT },
    OUTGOING_WEBHOOK: { value: OUTGOING_WEBHOOK_BOT },
    EMBEDDED: { value: EMBEDDED_BOT },
  } as const,
});

const AvatarSize = builder.enumType('AvatarSize', {
  values: { SMALL: { description: '100 pixels wide.' }, MEDIUM: { description: '500 pixels wide.' } },
});

const AvatarSource = enumOf(AVATAR_SOURCE);

type AvatarLetter = 'G' | 'J' | 'U';
type RoleNumber = typeof OWNER | typeof ADMINISTRATOR | typeof MODERATOR | typeof MEMBER | typeof GUEST;
type BotTypeNumber = 1 | 2 | 3 | 4;

export const User = builder.prismaNode('User', {
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    fullName: t.exposeString('fullName'),
    email: t.string({
      description: 'The address for the API: the real one where everyone may see it, else one that stands for it.',
      resolve: apiEmail,
    }),
    deliveryEmail: t.string({
      nullable: true,
      description: 'The real address; null where the viewer may not see it.',
      resolve: (user, _args, ctx) => visibleEmail(user, signedIn(ctx).viewer),
    }),
    role: t.field({ type: UserRole, resolve: ({ role }) => role as RoleNumber }),
    isActive: t.exposeBoolean('isActive', { description: 'False when deactivated.' }),
    isBot: t.boolean({ resolve: ({ botType }) => botType !== null }),
    botType: t.field({ type: BotType, nullable: true, resolve: ({ botType }) => botType as BotTypeNumber | null }),
    botOwner: t.relation('botOwner', { nullable: true, description: 'Null for a person, and for a bot of nobody.' }),
    timezone: t.string({
      description: 'An IANA identifier; empty when not set.',
      resolve: (user) => userSetting(user, 'timezone'),
    }),
    avatarUrl: t.string({
      description: 'Relative to the address of the organization.',
      args: { size: t.arg({ type: AvatarSize, defaultValue: 'SMALL' }) },
      resolve: (user, { size }) => avatarUrl(user, size === 'MEDIUM' ? 'medium' : undefined),
    }),
    avatarSource: t.field({ type: AvatarSource, resolve: ({ avatarSource }) => avatarSource as AvatarLetter }),
    avatarVersion: t.exposeInt('avatarVersion', { description: 'Grows with each change of the image.' }),
    joinedAt: t.field({
      type: 'DateTime',
      description: 'To the minute, as REST and events have it.',
      resolve: ({ joinedAt }) => new Date(toMinute(joinedAt.toISOString())),
    }),
    isImportedStub: t.exposeBoolean('isImportedStub'),
    isDeleted: t.exposeBoolean('isDeleted'),
  }),
});
nodeModel('User', 'User', ({ viewer }) => visibleTo(viewer));

builder.queryField('viewer', (t) =>
  t.field({ type: User, description: 'Who is signed in.', resolve: (_root, _args, ctx) => signedIn(ctx).viewer.user }),
);

builder.queryField('user', (t) =>
  t.field({
    type: User,
    nullable: true,
    description: 'One user of the organization, by `userId` or by `email`, bots and those deactivated included.',
    args: {
      userId: t.arg.id({ ...refersTo('User'), required: false }),
      email: t.arg.string({
        required: false,
        description: 'The real address, where the viewer may see it, or `email`.',
      }),
    },
    resolve: (_root, { userId, email }, ctx) => {
      if ((userId == null) === (email == null)) throw new BadRequestError('Give either userId or email');
      return userId == null ? accessUserByEmail(signedIn(ctx), email ?? '') : accessUser(signedIn(ctx), userId);
    },
  }),
);

export const UserConnection = builder.connectionObject({ type: User, name: 'UserConnection' }, { name: 'UserEdge' });

builder.queryField('users', (t) =>
  t.connection(
    {
      type: User,
      description: 'The users of the organization by id, bots and those deactivated included.',
      args: {
        role: t.arg({ type: UserRole, required: false }),
        isBot: t.arg.boolean({ required: false }),
        isActive: t.arg.boolean({ required: false }),
      },
      resolve: (_root, args, ctx, info) => {
        const { viewer } = signedIn(ctx);
        const where = { AND: [visibleTo(viewer), { isSystem: false }, filterOf(args)] };
        return pageOf('User', { where, order: { id: 'asc' }, args, ctx, info });
      },
    },
    UserConnection,
  ),
);

interface UserFilter {
  readonly role?: RoleNumber | null | undefined;
  readonly isBot?: boolean | null | undefined;
  readonly isActive?: boolean | null | undefined;
}

const filterOf = ({ role, isBot, isActive }: UserFilter) => ({
  ...(role != null && { role }),
  ...(isBot != null && { botType: isBot ? { not: null } : null }),
  ...(isActive != null && { isActive }),
});

export const ProfileValueInput = builder.inputType('ProfileValueInput', {
  description: 'What a user is to have in one field of their profile. Without `text` and `userIds` it is to be empty.',
  fields: (t) => ({
    fieldId: t.id({ ...refersTo('CustomProfileField'), required: true }),
    text: t.string({ required: false, description: 'For all but a field of users.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: 'For a field of users.' }),
  }),
});

interface SentValue {
  readonly fieldId: number;
  readonly text?: string | null | undefined;
  readonly userIds?: readonly number[] | null | undefined;
}

/** @throws BadRequestError when a value is given in two ways. */
export function toEntries(values: readonly SentValue[]): readonly ValueEntry[] {
  return values.map(({ fieldId, text, userIds }) => {
    if (text != null && userIds != null) throw new BadRequestError('Give either text or userIds');
    return { fieldId, value: text ?? userIds ?? null };
  });
}

export const UserSettings = builder.objectRef<Pick<Ctx['viewer']['user'], 'settings'>>('UserSettings').implement({
  description: 'Settings of one user, whom alone they concern.',
  fields: (t) =>
    settingFields<Pick<Ctx['viewer']['user'], 'settings'>>(t, USER_SETTINGS, (user, name) =>
      userSetting(user, name as UserSettingName),
    ),
});

builder.queryField('ownSettings', (t) =>
  t.field({
    type: UserSettings,
    description: "The viewer's settings.",
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.user,
  }),
);

const UserSetting = builder.enumType('UserSetting', {
  description: "One of a user's settings, as it is named in `UserSettings`.",
  values: settingEnum(meaningsOf(USER_SETTINGS)),
});

interface WireSettingUpdate {
  readonly property: string;
  readonly value: unknown;
  readonly language_name?: string;
}

eventType<WireSettingUpdate>(
  'user_settings',
  'update',
  'UserSettingUpdatedEvent',
  (t) => ({
    setting: t.field({ type: UserSetting, resolve: ({ event }) => event.property }),
    ...settingValueFields(t, ({ event }) => event.value),
    languageName: t.string({
      nullable: true,
      description: 'Of DEFAULT_LANGUAGE: what the language is called in English.',
      resolve: ({ event }) => event.language_name ?? null,
    }),
  }),
  { description: "One of the user's settings changed. The new value stands in the field of its type." },
);

export const UserValue = builder.objectRef<WireUser>('UserValue').implement({
  description: 'A user as they were when something happened.',
  fields: (t) => ({
    id: t.expose('user_id', { type: 'ID', ...refersTo('User'), description: 'The `id` of the User.' }),
    databaseId: t.exposeInt('user_id', { description: 'The id REST uses.' }),
    fullName: t.exposeString('full_name'),
    email: t.exposeString('email', { description: 'The address for the API.' }),
    deliveryEmail: t.exposeString('delivery_email', { nullable: true, description: 'Null where it is hidden.' }),
    role: t.field({ type: UserRole, resolve: ({ role }) => role as RoleNumber }),
    isActive: t.boolean({ resolve: ({ is_active }) => is_active ?? true }),
    isBot: t.exposeBoolean('is_bot'),
    botType: t.field({ type: BotType, nullable: true, resolve: ({ bot_type }) => bot_type as BotTypeNumber | null }),
    botOwnerId: t.expose('bot_owner_id', { type: 'ID', ...refersTo('User'), nullable: true }),
    timezone: t.exposeString('timezone'),
    avatarUrl: t.exposeString('avatar_url', { nullable: true, description: 'Null where the client can work it out.' }),
    avatarVersion: t.exposeInt('avatar_version'),
    joinedAt: t.field({ type: 'DateTime', resolve: ({ date_joined }) => new Date(date_joined) }),
    isImportedStub: t.exposeBoolean('is_imported_stub'),
  }),
});

eventType<{ person: WireUser }>(
  'realm_user',
  'add',
  'UserAddedEvent',
  (t) => ({ user: t.field({ type: UserValue, resolve: ({ event }) => event.person }) }),
  { description: 'A person or bot came into the organization.' },
);

type CustomFieldChange = Extract<PersonChange, { custom_profile_field: object }>['custom_profile_field'];

const ProfileValueChange = builder.objectRef<CustomFieldChange>('ProfileValueChange').implement({
  description: 'What a user came to have in one custom field of their profile.',
  fields: (t) => ({
    fieldId: t.expose('id', { type: 'ID', ...refersTo('CustomProfileField') }),
    value: t.string({
      nullable: true,
      description: 'Null where the field is empty; for a field of users, the JSON text of a list of their ids.',
      resolve: ({ value }) => value,
    }),
    renderedValue: t.string({
      nullable: true,
      description: 'HTML, for the types that are Markdown.',
      resolve: (change) => ('rendered_value' in change ? change.rendered_value : null),
    }),
  }),
});

eventType<{ person: PersonChange }>(
  'realm_user',
  'update',
  'UserUpdatedEvent',
  (t) => ({
    userId: t.id({ ...refersTo('User'), resolve: ({ event: { person } }) => person.user_id }),
    fullName: t.string({
      nullable: true,
      resolve: ({ event: { person } }) => ('full_name' in person ? person.full_name : null),
    }),
    role: t.field({
      type: UserRole,
      nullable: true,
      resolve: ({ event: { person } }) => ('role' in person ? (person.role as RoleNumber) : null),
    }),
    isImportedStub: t.boolean({
      nullable: true,
      resolve: ({ event: { person } }) => ('is_imported_stub' in person ? person.is_imported_stub : null),
    }),
    isActive: t.boolean({
      nullable: true,
      description: 'False when they were deactivated, true when they are back.',
      resolve: ({ event: { person } }) => ('is_active' in person ? person.is_active : null),
    }),
    botOwnerId: t.id({
      ...refersTo('User'),
      nullable: true,
      resolve: ({ event: { person } }) => ('bot_owner_id' in person ? person.bot_owner_id : null),
    }),
    joinedAt: t.field({
      type: 'DateTime',
      nullable: true,
      resolve: ({ event: { person } }) => ('date_joined' in person ? new Date(person.date_joined) : null),
    }),
    timezone: t.string({
      nullable: true,
      resolve: ({ event: { person } }) => ('timezone' in person ? person.timezone : null),
    }),
    email: t.string({
      nullable: true,
      description: 'The address for the API.',
      resolve: ({ event: { person } }) => ('new_email' in person ? person.new_email : null),
    }),
    isDeliveryEmailVisible: t.boolean({
      nullable: true,
      description: 'Whether the real address is shown: it was not before, or was another.',
      resolve: ({ event: { person } }) => ('delivery_email' in person ? person.delivery_email !== null : null),
    }),
    deliveryEmail: t.string({
      nullable: true,
      resolve: ({ event: { person } }) => ('delivery_email' in person ? person.delivery_email : null),
    }),
    profileValue: t.field({
      type: ProfileValueChange,
      nullable: true,
      resolve: ({ event: { person } }) => ('custom_profile_field' in person ? person.custom_profile_field : null),
    }),
    avatarVersion: t.int({
      nullable: true,
      resolve: ({ event: { person } }) => ('avatar_version' in person ? person.avatar_version : null),
    }),
    avatarUrl: t.string({
      nullable: true,
      description: 'Of an image that changed; null as well where the client can work it out.',
      resolve: ({ event: { person } }) => ('avatar_url' in person ? person.avatar_url : null),
    }),
    avatarUrlMedium: t.string({
      nullable: true,
      description: 'The same image, 500 pixels wide.',
      resolve: ({ event: { person } }) => ('avatar_url_medium' in person ? person.avatar_url_medium : null),
    }),
    avatarSource: t.field({
      type: AvatarSource,
      nullable: true,
      resolve: ({ event: { person } }) => ('avatar_source' in person ? (person.avatar_source as AvatarLetter) : null),
    }),
  }),
  { description: 'Something about a user changed: the fields that are not null.' },
);

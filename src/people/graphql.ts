import type { GraphQLResolveInfo } from 'graphql';
import { apiEmail } from '../access/address.ts';
import { signedIn } from '../access/context.ts';
import { AVATAR_SOURCE } from '../access/organization-settings.ts';
import { USER_SETTINGS, type UserSettingName, userSetting } from '../access/user-settings.ts';
import { byKey, byKeyIfAny } from '../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import type { ConnectionArguments } from '../api/graphql/schema/connection.ts';
import { byNumber, nodeModel, nodesOf, nodeType, unlessAbsent } from '../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../api/graphql/schema/order-by.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { enumOf, settingFields, settingInputs } from '../api/graphql/schema/setting-fields.ts';
import { keysetOf, type SortedPage, sortedPageOf } from '../api/graphql/schema/sorted-list.ts';
import { UserRole } from '../api/graphql/schema/user-role.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import type { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../platform/roles.ts';
import { refuseNullBytes } from '../platform/text.ts';
import { EMBEDDED_BOT, GENERIC_BOT, INCOMING_WEBHOOK_BOT, OUTGOING_WEBHOOK_BOT } from './bot-types.ts';
import { mentionNames, usersById } from './loaders.ts';
import { secondFactorCondition } from './second-factors.ts';
import { listedUsers, USER_COLUMNS, USER_ID, type UserField, type UserFilter } from './user-pages.ts';
import { accessUserBy, visibleTo } from './users.ts';
import { avatarUrl, toMinute, visibleEmail } from './wire.ts';
import type { ValueEntry } from './wire-profile-fields.ts';

const BotType = builder.enumType('BotType', {
  description: 'Type of a bot.',
  values: {
    GENERIC: {
      value: GENERIC_BOT,
      description: 'A program that uses the API with the permissions of its role, like a person.',
    },
    INCOMING_WEBHOOK: {
      value: INCOMING_WEBHOOK_BOT,
      description: 'A bot for an external service that sends messages. The bot can do nothing else.',
    },
    OUTGOING_WEBHOOK: {
      value: OUTGOING_WEBHOOK_BOT,
      description: 'A bot for an external service. The service receives the messages that mention the bot.',
    },
    EMBEDDED: { value: EMBEDDED_BOT, description: 'A bot that is part of the server.' },
  } as const,
});

const AvatarSize = builder.enumType('AvatarSize', {
  description: 'Size of an avatar.',
  values: { SMALL: { description: '100 pixels wide.' }, MEDIUM: { description: '500 pixels wide.' } },
});

const AvatarSource = enumOf(AVATAR_SOURCE);

type AvatarLetter = 'G' | 'J' | 'U';
type RoleNumber = typeof OWNER | typeof ADMINISTRATOR | typeof MODERATOR | typeof MEMBER | typeof GUEST;
type BotTypeNumber = 1 | 2 | 3 | 4;

export const FULL_NAME = 'Full name, at most 100 characters.';
export const ROLE = 'Role of the user.';
const IS_BOT = 'Whether the user is a bot.';
const BOT_TYPE = 'Type of the bot. Null for a person.';
export const BOT_OWNER = 'Owner of the bot. Null for a person, or for a bot without an owner.';
export const TIMEZONE = 'Time zone, as an IANA identifier. Empty if it is not set.';
export const API_ADDRESS =
  'Email address for the API: the real one if all users can see it, otherwise a generated one.';
const DELIVERY_EMAIL = 'Real email address. Null if the viewer cannot see it.';
export const IS_ACTIVE = 'Whether the user is active. False if the account is deactivated.';
const AVATAR_VERSION = 'Version of the avatar, which increases with each change.';
export const JOINED = 'Time at which the user joined, rounded down to the minute.';
export const IMPORTED = 'Whether the account was created by an import or over the API and has never signed in.';

export const User = builder.prismaNode('User', {
  description: 'A person or a bot of the organization.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the user in the REST API.' }),
    fullName: t.exposeString('fullName', { description: FULL_NAME }),
    email: t.string({
      description: API_ADDRESS,
      resolve: apiEmail,
    }),
    deliveryEmail: t.string({
      nullable: true,
      description: DELIVERY_EMAIL,
      resolve: (user, _args, ctx) => visibleEmail(user, signedIn(ctx).viewer),
    }),
    role: t.field({ type: UserRole, description: ROLE, resolve: ({ role }) => role as RoleNumber }),
    isActive: t.exposeBoolean('isActive', { description: IS_ACTIVE }),
    isBot: t.boolean({ description: IS_BOT, resolve: ({ botType }) => botType !== null }),
    botType: t.field({
      type: BotType,
      nullable: true,
      description: BOT_TYPE,
      resolve: ({ botType }) => botType as BotTypeNumber | null,
    }),
    timezone: t.string({
      description: TIMEZONE,
      resolve: (user) => userSetting(user, 'timezone'),
    }),
    avatarUrl: t.string({
      description: "URL of the avatar, relative to the organization's URL.",
      args: { size: t.arg({ type: AvatarSize, defaultValue: 'SMALL', description: 'Size of the image.' }) },
      resolve: (user, { size }) => avatarUrl(user, size === 'MEDIUM' ? 'medium' : undefined),
    }),
    avatarSource: t.field({
      type: AvatarSource,
      description: 'Source of the avatar.',
      resolve: ({ avatarSource }) => avatarSource as AvatarLetter,
    }),
    avatarVersion: t.exposeInt('avatarVersion', { description: AVATAR_VERSION }),
    joinedAt: t.field({
      type: 'DateTime',
      description: JOINED,
      resolve: ({ joinedAt }) => new Date(toMinute(joinedAt.toISOString())),
    }),
    isImportedStub: t.exposeBoolean('isImportedStub', { description: IMPORTED }),
    isDeleted: t.exposeBoolean('isDeleted', {
      description: 'Whether the profile was erased when the user was deactivated.',
    }),
  }),
});
builder.prismaObjectField(User, 'botOwner', (t) =>
  t.field({
    type: User,
    nullable: true,
    description: BOT_OWNER,
    resolve: byKeyIfAny(usersById, ({ botOwnerId }) => botOwnerId),
  }),
);
builder.prismaObjectField(User, 'mentionName', (t) =>
  t.string({
    description:
      'Text between the asterisks of a mention, `@**…**`: the full name, followed by the id if another account in ' +
      'the organization has the same name, ignoring case.',
    resolve: byKey(mentionNames, ({ id }) => id),
  }),
);
nodeModel('User', 'User', ({ viewer }) => visibleTo(viewer));

builder.queryField('viewer', (t) =>
  t.field({
    type: User,
    nullable: true,
    description: 'The authenticated user. Null, with an error, if the request is not authenticated.',
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.user,
  }),
);

/** Reference to a user by id or email address. Resolvers receive it as a `UserKey`. */
const UserRef = builder.inputType('UserRef', {
  isOneOf: true,
  description: 'A user, by id or email address.',
  fields: (t) => ({
    id: t.id({ ...refersTo('User'), required: false, description: 'The `id` of the user.' }),
    email: t.string({
      required: false,
      description: 'Real email address, if the viewer can see it, or the value of `email`. Case-insensitive.',
    }),
  }),
});

builder.queryField('user', (t) =>
  t.field({
    type: User,
    nullable: true,
    description: 'A user of the organization, including bots and deactivated users. Null if there is none.',
    args: { by: t.arg({ type: UserRef, description: 'The user, by id or email address.' }) },
    resolve: (_root, { by }, ctx) => unlessAbsent(accessUserBy(signedIn(ctx), by)),
  }),
);

export const UserConnection = builder.connectionObject({ type: User, name: 'UserConnection' }, { name: 'UserEdge' });

/** Sort order of lists of users. */
export const UserOrder = orderInput<UserField>('User', 'users', {
  ID: { value: 'id', description: 'Order in which the accounts were created.' },
  FULL_NAME: {
    value: 'fullName',
    description: 'Full name, ignoring case. Accents are compared only if names are equal otherwise.',
  },
  JOINED_AT: { value: 'joinedAt', description: 'Time at which the user joined.' },
});

export const SORTED = 'Sort order.';
export const NAME_CONTAINS =
  'Only users whose full name contains this text. A name also matches if each word of the text begins a word ' +
  'of the name, in any order. Case and accents are ignored.';
export const ONLY_ROLE = 'Only users with this role. Absent: all.';

/** Default sort order of lists of users. */
export const BY_ID: OrderBy<UserField> = { field: 'id', direction: 'asc' };

/** Arguments of a list of users. */
export interface UserListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<UserField> | null | undefined;
}

/**
 * Returns the requested sort order and page of a list of users.
 *
 * @param list Name of the list. Cursors contain this name, and other lists reject them.
 * @throws ValidationError if the page size or the cursor is invalid.
 */
export function sortedUsers(list: string, { orderBy, ...args }: UserListArguments) {
  const by = orderBy ?? BY_ID;
  const sorted = { list, orderBy: by, keyType: by.field === 'fullName' ? 'string' : 'number', args } as const;
  return { sorted, page: { ...keysetOf(sorted), field: by.field } };
}

/** Loads the users of a page, in one batch with the users of other pages. Leaves out users who no longer exist. */
export const usersAt = (ctx: GraphQLContext, { rowKeys }: SortedPage) =>
  nodesOf(
    ctx,
    'User',
    rowKeys.map(({ id }) => id),
  );

builder.queryField('users', (t) =>
  t.connection(
    {
      type: User,
      description: 'Users of the organization, including bots and deactivated users.',
      args: {
        orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        nameContains: t.arg.string({ required: false, description: NAME_CONTAINS }),
        role: t.arg({ type: UserRole, required: false, description: ONLY_ROLE }),
        isBot: t.arg.boolean({ required: false, description: 'true: only bots. false: only people. Absent: both.' }),
        isActive: t.arg.boolean({
          required: false,
          description: 'true: only active users. false: only deactivated users. Absent: both.',
        }),
        hasSecondFactor: t.arg.boolean({
          required: false,
          description:
            'true: only people with a second factor. false: only people without one. Absent: all users. For administrators. ' +
            'API keys need the scope `administration`. Lists with this condition contain no bots, and contain owners only ' +
            'if the viewer is an owner.',
        }),
      },
      resolve: (_root, { role, isBot, isActive, nameContains, hasSecondFactor, ...args }, ctx, info) => {
        if (nameContains != null) refuseNullBytes('nameContains', nameContains);
        const condition = hasSecondFactor == null ? undefined : secondFactorCondition(signedIn(ctx), hasSecondFactor);
        return usersPage({
          list: 'users',
          filter: { role, isBot, isActive, nameContains, condition },
          args,
          ctx,
          info,
        });
      },
    },
    UserConnection,
  ),
);

interface UserPageOptions {
  /** Name of the list. Cursors contain it, and other lists reject them. */
  readonly list: string;
  readonly filter: UserFilter;
  readonly args: UserListArguments;
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
}

/**
 * Returns a page of the organization's users that match a filter.
 *
 * @throws ValidationError if the page size or the cursor is invalid.
 */
export function usersPage({ list, filter, args, ctx, info }: UserPageOptions) {
  const { organizationId, viewer } = signedIn(ctx);
  const { sorted, page } = sortedUsers(list, args);
  const rows = listedUsers(organizationId, filter);
  const column = USER_COLUMNS[page.field];
  return sortedPageOf('User', { ...sorted, rows, column, id: USER_ID, where: visibleTo(viewer), ctx, info });
}

const ProfileContentInput = builder.inputType('ProfileContentInput', {
  isOneOf: true,
  description: 'Value of a custom profile field.',
  fields: (t) => ({
    text: t.string({
      required: false,
      description: 'Value for all types except USER: at most 50 characters, for a paragraph 500.',
    }),
    userIds: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Ids of the users, for type USER.',
    }),
  }),
});

export const ProfileValueInput = builder.inputType('ProfileValueInput', {
  description: 'A value to set for a custom profile field.',
  fields: (t) => ({
    fieldId: t.id({ ...refersTo('CustomProfileField'), required: true, description: 'Id of the field.' }),
    content: t.field({
      type: ProfileContentInput,
      required: false,
      description: 'The new value. If absent, the field is emptied.',
    }),
  }),
});

export const toEntries = (values: readonly (typeof ProfileValueInput.$inferInput)[]): readonly ValueEntry[] =>
  values.map(({ fieldId, content }) => ({ fieldId, value: content?.text ?? content?.userIds ?? null }));

interface Settled {
  /** Row id of the user, or a text for the defaults of an organization. */
  readonly id: number | string;
  readonly settings: Prisma.JsonValue;
}

export const UserSettings = builder.objectRef<Settled>('UserSettings');

builder.node(UserSettings, {
  // The cast is safe: global ids can also contain texts.
  id: { resolve: ({ id }) => id as number },
  description:
    "Settings of a user, visible only to that user, or the organization's defaults for new users. The settings of a new " +
    'user have the values of the organization or, if it has not set one, the defaults stated here.',
  fields: (t) => ({
    ...settingFields<Settled>(t, USER_SETTINGS, (user, name) => userSetting(user, name as UserSettingName)),
    sendPrivateTypingNotifications: t.boolean({
      description: 'Whether other users are notified when the user types a direct message.',
      deprecationReason: 'Use `sendDirectTypingNotifications`.',
      resolve: (user) => userSetting(user, 'send_private_typing_notifications'),
    }),
  }),
});

export const UserSettingsInput = builder.inputType('UserSettingsInput', {
  description: 'Settings of users to change. Omitted fields do not change.',
  fields: (t) => settingInputs(t, USER_SETTINGS),
});

nodeType('UserSettings', async ({ viewer }, ids) => (ids.includes(viewer.id) ? [{ ...viewer.user }] : []));

builder.queryField('ownSettings', (t) =>
  t.field({
    type: UserSettings,
    nullable: true,
    description: "The viewer's settings.",
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.user,
  }),
);

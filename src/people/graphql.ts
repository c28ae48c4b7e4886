import type { GraphQLResolveInfo } from 'graphql';
import { apiEmail } from '../access/address.ts';
import { type Ctx, signedIn } from '../access/context.ts';
import { AVATAR_SOURCE } from '../access/realm-settings.ts';
import { USER_SETTINGS, type UserSettingName, userSetting } from '../access/user-settings.ts';
import { builder } from '../api/graphql/builder.ts';
import type { ConnectionArguments } from '../api/graphql/connection.ts';
import type { GraphQLContext } from '../api/graphql/context.ts';
import { byNumber, nodeModel, nodesOf, nodeType, unlessAbsent } from '../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../api/graphql/order-by.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { enumOf, settingFields } from '../api/graphql/setting-fields.ts';
import { keysetOf, pageRead, readPage, type SortedPage } from '../api/graphql/sorted-list.ts';
import { byKeyIfAny } from '../api/graphql/together.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../platform/roles.ts';
import { refuseNullBytes } from '../platform/text.ts';
import { EMBEDDED_BOT, GENERIC_BOT, INCOMING_WEBHOOK_BOT, OUTGOING_WEBHOOK_BOT } from './bot-types.ts';
import { usersById } from './loaders.ts';
import type { ValueEntry } from './profile-fields/wire.ts';
import { countUsers, readUserPlaces, type UserField, type UserFilter } from './user-pages.ts';
import { accessUserBy, visibleTo } from './users.ts';
import { avatarUrl, toMinute, visibleEmail } from './wire.ts';

export const UserRole = builder.enumType('UserRole', {
  description: 'What a user may do; each role may do what the ones below it may.',
  values: {
    OWNER: { value: OWNER, description: 'May do everything, what concerns money and other owners included.' },
    ADMINISTRATOR: {
      value: ADMINISTRATOR,
      description: 'Changes users, channels and most settings of the organization.',
    },
    MODERATOR: { value: MODERATOR, description: 'May do more than a member where settings let them.' },
    MEMBER: { value: MEMBER, description: 'The usual role.' },
    GUEST: { value: GUEST, description: 'Sees only what they were let into.' },
  } as const,
});

const BotType = builder.enumType('BotType', {
  description: 'What drives a bot.',
  values: {
    GENERIC: { value: GENERIC_BOT, description: 'A program that uses the API, as people do.' },
    INCOMING_WEBHOOK: {
      value: INCOMING_WEBHOOK_BOT,
      description: 'Another service, whose messages it sends; it may do nothing else.',
    },
    OUTGOING_WEBHOOK: {
      value: OUTGOING_WEBHOOK_BOT,
      description: 'Another service, which gets the messages that mention it.',
    },
    EMBEDDED: { value: EMBEDDED_BOT, description: 'The server itself.' },
  } as const,
});

const AvatarSize = builder.enumType('AvatarSize', {
  description: "In which of two sizes to have a user's image.",
  values: { SMALL: { description: '100 pixels wide.' }, MEDIUM: { description: '500 pixels wide.' } },
});

const AvatarSource = enumOf(AVATAR_SOURCE);

type AvatarLetter = 'G' | 'J' | 'U';
type RoleNumber = typeof OWNER | typeof ADMINISTRATOR | typeof MODERATOR | typeof MEMBER | typeof GUEST;
type BotTypeNumber = 1 | 2 | 3 | 4;

export const FULL_NAME = 'What they are called, in at most 100 characters.';
export const ROLE = 'What they may do.';
const IS_BOT = 'Whether it is a bot, and no person.';
const BOT_TYPE = 'What drives it; null for a person.';
export const BOT_OWNER = 'To whom the bot belongs; null for a person, and for a bot of nobody.';
export const TIMEZONE = 'Their time zone, an IANA identifier; empty when not set.';
export const API_ADDRESS =
  'The address for the API: the real one where everyone may see it, else one that stands for it.';
const DELIVERY_EMAIL = 'The real e-mail address; null where the viewer may not see it.';
export const IS_ACTIVE = 'False when they are deactivated.';
const AVATAR_VERSION = 'Grows with each change of the image.';
export const JOINED = 'When they came, to the minute.';
export const IMPORTED =
  'Whether the account was made by an import or over the API, and nobody has signed in to it yet.';

export const User = builder.prismaNode('User', {
  description: 'A person or a bot of the organization.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
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
      description: 'Where their image is, relative to the address of the organization.',
      args: { size: t.arg({ type: AvatarSize, defaultValue: 'SMALL', description: 'How large it is to be.' }) },
      resolve: (user, { size }) => avatarUrl(user, size === 'MEDIUM' ? 'medium' : undefined),
    }),
    avatarSource: t.field({
      type: AvatarSource,
      description: 'Where their image comes from.',
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
      description: 'Whether their profile was deleted when they were deactivated.',
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
nodeModel('User', 'User', ({ viewer }) => visibleTo(viewer));

builder.queryField('viewer', (t) =>
  t.field({
    type: User,
    nullable: true,
    description: 'Who is signed in; null, with an error, where nobody is.',
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.user,
  }),
);

/** A user, wherever their address may stand for their id: what resolvers are given is a `UserKey`. */
const UserRef = builder.inputType('UserRef', {
  isOneOf: true,
  description: 'Which user is meant.',
  fields: (t) => ({
    id: t.id({ ...refersTo('User'), required: false, description: 'The `id` that they have.' }),
    email: t.string({
      required: false,
      description: 'Their real address, where the viewer may see it, in whatever case; or what `email` is.',
    }),
  }),
});

builder.queryField('user', (t) =>
  t.field({
    type: User,
    nullable: true,
    description: 'One user of the organization, bots and those deactivated included; null for nobody.',
    args: { by: t.arg({ type: UserRef, description: 'Which user.' }) },
    resolve: (_root, { by }, ctx) => unlessAbsent(accessUserBy(signedIn(ctx), by)),
  }),
);

export const UserConnection = builder.connectionObject({ type: User, name: 'UserConnection' }, { name: 'UserEdge' });

/** How lists of users are sorted. */
export const UserOrder = orderInput<UserField>('User', 'users', {
  ID: { value: 'id', description: 'The order in which they came to the service.' },
  FULL_NAME: { value: 'fullName', description: 'What they are called, whatever the case.' },
  JOINED_AT: { value: 'joinedAt', description: 'When they came.' },
});

export const SORTED = 'How they are sorted.';

/** How lists of users are sorted where nothing else is asked for. */
export const BY_ID: OrderBy<UserField> = { field: 'id', direction: 'asc' };

/** What of a list of users is asked for. */
export interface UserListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<UserField> | null | undefined;
}

/** A list of users, sorted as it is asked for. @throws BadRequestError for a page size or cursor that is none of it. */
export function sortedUsers(list: string, { orderBy, ...args }: UserListArguments) {
  const by = orderBy ?? BY_ID;
  const sorted = { list, orderBy: by, keyType: by.field === 'fullName' ? 'string' : 'number', args } as const;
  return { sorted, page: { ...keysetOf(sorted), field: by.field } };
}

/** The users at the places of a page that are still there, in one step with those of other pages. */
export const usersAt = (ctx: GraphQLContext, { places }: SortedPage) =>
  nodesOf(
    ctx,
    'User',
    places.map(({ id }) => id),
  );

builder.queryField('users', (t) =>
  t.connection(
    {
      type: User,
      description: 'The users of the organization, bots and those deactivated included.',
      args: {
        orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        nameContains: t.arg.string({ required: false, description: 'What stands in their name, in whatever case.' }),
        role: t.arg({ type: UserRole, required: false, description: 'Only those of this very role.' }),
        isBot: t.arg.boolean({ required: false, description: 'True for bots alone, false for people alone.' }),
        isActive: t.arg.boolean({
          required: false,
          description: 'False for those deactivated alone, true for all others.',
        }),
      },
      resolve: (_root, { role, isBot, isActive, nameContains, ...args }, ctx, info) => {
        if (nameContains != null) refuseNullBytes('nameContains', nameContains);
        return usersPage({ list: 'users', filter: { role, isBot, isActive, nameContains }, args, ctx, info });
      },
    },
    UserConnection,
  ),
);

interface UserPageOptions {
  /** The list's own word. */
  readonly list: string;
  readonly filter: UserFilter;
  readonly args: UserListArguments;
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
}

/** A page of the organisation's users, of those a filter leaves. @throws BadRequestError as `sortedUsers`. */
export async function usersPage({ list, filter, args, ctx, info }: UserPageOptions) {
  const { app, realmId, viewer } = signedIn(ctx);
  const { sorted, page } = sortedUsers(list, args);
  const found = pageRead(await readUserPlaces(app.db, realmId, filter, page), sorted);
  const totalCount = () => countUsers(app.db, realmId, filter);
  return readPage('User', { ...sorted, page: found, totalCount, where: visibleTo(viewer), ctx, info });
}

const ProfileContentInput = builder.inputType('ProfileContentInput', {
  isOneOf: true,
  description: 'What stands in one field of a profile.',
  fields: (t) => ({
    text: t.string({
      required: false,
      description: 'For all but a field of users; at most 50 characters, 500 for a paragraph.',
    }),
    userIds: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'The people it is to name, for a field of users.',
    }),
  }),
});

export const ProfileValueInput = builder.inputType('ProfileValueInput', {
  description: 'What a user is to have in one field of their profile.',
  fields: (t) => ({
    fieldId: t.id({ ...refersTo('CustomProfileField'), required: true, description: 'Which field.' }),
    content: t.field({
      type: ProfileContentInput,
      required: false,
      description: 'What is to stand in it. Absent: nothing.',
    }),
  }),
});

export const toEntries = (values: readonly (typeof ProfileValueInput.$inferInput)[]): readonly ValueEntry[] =>
  values.map(({ fieldId, content }) => ({ fieldId, value: content?.text ?? content?.userIds ?? null }));

type Settled = Pick<Ctx['viewer']['user'], 'id' | 'settings'>;

export const UserSettings = builder.objectRef<Settled>('UserSettings');

builder.node(UserSettings, {
  id: { resolve: ({ id }) => id },
  description:
    'Settings of one user, whom alone they concern. By default as the organization has it for new users, or as told here.',
  fields: (t) => settingFields<Settled>(t, USER_SETTINGS, (user, name) => userSetting(user, name as UserSettingName)),
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

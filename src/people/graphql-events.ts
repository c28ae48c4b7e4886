import { USER_SETTINGS } from '../access/user-settings.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../api/graphql/schema/event-projections.ts';
import {
  EventInterface,
  type EventSource,
  eventType,
  ORGANIZATION_PERMISSIONS,
  type Outdated,
  outdatedOf,
  outdatedRoot,
  PERMISSIONS,
} from '../api/graphql/schema/event-types.ts';
import { settingEnum, shownSetting } from '../api/graphql/schema/setting-fields.ts';
import type { ProjectedSetting } from '../platform/setting.ts';
import { changedSetting, changedUser, newUser, userReference } from './event-projections.ts';
import { type PersonChange, type PersonProperty, type ProjectedChange, propertyOf } from './events.ts';
import {
  API_ADDRESS,
  BOT_OWNER,
  FULL_NAME,
  IMPORTED,
  IS_ACTIVE,
  JOINED,
  ROLE,
  TIMEZONE,
  User,
  UserSettings,
} from './graphql.ts';

builder.interfaceField(EventInterface, 'actor', (t) =>
  t.field({
    type: User,
    nullable: true,
    description:
      "User who made the change. Null if the service, the server's operator or a client that was not signed in made it, or if " +
      'the viewer cannot see the user. Also null for new messages (see their sender), and for events that an earlier version ' +
      'logged.',
    ...projectedFromEvent(userReference, ({ actorId }: EventSource) => actorId, { atMost: 1 }),
  }),
);

export const UserSetting = builder.enumType('UserSetting', {
  description: 'A setting of a user, named as in `UserSettings`.',
  values: settingEnum(USER_SETTINGS),
});

/** The description of the field with the name of a changed setting. */
export const CHANGED_SETTING = 'The setting that changed. Null for a setting without effect, which only REST has.';

interface WireSettingUpdate {
  readonly property: string;
  readonly language_name?: string;
}

type SettingSource = EventSource<WireSettingUpdate, ProjectedSetting>;

eventType<WireSettingUpdate, ProjectedSetting>(
  'user_settings',
  'update',
  'UserSettingUpdatedEvent',
  (t) => ({
    userSetting: t.field({
      type: UserSetting,
      nullable: true,
      description: CHANGED_SETTING,
      resolve: ({ event }) => shownSetting(USER_SETTINGS, event.property),
    }),
    userSettings: t.field({
      type: UserSettings,
      nullable: true,
      description: 'All settings of the viewer. The changed setting has the value from the event.',
      ...projectedFromEvent(changedSetting, ({ facts }: SettingSource) => facts),
    }),
    languageName: t.string({
      nullable: true,
      description: 'For DEFAULT_LANGUAGE: the English name of the language. Null for other settings.',
      resolve: ({ event }) => event.language_name ?? null,
    }),
  }),
  {
    description: 'A setting of the viewer changed.',
    // All drafts are deleted when their synchronization is turned on or off.
    outdates: ({ event }) => (event.property === 'enable_drafts_synchronization' ? [outdatedRoot('drafts')] : []),
  },
);

/** Lists of `Query` that contain the names of users. */
const NAMES = ['users', 'suggestions'];

eventType(
  'realm_user',
  'add',
  'UserAddedEvent',
  (t) => ({
    user: t.field({ type: User, nullable: true, description: 'The new user.', ...projectedFromEvent(newUser) }),
  }),
  { description: 'A person or a bot was added to the organization.', outdates: NAMES },
);

const PROPERTIES: Readonly<Record<PersonProperty, readonly [name: string, description: string]>> = {
  full_name: ['FULL_NAME', FULL_NAME],
  role: ['ROLE', ROLE],
  is_imported_stub: ['IS_IMPORTED_STUB', IMPORTED],
  is_active: ['IS_ACTIVE', IS_ACTIVE],
  bot_owner_id: ['BOT_OWNER', BOT_OWNER],
  date_joined: ['JOINED_AT', JOINED],
  timezone: ['TIMEZONE', TIMEZONE],
  new_email: ['EMAIL', API_ADDRESS],
  delivery_email: [
    'DELIVERY_EMAIL',
    'Real email address. It also counts as changed if only its visibility to the viewer changes.',
  ],
  custom_profile_field: ['PROFILE_DATA', 'Value of a custom profile field.'],
  avatar_version: ['AVATAR_URL', 'Avatar of the user, with its source and version.'],
};

const UserProperty = builder.enumType('UserProperty', {
  description: 'A property of a user that can change.',
  values: Object.fromEntries(
    Object.entries(PROPERTIES).map(([value, [name, description]]) => [name, { value, description }]),
  ) as Record<string, { readonly value: PersonProperty }>,
});

/** Fields of a user that the event of their change may not contain. */
const OF_USER = ['profileData', 'timezone', 'deliveryEmail', 'botOwner'];

/**
 * Fields of a user whose values depend on the user's role, which the event of a changed role does not contain. Administrators see
 * the second factors, sessions and API keys of all users except owners.
 */
const OF_ROLE = ['hasSecondFactor', 'sessions', 'apiKeys', PERMISSIONS];

/** Other fields that are outdated by the change of a property. Members and permissions of groups depend on roles. */
const OUTDATED_BY: { readonly [P in PersonProperty]?: readonly Outdated[] } = {
  full_name: [outdatedRoot(...NAMES)],
  is_active: [outdatedRoot(...NAMES, 'user', 'userGroups', 'userGroup')],
  role: [outdatedRoot(...NAMES, 'user', 'userGroups', 'userGroup'), ORGANIZATION_PERMISSIONS],
};

eventType<{ person: PersonChange }, ProjectedChange>(
  'realm_user',
  'update',
  'UserUpdatedEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'The user.',
      ...projectedFromEvent(changedUser, ({ facts }: EventSource<{ person: PersonChange }, ProjectedChange>) => facts),
    }),
    userProperty: t.field({
      type: UserProperty,
      description: 'The property that changed.',
      resolve: ({ event }) => propertyOf(event.person),
    }),
  }),
  {
    description: 'A property of a user changed.',
    outdates: ({ event: { person } }) => [
      ...outdatedOf('User', [person.user_id], 'role' in person ? [...OF_USER, ...OF_ROLE] : OF_USER),
      ...(OUTDATED_BY[propertyOf(person)] ?? []),
    ],
  },
);

import { USER_SETTINGS } from '../access/user-settings.ts';
import { builder } from '../api/graphql/builder.ts';
import { fromEvent } from '../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../api/graphql/event-types.ts';
import { meaningsOf, settingEnum } from '../api/graphql/setting-fields.ts';
import type { KnownSetting } from '../platform/setting.ts';
import { changedSetting, changedUser, newUser } from './entity-facts.ts';
import { type KnownChange, type PersonChange, type PersonProperty, propertyOf } from './events.ts';
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

const UserSetting = builder.enumType('UserSetting', {
  description: "One of a user's settings, as it is named in `UserSettings`.",
  values: settingEnum(meaningsOf(USER_SETTINGS)),
});

interface WireSettingUpdate {
  readonly property: string;
  readonly language_name?: string;
}

type SettingSource = EventSource<WireSettingUpdate, KnownSetting>;

eventType<WireSettingUpdate, KnownSetting>(
  'user_settings',
  'update',
  'UserSettingUpdatedEvent',
  (t) => ({
    userSetting: t.field({
      type: UserSetting,
      description: 'The setting that changed.',
      resolve: ({ event }) => event.property,
    }),
    userSettings: t.field({
      type: UserSettings,
      nullable: true,
      description: 'All of them, of which the event knows the new value.',
      ...fromEvent(changedSetting, ({ facts }: SettingSource) => facts),
    }),
    languageName: t.string({
      nullable: true,
      description: 'Of DEFAULT_LANGUAGE: what the language is called in English.',
      resolve: ({ event }) => event.language_name ?? null,
    }),
  }),
  { description: "One of the user's settings changed." },
);

eventType(
  'realm_user',
  'add',
  'UserAddedEvent',
  (t) => ({ user: t.field({ type: User, nullable: true, description: 'Who came.', ...fromEvent(newUser) }) }),
  { description: 'A person or bot came into the organization.' },
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
  delivery_email: ['DELIVERY_EMAIL', 'The real e-mail address, or whether the viewer may see it.'],
  custom_profile_field: ['PROFILE_DATA', 'What they have in a custom field of their profile.'],
  avatar_version: ['AVATAR', 'Their image.'],
};

const UserProperty = builder.enumType('UserProperty', {
  description: 'What can change of a user.',
  values: Object.fromEntries(
    Object.entries(PROPERTIES).map(([value, [name, description]]) => [name, { value, description }]),
  ) as Record<string, { readonly value: PersonProperty }>,
});

eventType<{ person: PersonChange }, KnownChange>(
  'realm_user',
  'update',
  'UserUpdatedEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'Whom it is about.',
      ...fromEvent(changedUser, ({ facts }: EventSource<{ person: PersonChange }, KnownChange>) => facts),
    }),
    userProperty: t.field({
      type: UserProperty,
      description: 'What changed of them.',
      resolve: ({ event }) => propertyOf(event.person),
    }),
  }),
  { description: 'Something about a user changed.' },
);

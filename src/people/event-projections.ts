import { USER_SETTINGS } from '../access/user-settings.ts';
import { changeProjections, EventProjection, referenceProjection } from '../api/graphql/schema/event-projections.ts';
import { settingProjections } from '../api/graphql/schema/setting-fields.ts';
import { type ProjectedSetting, withEffect } from '../platform/setting.ts';
import { type ProjectedChange, propertyOf } from './events.ts';
import { avatarUrl, toMinute, type UserSnapshot } from './wire.ts';

// Event projections never contain an email address, even if the event does. An event can be read days later, when the user has
// hidden the address. So addresses are fetched for each viewer, with the current visibility.

/** The user in an event that contains the whole user. */
export interface ProjectedUser {
  readonly user: UserSnapshot;
}

/**
 * Event projection (the fields that an event alone provides) of a user, for events that contain only the user's id: `id` and
 * `databaseId`.
 */
export const userReference = referenceProjection('User');

/** Event projection of a user, for events that contain the user's id and name: `id`, `databaseId` and full name. */
export const namedUser = new EventProjection<Pick<UserSnapshot, 'id' | 'fullName'>>(
  'User',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, fullName: ({ fullName }) => fullName },
);

type Size = { readonly size?: unknown };

const imageOf = (user: UserSnapshot, { size }: Size) => avatarUrl(user, size === 'MEDIUM' ? 'medium' : undefined);

const whole = {
  databaseId: ({ user }: ProjectedUser) => user.id,
  fullName: ({ user }: ProjectedUser) => user.fullName,
  role: ({ user }: ProjectedUser) => user.role,
  isActive: ({ user }: ProjectedUser) => user.isActive,
  isBot: ({ user }: ProjectedUser) => user.botType !== null,
  botType: ({ user }: ProjectedUser) => user.botType,
  botOwner: { projection: userReference, of: ({ user }: ProjectedUser) => user.botOwnerId },
  timezone: ({ user }: ProjectedUser) => user.timezone,
  avatarUrl: ({ user }: ProjectedUser, size: Size) => imageOf(user, size),
  avatarSource: ({ user }: ProjectedUser) => user.avatarSource,
  avatarVersion: ({ user }: ProjectedUser) => user.avatarVersion,
  joinedAt: ({ user }: ProjectedUser) => new Date(toMinute(user.joinedAt)),
  isImportedStub: ({ user }: ProjectedUser) => user.isImportedStub,
  isDeleted: ({ user }: ProjectedUser) => user.isDeleted,
};

const identity = { idOf: ({ user }: ProjectedUser) => user.id };

/**
 * Event projection of a user, for events that contain the whole user: all fields except email addresses, status and profile.
 */
export const userProjection = new EventProjection<ProjectedUser>('User', identity, whole);

/** Event projection of a new user: the fields of `userProjection`, and an empty profile. */
export const newUser = new EventProjection<ProjectedUser>('User', identity, { ...whole, profileData: () => [] });

/** Event projections of a changed user, by the changed property: the user's ids, and the fields that show the property. */
const changes = changeProjections<ProjectedChange>('User', ({ person }) => person.user_id, {
  full_name: { fullName: ({ person }) => person.full_name },
  role: { role: ({ person }) => person.role },
  is_imported_stub: { isImportedStub: ({ person }) => person.is_imported_stub },
  is_active: { isActive: ({ person }) => person.is_active },
  bot_owner_id: { botOwner: { projection: userReference, of: ({ person }) => person.bot_owner_id } },
  date_joined: { joinedAt: ({ person }) => new Date(person.date_joined ?? '') },
  timezone: { timezone: ({ person }) => person.timezone },
  avatar_version: {
    avatarUrl: ({ after }, size: Size) => after && imageOf(after, size),
    avatarSource: ({ person }) => person.avatar_source,
    avatarVersion: ({ person }) => person.avatar_version,
  },
});

/** Returns the event projection of a changed user: the user's ids, and the fields that show the changed property. */
export const changedUser = ({ facts }: { readonly facts: ProjectedChange }): EventProjection<ProjectedChange> =>
  changes(propertyOf(facts.person));

const bySetting = settingProjections('UserSettings', Object.keys(withEffect(USER_SETTINGS)));

/** Returns the event projection of the viewer's settings: the setting that changed. */
export const changedSetting = ({ facts }: { readonly facts: ProjectedSetting }): EventProjection<ProjectedSetting> =>
  bySetting(facts.property);

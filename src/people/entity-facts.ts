import { USER_SETTINGS } from '../access/user-settings.ts';
import { changeFacts, EntityFacts, referenceFacts } from '../api/graphql/entity-facts.ts';
import { settingFacts } from '../api/graphql/setting-fields.ts';
import type { KnownSetting } from '../platform/setting.ts';
import { type KnownChange, propertyOf } from './events.ts';
import { avatarUrl, toMinute, type UserFacts } from './wire.ts';

// No event answers an address, though it may hold one: events are read for days after, and who has hidden theirs meanwhile
// has hidden it from whoever had not read them. Addresses are read for each, as they may see them by then.

/** A user of whom an event knows everything. */
export interface KnownUser {
  readonly user: UserFacts;
}

/** A user of whom an event knows the id alone. */
export const userReference = referenceFacts('User');

/** A user whom an event names. */
export const namedUser = new EntityFacts<Pick<UserFacts, 'id' | 'fullName'>>(
  'User',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, fullName: ({ fullName }) => fullName },
);

type Size = { readonly size?: unknown };

const imageOf = (user: UserFacts, { size }: Size) => avatarUrl(user, size === 'MEDIUM' ? 'medium' : undefined);

const whole = {
  databaseId: ({ user }: KnownUser) => user.id,
  fullName: ({ user }: KnownUser) => user.fullName,
  role: ({ user }: KnownUser) => user.role,
  isActive: ({ user }: KnownUser) => user.isActive,
  isBot: ({ user }: KnownUser) => user.botType !== null,
  botType: ({ user }: KnownUser) => user.botType,
  botOwner: { facts: userReference, of: ({ user }: KnownUser) => user.botOwnerId },
  timezone: ({ user }: KnownUser) => user.timezone,
  avatarUrl: ({ user }: KnownUser, size: Size) => imageOf(user, size),
  avatarSource: ({ user }: KnownUser) => user.avatarSource,
  avatarVersion: ({ user }: KnownUser) => user.avatarVersion,
  joinedAt: ({ user }: KnownUser) => new Date(toMinute(user.joinedAt)),
  isImportedStub: ({ user }: KnownUser) => user.isImportedStub,
  isDeleted: ({ user }: KnownUser) => user.isDeleted,
};

const identity = { idOf: ({ user }: KnownUser) => user.id };

/** What an event knows of a user that stands in it whole. */
export const userFacts = new EntityFacts<KnownUser>('User', identity, whole);

/** What is known of a user who has just come: nothing stands in their profile yet. */
export const newUser = new EntityFacts<KnownUser>('User', identity, { ...whole, profileData: () => [] });

/** What is known of a user of whom something changed, by what that is. */
const changes = changeFacts<KnownChange>('User', ({ person }) => person.user_id, {
  full_name: { fullName: ({ person }) => person.full_name },
  role: { role: ({ person }) => person.role },
  is_imported_stub: { isImportedStub: ({ person }) => person.is_imported_stub },
  is_active: { isActive: ({ person }) => person.is_active },
  bot_owner_id: { botOwner: { facts: userReference, of: ({ person }) => person.bot_owner_id } },
  date_joined: { joinedAt: ({ person }) => new Date(person.date_joined ?? '') },
  timezone: { timezone: ({ person }) => person.timezone },
  avatar_version: {
    avatarUrl: ({ after }, size: Size) => after && imageOf(after, size),
    avatarSource: ({ person }) => person.avatar_source,
    avatarVersion: ({ person }) => person.avatar_version,
  },
});

/** What an event knows of the user of whom it tells one change. */
export const changedUser = ({ facts }: { readonly facts: KnownChange }): EntityFacts<KnownChange> =>
  changes(propertyOf(facts.person));

const bySetting = settingFacts('UserSettings', Object.keys(USER_SETTINGS));

/** What an event knows of the viewer's settings: the one that changed. */
export const changedSetting = ({ facts }: { readonly facts: KnownSetting }): EntityFacts<KnownSetting> =>
  bySetting(facts.property);

import { z } from 'zod';
import { apiEmail } from '../access/address.ts';
import type { UserSettingName } from '../access/user-settings.ts';
import type { AuditEntry } from '../events/audit.ts';
import { defineEvent, type Effect } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import { documentEvent } from '../events/wire.ts';
import type { User } from '../generated/prisma/client.ts';
import { languageName } from '../platform/languages.ts';
import type { ProjectedSetting, SettingValue } from '../platform/setting.ts';
import { avatarUrl, toMinute, toSnapshot, toWireUser, type UserSnapshot, visibleEmail, wireUser } from './wire.ts';
import type { WireProfileValue } from './wire-profile-fields.ts';

/**
 * Viewer id with which `userAdded` is rendered for all recipients. No user has this id. The new user is not among the
 * recipients, because they have no event queue yet.
 */
const OTHER_VIEWER_ID = 0;

/** Event that a user was added. Recipients: all users who can see the new user. */
export const userAdded = defineEvent('realm_user', 'add', (user: User) => ({ person: toSnapshot(user) }), {
  render: ({ person }, { role, options: { clientGravatar } }) => ({
    type: 'realm_user',
    op: 'add',
    person: toWireUser(person, { id: OTHER_VIEWER_ID, role }, { clientGravatar, profileData: {} }),
  }),
  facts: ({ person }) => ({ user: person }),
  audit: ({ id, role, botType, botOwnerId }) => ({
    ...{ action: 'user_created', objectType: 'user', objectId: id },
    changes: { role: { new: role }, ...(botType !== null && { bot_owner_id: { new: botOwnerId } }) },
  }),
});

/** One change of a user, as clients receive it. The type of the change determines the properties. */
export type PersonChange =
  | { readonly user_id: number; readonly full_name: string }
  | { readonly user_id: number; readonly role: number }
  | { readonly user_id: number; readonly is_imported_stub: false }
  | { readonly user_id: number; readonly is_active: boolean }
  | { readonly user_id: number; readonly bot_owner_id: number }
  | { readonly user_id: number; readonly date_joined: string }
  | { readonly user_id: number; readonly email: string; readonly timezone: string }
  | { readonly user_id: number; readonly new_email: string }
  | { readonly user_id: number; readonly delivery_email: string | null }
  | {
      readonly user_id: number;
      readonly custom_profile_field: { readonly id: number } & (WireProfileValue | { readonly value: null });
    }
  | {
      readonly user_id: number;
      readonly avatar_url: string | null;
      readonly avatar_url_medium: string | null;
      readonly avatar_source: string;
      readonly avatar_version: number;
    };

type KeysOf<T> = T extends unknown ? keyof T : never;
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;

/** One change of a user as a viewer receives it. Only the changed properties are present. */
export interface ProjectedChange {
  readonly person: { readonly [K in KeysOf<PersonChange>]?: ValueOf<PersonChange, K> } & { readonly user_id: number };
  /** The user after the change. Set only if the change is computed for each viewer (email address, avatar). */
  readonly after?: UserSnapshot | undefined;
}

/** Properties of a user that can change, by their names on the wire. */
export const PERSON_PROPERTIES = [
  ...(['full_name', 'role', 'is_imported_stub', 'is_active', 'bot_owner_id', 'date_joined', 'timezone'] as const),
  ...(['new_email', 'delivery_email', 'custom_profile_field', 'avatar_version'] as const),
] as const;
export type PersonProperty = (typeof PERSON_PROPERTIES)[number];

/** Returns the name of the user property that an event changes. @throws Error if the event changes no property. */
export function propertyOf(person: object): PersonProperty {
  const property = PERSON_PROPERTIES.find((name) => name in person);
  if (property === undefined) throw new Error('The event changes no property of the user');
  return property;
}

/**
 * The payload of an event about a changed user: the change itself, if it is the same for all viewers. Otherwise the user before
 * and after the change, from which each viewer's change is computed.
 */
type UserUpdate =
  | { readonly person: PersonChange; readonly old_role?: number | undefined }
  | {
      readonly before: UserSnapshot;
      readonly after: UserSnapshot;
      readonly shown: 'delivery_email' | 'avatar_url';
      /** Set if the viewer's own role changed. */
      readonly viewer_role?: RoleChange | undefined;
    };

interface RoleChange {
  readonly oldRole: number;
  readonly newRole: number;
}

/** Values of a user before a change, for the audit log. */
type Former = Pick<User, 'botOwnerId'>;

const userUpdated = defineEvent('realm_user', 'update', (update: UserUpdate, _former?: Former) => update, {
  audit: auditedChange,
  render: (update, view) => {
    const person = 'person' in update ? update.person : changeFor(update, view);
    return person === null ? null : { type: 'realm_user', op: 'update', person };
  },
  facts: (update, view) =>
    'person' in update ? { person: update.person } : { person: changeFor(update, view), after: update.after },
  perUser: (update, { userId }) => ('after' in update && update.after.id === userId ? 'self' : ''),
  effect: (update): Effect | undefined => {
    if (!('person' in update)) return undefined;
    const { person, old_role } = update;
    return 'role' in person && old_role !== undefined
      ? { kind: 'role', userId: person.user_id, oldRole: old_role, newRole: person.role }
      : undefined;
  },
});

/** Returns the entry of the audit log for a change. Undefined if the change is a consequence of another one. */
function auditedChange(update: UserUpdate, former?: Former): AuditEntry | undefined {
  if ('after' in update) {
    if (update.shown !== 'avatar_url' || update.before.avatarVersion === update.after.avatarVersion) return undefined;
    const { id } = update.after;
    return { action: 'user_avatar_changed', objectType: 'user', objectId: id, ownerId: id };
  }
  const { person, old_role } = update;
  const object = { objectType: 'user', objectId: person.user_id } as const;
  if ('full_name' in person) return { action: 'user_renamed', ...object, ownerId: person.user_id };
  if ('role' in person)
    return { action: 'user_role_changed', ...object, changes: { role: { old: old_role, new: person.role } } };
  if ('is_active' in person) return { action: person.is_active ? 'user_reactivated' : 'user_deactivated', ...object };
  if ('bot_owner_id' in person) {
    const changes = { bot_owner_id: { old: former?.botOwnerId, new: person.bot_owner_id } };
    return { action: 'bot_owner_changed', ...object, changes };
  }
  if (!('custom_profile_field' in person)) return undefined;
  const changes = { custom_profile_field_id: { new: person.custom_profile_field.id } };
  return { action: 'user_profile_changed', ...object, ownerId: person.user_id, changes };
}

/** Returns the change as the viewer sees it. Null if nothing changed for the viewer. */
function changeFor(update: Exclude<UserUpdate, { person: unknown }>, view: EventView): PersonChange | null {
  const { before, after, shown, viewer_role } = update;
  const viewerBefore = { id: view.userId, role: viewer_role?.oldRole ?? view.role };
  const viewer = { id: view.userId, role: viewer_role?.newRole ?? view.role };
  if (shown === 'delivery_email') {
    const [was, is] = [visibleEmail(before, viewerBefore), visibleEmail(after, viewer)];
    return was === is ? null : { user_id: after.id, delivery_email: is };
  }
  if (before.avatarVersion === after.avatarVersion) return null;
  return {
    user_id: after.id,
    avatar_url: avatarUrl(after),
    avatar_url_medium: avatarUrl(after, 'medium'),
    avatar_source: after.avatarSource,
    avatar_version: after.avatarVersion,
  };
}

export const userRenamed = (userId: number, fullName: string) =>
  userUpdated({ person: { user_id: userId, full_name: fullName } });

/**
 * Creates the event of a role change. The caller must store the event's id in a row of `role_change`, because past roles are
 * read from that table when events are replayed.
 */
export const userRoleChanged = (userId: number, { oldRole, newRole }: RoleChange) =>
  userUpdated({ person: { user_id: userId, role: newRole }, old_role: oldRole });

/** Creates the event, for all users, that a user was deactivated or reactivated. */
export const userActivityChanged = (userId: number, isActive: boolean) =>
  userUpdated({ person: { user_id: userId, is_active: isActive } });

export const botOwnerChanged = (bot: Pick<User, 'id' | 'botOwnerId'>, ownerId: number) =>
  userUpdated({ person: { user_id: bot.id, bot_owner_id: ownerId } }, bot);

/** Creates the two events of the first login of an imported or API-created user. */
export const stubLoggedIn = (userId: number, joinedAt: Date) => [
  userUpdated({ person: { user_id: userId, is_imported_stub: false } }),
  userUpdated({ person: { user_id: userId, date_joined: toMinute(joinedAt.toISOString()) } }),
];

export const userTimeZoneChanged = (user: User, timezone: string) =>
  userUpdated({ person: { user_id: user.id, email: apiEmail(user), timezone } });

/**
 * Creates the events for a changed visibility of a user's email address. The first event contains the real address or null.
 * Recipients: viewers who can now see the address, or no longer can. If the API address changed, a second event contains the
 * new API address. Recipients: all users.
 */
export function emailVisibilityChanged(before: User, after: User) {
  const facts = { before: toSnapshot(before), after: toSnapshot(after) };
  const [oldEmail, newEmail] = [apiEmail(before), apiEmail(after)];
  return [
    userUpdated({ ...facts, shown: 'delivery_email' }),
    ...(newEmail === oldEmail ? [] : [userUpdated({ person: { user_id: after.id, new_email: newEmail } })]),
  ];
}

/**
 * Creates the events, for all users, that a user's email address was erased. Unlike the events of `emailVisibilityChanged`,
 * they do not contain the erased address.
 */
export const addressErased = (before: User, newEmail: string) => [
  userUpdated({ person: { user_id: before.id, delivery_email: null } }),
  ...(apiEmail(before) === newEmail ? [] : [userUpdated({ person: { user_id: before.id, new_email: newEmail } })]),
];

/**
 * Creates the event for a viewer whose role changed, about a user who hides their email address from some roles. The viewer can
 * now see the address, or no longer can.
 */
export function emailHiddenOrShown(user: User, roles: RoleChange) {
  const facts = { before: toSnapshot(user), after: toSnapshot(user), viewer_role: roles };
  return [userUpdated({ ...facts, shown: 'delivery_email' })];
}

/** Creates the event, for all users, that a user's avatar changed. */
export const userAvatarChanged = (before: User, after: User) =>
  userUpdated({ before: toSnapshot(before), after: toSnapshot(after), shown: 'avatar_url' });

/** Creates the event that a profile value changed. @param value Undefined: the field is empty. */
export const profileValueChanged = (userId: number, fieldId: number, value: WireProfileValue | undefined) =>
  userUpdated({ person: { user_id: userId, custom_profile_field: { id: fieldId, ...(value ?? { value: null }) } } });

/** Event that a setting of a user changed. Recipients: the user's own clients. */
export const userSettingUpdated = defineEvent(
  'user_settings',
  'update',
  (property: UserSettingName, value: SettingValue) => ({
    property,
    value,
    ...(property === 'default_language' && { language_name: languageName(String(value)) ?? String(value) }),
  }),
  {
    // The payload contains no user id. `facts` uses the id of the viewer, who is always the owner of the setting.
    perUser: true,
    facts: ({ property, value }, { userId }): ProjectedSetting => ({ id: userId, property, value }),
  },
);

documentEvent(userAdded, 'users who can see the new user', { person: wireUser });
documentEvent(userUpdated, 'users who can see the user and for whom the value changed', {
  person: z
    .strictObject({
      user_id: z.int(),
      full_name: z.string(),
      role: z.int(),
      is_imported_stub: z.literal(false),
      is_active: z.boolean(),
      bot_owner_id: z.int(),
      date_joined: z.string(),
      email: z.string(),
      timezone: z.string(),
      new_email: z.string(),
      delivery_email: z.string().nullable(),
      custom_profile_field: z.strictObject({
        id: z.int(),
        value: z.string().nullable(),
        rendered_value: z.string().optional(),
      }),
      avatar_url: z.string().nullable(),
      avatar_url_medium: z.string().nullable(),
      avatar_source: z.string(),
      avatar_version: z.int(),
    })
    .partial()
    .required({ user_id: true })
    .describe('Changed fields with their new values.'),
});
documentEvent(userSettingUpdated, 'the user whose setting changed', {
  property: z.string(),
  value: z.union([z.boolean(), z.int(), z.string()]).nullable(),
  language_name: z
    .string()
    .optional()
    .describe('English name of the language. Only if `property` is "default_language".'),
});

import { z } from 'zod';
import { apiEmail } from '../access/address.ts';
import type { UserSettingName } from '../access/user-settings.ts';
import { defineEvent, type Effect } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import { tells } from '../events/wire.ts';
import type { User } from '../generated/prisma/client.ts';
import { languageName } from '../platform/languages.ts';
import type { KnownSetting, SettingValue } from '../platform/setting.ts';
import type { WireProfileValue } from './profile-fields/wire.ts';
import {
  avatarUrl,
  avatarUrlFor,
  toFacts,
  toMinute,
  toWireUser,
  type UserFacts,
  visibleEmail,
  wireUser,
} from './wire.ts';

/** The viewer is never the user: who has just been added has no queue yet. */
const SOMEBODY_ELSE = 0;

/** To everyone who can access the new user. */
export const userAdded = defineEvent('realm_user', 'add', (user: User) => ({ person: toFacts(user) }), {
  render: ({ person }, { role, options: { clientGravatar } }) => ({
    type: 'realm_user',
    op: 'add',
    person: toWireUser(person, { id: SOMEBODY_ELSE, role }, { clientGravatar, profileData: {} }),
  }),
  facts: ({ person }) => ({ user: person }),
});

/** One logical change of a user, in one of the forms below. */
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

/** One change of a user as a viewer hears of it: what changed is there, and nothing else is. */
export interface KnownChange {
  readonly person: { readonly [K in KeysOf<PersonChange>]?: ValueOf<PersonChange, K> } & { readonly user_id: number };
  /** The user after it, where each viewer sees something else of them. */
  readonly after?: UserFacts | undefined;
}

/** What can change of a user, by the name that tells it on the wire. */
export const PERSON_PROPERTIES = [
  ...(['full_name', 'role', 'is_imported_stub', 'is_active', 'bot_owner_id', 'date_joined', 'timezone'] as const),
  ...(['new_email', 'delivery_email', 'custom_profile_field', 'avatar_version'] as const),
] as const;
export type PersonProperty = (typeof PERSON_PROPERTIES)[number];

/** What an event says has changed. */
export function propertyOf(person: object): PersonProperty {
  const property = PERSON_PROPERTIES.find((name) => name in person);
  if (property === undefined) throw new Error('Nothing has changed of a user');
  return property;
}

/** A change that everybody sees alike, or a user before and after one that each viewer sees something else of. */
type Happened =
  | { readonly person: PersonChange; readonly old_role?: number | undefined }
  | {
      readonly before: UserFacts;
      readonly after: UserFacts;
      readonly shown: 'delivery_email' | 'avatar_url';
      /** Where it is the viewer's own role that changed. */
      readonly viewer_role?: RoleChange | undefined;
    };

interface RoleChange {
  readonly oldRole: number;
  readonly newRole: number;
}

const userUpdated = defineEvent('realm_user', 'update', (happened: Happened) => happened, {
  render: (happened, view) => {
    const person = 'person' in happened ? happened.person : changeFor(happened, view);
    return person === null ? null : { type: 'realm_user', op: 'update', person };
  },
  facts: (happened, view) =>
    'person' in happened ? { person: happened.person } : { person: changeFor(happened, view), after: happened.after },
  perUser: (happened, { userId }) => ('after' in happened && happened.after.id === userId ? 'self' : ''),
  effect: (happened): Effect | undefined => {
    if (!('person' in happened)) return undefined;
    const { person, old_role } = happened;
    return 'role' in person && old_role !== undefined
      ? { kind: 'role', userId: person.user_id, oldRole: old_role, newRole: person.role }
      : undefined;
  },
});

/** What is new to the viewer; null when it is nothing. */
function changeFor(happened: Exclude<Happened, { person: unknown }>, view: EventView): PersonChange | null {
  const { before, after, shown, viewer_role } = happened;
  const viewerBefore = { id: view.userId, role: viewer_role?.oldRole ?? view.role };
  const viewer = { id: view.userId, role: viewer_role?.newRole ?? view.role };
  if (shown === 'delivery_email') {
    const [was, is] = [visibleEmail(before, viewerBefore), visibleEmail(after, viewer)];
    return was === is ? null : { user_id: after.id, delivery_email: is };
  }
  const { clientGravatar } = view.options;
  const was = avatarUrlFor(before, viewerBefore, clientGravatar);
  const is = avatarUrlFor(after, viewer, clientGravatar);
  if (was === is) return null;
  return {
    user_id: after.id,
    avatar_url: is,
    avatar_url_medium: is === null ? null : avatarUrl(after, 'medium'),
    avatar_source: after.avatarSource,
    avatar_version: after.avatarVersion,
  };
}

export const userRenamed = (userId: number, fullName: string) =>
  userUpdated({ person: { user_id: userId, full_name: fullName } });

/** The id of this event must be kept in a row of `role_change`: replay asks it what the user was when. */
export const userRoleChanged = (userId: number, { oldRole, newRole }: RoleChange) =>
  userUpdated({ person: { user_id: userId, role: newRole }, old_role: oldRole });

/** To everyone: the user was deactivated, or is active again. */
export const userActivityChanged = (userId: number, isActive: boolean) =>
  userUpdated({ person: { user_id: userId, is_active: isActive } });

export const botOwnerChanged = (botId: number, ownerId: number) =>
  userUpdated({ person: { user_id: botId, bot_owner_id: ownerId } });

/** The two events of an imported or API-created user's first login. */
export const stubLoggedIn = (userId: number, joinedAt: Date) => [
  userUpdated({ person: { user_id: userId, is_imported_stub: false } }),
  userUpdated({ person: { user_id: userId, date_joined: toMinute(joinedAt.toISOString()) } }),
];

export const userTimeZoneChanged = (user: User, timezone: string) =>
  userUpdated({ person: { user_id: user.id, email: apiEmail(user), timezone } });

/**
 * What it means that other people see a user's address: the address itself, and the image that some clients work out
 * from it, to those for whom it is another; and to everyone the address for the API, when that is another.
 */
export function emailVisibilityChanged(before: User, after: User) {
  const facts = { before: toFacts(before), after: toFacts(after) };
  const [oldEmail, newEmail] = [apiEmail(before), apiEmail(after)];
  return [
    userUpdated({ ...facts, shown: 'delivery_email' }),
    ...(after.avatarSource === 'G' ? [userUpdated({ ...facts, shown: 'avatar_url' })] : []),
    ...(newEmail === oldEmail ? [] : [userUpdated({ person: { user_id: after.id, new_email: newEmail } })]),
  ];
}

/**
 * To somebody whose role changed: what they come to see of a user who hides their address from some, or see no more.
 */
export function emailHiddenOrShown(user: User, roles: RoleChange) {
  const facts = { before: toFacts(user), after: toFacts(user), viewer_role: roles };
  return [
    userUpdated({ ...facts, shown: 'delivery_email' }),
    ...(user.avatarSource === 'G' ? [userUpdated({ ...facts, shown: 'avatar_url' })] : []),
  ];
}

/** To everyone: the image as each viewer's client gets it. */
export const userAvatarChanged = (before: User, after: User) =>
  userUpdated({ before: toFacts(before), after: toFacts(after), shown: 'avatar_url' });

/** @param value Undefined: the field is empty. */
export const profileValueChanged = (userId: number, fieldId: number, value: WireProfileValue | undefined) =>
  userUpdated({ person: { user_id: userId, custom_profile_field: { id: fieldId, ...(value ?? { value: null }) } } });

/** To the user's own clients. */
export const userSettingUpdated = defineEvent(
  'user_settings',
  'update',
  (property: UserSettingName, value: SettingValue) => ({
    property,
    value,
    ...(property === 'default_language' && { language_name: languageName(String(value)) ?? String(value) }),
  }),
  {
    // Whose it is is who hears it.
    perUser: true,
    facts: ({ property, value }, { userId }): KnownSetting => ({ id: userId, property, value }),
  },
);

tells(userAdded, 'everyone who can access the new user', { person: wireUser });
tells(userUpdated, 'everyone who can access the user, as far as it is another for them', {
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
    .describe('What changed, with its new value.'),
});
tells(userSettingUpdated, 'the user', {
  property: z.string(),
  value: z.union([z.boolean(), z.int(), z.string()]).nullable(),
  language_name: z.string().optional().describe('With `default_language`.'),
});

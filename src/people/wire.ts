import { z } from 'zod';
import { apiEmailOf } from '../access/address.ts';
import {
  EMAIL_VISIBILITIES,
  userSetting,
  VISIBLE_TO_ADMINISTRATORS,
  VISIBLE_TO_EVERYONE,
  VISIBLE_TO_MEMBERS,
  VISIBLE_TO_MODERATORS,
} from '../access/user-settings.ts';
import type { User } from '../generated/prisma/client.ts';
import { ADMINISTRATOR, isAdministrator, isGuest, isOwner, MEMBER, MODERATOR } from '../platform/roles.ts';
import type { Wire } from '../platform/wire.ts';
import { signatureOf } from './avatar-signature.ts';
import { type WireProfileData, wireProfileData } from './wire-profile-fields.ts';

/**
 * Snapshot of a user as JSON, from which events about the user are rendered. Clients receive only the properties that their
 * user can see.
 */
export interface UserSnapshot {
  readonly id: number;
  readonly email: string;
  readonly fullName: string;
  readonly role: number;
  readonly isActive: boolean;
  readonly botType: number | null;
  readonly botOwnerId: number | null;
  readonly isImportedStub: boolean;
  readonly isDeleted: boolean;
  /** Time at which the user joined, in ISO 8601. */
  readonly joinedAt: string;
  readonly avatarSource: string;
  readonly avatarVersion: number;
  readonly timezone: string;
  readonly emailAddressVisibility: number;
}

/** The user who receives the data of another user. */
export interface Requester {
  readonly id: number;
  readonly role: number;
}

/** Options for rendering a user. */
export interface UserRenderOptions {
  /** The client's option `client_gravatar`. It has no effect: `avatar_url` is always set. */
  readonly clientGravatar: boolean;
  /** Profile of a person. Absent if it is not requested. Not shown for bots. */
  readonly profileData?: WireProfileData | undefined;
}

export function toSnapshot(user: User): UserSnapshot {
  const { id, email, fullName, role, isActive, botType, botOwnerId, isImportedStub, isDeleted } = user;
  return {
    ...{ id, email, fullName, role, isActive, botType, botOwnerId, isImportedStub, isDeleted },
    joinedAt: user.joinedAt.toISOString(),
    avatarSource: user.avatarSource,
    avatarVersion: user.avatarVersion,
    timezone: userSetting(user, 'timezone'),
    emailAddressVisibility: userSetting(user, 'email_address_visibility'),
  };
}

/** A user as a viewer sees them. */
export const wireUser = z
  .object({
    user_id: z.int(),
    delivery_email: z.string().nullable().describe('The real email address. Null if you cannot see it.'),
    email: z.string().describe('The API email address.'),
    full_name: z.string(),
    date_joined: z.string(),
    is_active: z.boolean(),
    is_owner: z.boolean(),
    is_admin: z.boolean(),
    is_guest: z.boolean(),
    is_bot: z.boolean(),
    bot_type: z.int().nullable(),
    bot_owner_id: z.int().nullable(),
    role: z.int(),
    timezone: z.string(),
    avatar_url: z.string().nullable(),
    avatar_version: z.int(),
    is_imported_stub: z.boolean(),
    is_deleted: z.literal(true).optional(),
    profile_data: wireProfileData.optional(),
  })
  .meta({ id: 'User' });
export type WireUser = Wire<typeof wireUser>;

/** Returns a user as `requester` sees them. */
export function toWireUser(user: User | UserSnapshot, requester: Requester, wanted: UserRenderOptions): WireUser {
  const snapshot = isSnapshot(user) ? user : toSnapshot(user);
  const { profileData } = wanted;
  const isBot = snapshot.botType !== null;
  return {
    user_id: snapshot.id,
    delivery_email: deliveryEmail(snapshot, requester),
    email: apiEmailOf(snapshot),
    full_name: snapshot.fullName,
    date_joined: toMinute(snapshot.joinedAt),
    is_active: snapshot.isActive,
    is_owner: isOwner(snapshot.role),
    is_admin: isAdministrator(snapshot.role),
    is_guest: isGuest(snapshot.role),
    is_bot: isBot,
    bot_type: snapshot.botType,
    bot_owner_id: snapshot.botOwnerId,
    role: snapshot.role,
    timezone: snapshot.timezone,
    avatar_url: avatarUrl(snapshot),
    avatar_version: snapshot.avatarVersion,
    is_imported_stub: snapshot.isImportedStub,
    ...(snapshot.isDeleted && { is_deleted: true as const }),
    ...(profileData !== undefined && !isBot && { profile_data: profileData }),
  };
}

/**
 * Returns the user's real address if the requester can see it, otherwise null. All users can see the addresses of bots and
 * their own address. For the address of another person, that person's setting determines which roles can see it.
 */
function deliveryEmail(snapshot: UserSnapshot, requester: Requester): string | null {
  const { id, email, botType, emailAddressVisibility } = snapshot;
  const visible = botType !== null || id === requester.id || requester.role <= maxRole(emailAddressVisibility);
  return visible ? email : null;
}

/** Returns the highest role number that can see an address with this visibility. Lower numbers are roles with more rights. */
function maxRole(visibility: number): number {
  switch (visibility) {
    case VISIBLE_TO_EVERYONE:
      return Number.POSITIVE_INFINITY;
    case VISIBLE_TO_MEMBERS:
      return MEMBER;
    case VISIBLE_TO_MODERATORS:
      return MODERATOR;
    case VISIBLE_TO_ADMINISTRATORS:
      return ADMINISTRATOR;
    default:
      return Number.NEGATIVE_INFINITY;
  }
}

/**
 * Returns the values of `email_address_visibility` with which viewers of this role can see another person's address.
 */
export const visibilitiesFor = (role: number): number[] =>
  EMAIL_VISIBILITIES.filter((visibility) => role <= maxRole(visibility));

/** Returns the real address. Null if `requester` cannot see it. */
export const visibleEmail = (user: User | UserSnapshot, requester: Requester): string | null =>
  deliveryEmail(isSnapshot(user) ? user : toSnapshot(user), requester);

/** Returns the path of a user's image, 100 px wide, or 500 px for `medium`. The path is signed and cannot be guessed. */
export function avatarUrl(version: Pick<UserSnapshot, 'id' | 'avatarVersion'>, size?: 'medium'): string {
  const { id, avatarVersion } = version;
  return `/avatar/${id}/${signatureOf(version)}${size === 'medium' ? '/medium' : ''}?v=${avatarVersion}`;
}

/** Returns a time without seconds: "2019-10-20T07:50+00:00". */
export const toMinute = (iso: string): string => `${iso.slice(0, 16)}+00:00`;

const isSnapshot = (user: User | UserSnapshot): user is UserSnapshot => 'timezone' in user;

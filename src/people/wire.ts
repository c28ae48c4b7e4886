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
import { type WireProfileData, wireProfileData } from './profile-fields/wire.ts';

/** All of a user that others see some of, as JSON: what events about users are rendered from. */
export interface UserFacts {
  readonly id: number;
  readonly email: string;
  readonly fullName: string;
  readonly role: number;
  readonly isActive: boolean;
  readonly botType: number | null;
  readonly botOwnerId: number | null;
  readonly isImportedStub: boolean;
  readonly isDeleted: boolean;
  /** ISO 8601. */
  readonly joinedAt: string;
  readonly avatarSource: string;
  readonly avatarVersion: number;
  readonly timezone: string;
  readonly emailAddressVisibility: number;
}

/** Who looks at a user. */
export interface Requester {
  readonly id: number;
  readonly role: number;
}

/** What is wanted of a user. */
export interface Wanted {
  /** Whether `avatar_url` is null where the client can work it out. */
  readonly clientGravatar: boolean;
  /** What a person has in their profile; absent where it is not wanted. Of a bot nothing is shown. */
  readonly profileData?: WireProfileData | undefined;
}

export function toFacts(user: User): UserFacts {
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

/** A user as somebody sees them. */
export const wireUser = z
  .object({
    user_id: z.int(),
    delivery_email: z.string().nullable().describe('The real address; null where you may not see it.'),
    email: z.string().describe('The address the API knows them by.'),
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

/** A user as `requester` sees them. */
export function toWireUser(user: User | UserFacts, requester: Requester, wanted: Wanted): WireUser {
  const facts = isFacts(user) ? user : toFacts(user);
  const { profileData } = wanted;
  const isBot = facts.botType !== null;
  return {
    user_id: facts.id,
    delivery_email: deliveryEmail(facts, requester),
    email: apiEmailOf(facts),
    full_name: facts.fullName,
    date_joined: toMinute(facts.joinedAt),
    is_active: facts.isActive,
    is_owner: isOwner(facts.role),
    is_admin: isAdministrator(facts.role),
    is_guest: isGuest(facts.role),
    is_bot: isBot,
    bot_type: facts.botType,
    bot_owner_id: facts.botOwnerId,
    role: facts.role,
    timezone: facts.timezone,
    avatar_url: avatarUrlFor(facts, requester, wanted.clientGravatar),
    avatar_version: facts.avatarVersion,
    is_imported_stub: facts.isImportedStub,
    ...(facts.isDeleted && { is_deleted: true as const }),
    ...(profileData !== undefined && !isBot && { profile_data: profileData }),
  };
}

/** The real address if `requester` may see it: their own, a bot's, or by the user's own setting. */
function deliveryEmail(facts: UserFacts, requester: Requester): string | null {
  const { id, email, botType, emailAddressVisibility } = facts;
  const visible = botType !== null || id === requester.id || requester.role <= maxRole(emailAddressVisibility);
  return visible ? email : null;
}

/** The role up to which a visibility reaches. */
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

/** The settings of `email_address_visibility` that let somebody of this role see another person's address. */
export const visibilitiesFor = (role: number): number[] =>
  EMAIL_VISIBILITIES.filter((visibility) => role <= maxRole(visibility));

/** The real address; null where `requester` may not see it. */
export const visibleEmail = (user: User | UserFacts, requester: Requester): string | null =>
  deliveryEmail(isFacts(user) ? user : toFacts(user), requester);

/** The path of a user's image, 100 px wide, or 500 px for `medium`. */
export function avatarUrl({ id, avatarVersion }: Pick<UserFacts, 'id' | 'avatarVersion'>, size?: 'medium'): string {
  return `/avatar/${id}${size === 'medium' ? '/medium' : ''}?v=${avatarVersion}`;
}

/** The image as `requester` gets it: null when they asked for that, and their client can work it out. */
export function avatarUrlFor(facts: UserFacts, requester: Requester, clientGravatar: boolean): string | null {
  const clientWorksItOut = clientGravatar && facts.avatarSource === 'G' && deliveryEmail(facts, requester) !== null;
  return clientWorksItOut ? null : avatarUrl(facts);
}

/** "2019-10-20T07:50+00:00". */
export const toMinute = (iso: string): string => `${iso.slice(0, 16)}+00:00`;

const isFacts = (user: User | UserFacts): user is UserFacts => 'timezone' in user;

/** Numbers that represent the roles of users. A role with a lower number has more rights. */

export const OWNER = 100;

export const ADMINISTRATOR = 200;

export const MODERATOR = 300;

export const MEMBER = 400;

export const GUEST = 600;

export const ROLES = [OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST] as const;

/** Meaning of the role numbers, for the API documentation. */
export const ROLES_MEANING = '100 owner, 200 administrator, 300 moderator, 400 member, 600 guest.';

export type Role = (typeof ROLES)[number];

export const isOwner = (role: number): boolean => role <= OWNER;

export const isAdministrator = (role: number): boolean => role <= ADMINISTRATOR;

export const isModerator = (role: number): boolean => role <= MODERATOR;

export const isGuest = (role: number): boolean => role >= GUEST;

/** Role numbers: lower means more rights. */
export const OWNER = 100;

export const ADMINISTRATOR = 200;

export const MODERATOR = 300;

export const MEMBER = 400;

export const GUEST = 600;

export const ROLES = [OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST] as const;

export type Role = (typeof ROLES)[number];

export const isOwner = (role: number): boolean => role <= OWNER;

export const isAdministrator = (role: number): boolean => role <= ADMINISTRATOR;

export const isModerator = (role: number): boolean => role <= MODERATOR;

export const isGuest = (role: number): boolean => role >= GUEST;

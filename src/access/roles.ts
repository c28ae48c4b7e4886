import { UnauthorizedPrincipalError } from '../platform/errors.ts';
import type { Ctx } from './context.ts';

/** Role numbers: lower means more rights. @see interface document 2.3 */
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

/** @throws UnauthorizedPrincipalError unless the viewer is an owner. */
export function requireOwner({ viewer }: Ctx): void {
  if (!isOwner(viewer.role)) throw new UnauthorizedPrincipalError('an organization owner');
}

/** @throws UnauthorizedPrincipalError unless the viewer is an administrator or owner. */
export function requireAdministrator({ viewer }: Ctx): void {
  if (!isAdministrator(viewer.role)) throw new UnauthorizedPrincipalError('an organization administrator');
}

/** @throws UnauthorizedPrincipalError when the viewer is a guest. */
export function requireMember({ viewer }: Ctx): void {
  if (isGuest(viewer.role)) throw new UnauthorizedPrincipalError('an organization member');
}

import { UnauthorizedPrincipalError } from '../platform/errors.ts';
import { isAdministrator, isGuest, isOwner } from '../platform/roles.ts';
import type { Ctx } from './context.ts';

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

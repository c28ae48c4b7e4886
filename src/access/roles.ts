import { UnauthorizedPrincipalError } from '../platform/errors.ts';
import { isAdministrator, isGuest, isOwner } from '../platform/roles.ts';
import type { Ctx } from './context.ts';

type Acting = Pick<Ctx, 'viewer'>;

/** Whether `requireOwner` accepts the viewer. */
export const ownsOrganization = ({ viewer }: Acting): boolean => isOwner(viewer.role);

/** Whether `requireAdministrator` accepts the viewer. */
export const administersOrganization = ({ viewer }: Acting): boolean => isAdministrator(viewer.role);

/** @throws UnauthorizedPrincipalError unless the viewer is an owner. */
export function requireOwner(ctx: Acting): void {
  if (!ownsOrganization(ctx)) throw new UnauthorizedPrincipalError('an organization owner');
}

/** @throws UnauthorizedPrincipalError unless the viewer is an administrator or owner. */
export function requireAdministrator(ctx: Acting): void {
  if (!administersOrganization(ctx)) throw new UnauthorizedPrincipalError('an organization administrator');
}

/** @throws UnauthorizedPrincipalError when the viewer is a guest. */
export function requireMember({ viewer }: Ctx): void {
  if (isGuest(viewer.role)) throw new UnauthorizedPrincipalError('an organization member');
}

import { ForbiddenError, UnauthorizedPrincipalError } from '../platform/errors.ts';
import { missingScopes } from '../platform/key-scopes.ts';
import { ADMINISTRATOR, isAdministrator, isGuest, isOwner, MEMBER, OWNER } from '../platform/roles.ts';
import type { Ctx } from './context.ts';

type Acting = Pick<Ctx, 'viewer'>;

/** Returns whether the viewer is an owner of the organization. */
export const ownsOrganization = ({ viewer }: Acting): boolean => isOwner(viewer.role);

/** Returns whether the viewer is an administrator or owner of the organization. */
export const administersOrganization = ({ viewer }: Acting): boolean => isAdministrator(viewer.role);

/**
 * Returns whether the viewer can read data of other users that only administrators see: keys, sessions and factors with which
 * these users sign in. A limited API key of an administrator needs the scope `administration`.
 */
export const readsAsAdministrator = (ctx: Acting): boolean =>
  administersOrganization(ctx) && missingScopes(ctx.viewer.credential, 'administration').length === 0;

/** Checks that the viewer is an owner. @throws UnauthorizedPrincipalError if the viewer has a lower role. */
export function requireOwner(ctx: Acting): void {
  if (!ownsOrganization(ctx)) throw new UnauthorizedPrincipalError(OWNER);
}

/** Checks that the viewer is an administrator or owner. @throws UnauthorizedPrincipalError if the viewer is neither. */
export function requireAdministrator(ctx: Acting): void {
  if (!administersOrganization(ctx)) throw new UnauthorizedPrincipalError(ADMINISTRATOR);
}

/** Checks that the viewer is not a guest. @throws UnauthorizedPrincipalError if the viewer is a guest. */
export function requireMember({ viewer }: Ctx): void {
  if (isGuest(viewer.role)) throw new UnauthorizedPrincipalError(MEMBER);
}

/** Checks that the viewer is not a bot. @throws ForbiddenError if the viewer is a bot. */
export function requirePerson({ viewer }: Ctx): void {
  if (viewer.user.botType !== null) {
    throw new ForbiddenError('This endpoint does not accept bot requests.', {
      schemaMessage: 'This action is not available to bots.',
    });
  }
}

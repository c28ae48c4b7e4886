import type { Organization } from '../../generated/prisma/client.ts';

/** Deactivation time that marks an organization without users: its first owner has not used the link yet. */
export const AWAITING_OWNER = new Date(1);

/** Returns whether the first owner of an organization has not used the link yet. */
export const isAwaitingOwner = ({ deactivatedAt }: Pick<Organization, 'deactivatedAt'>): boolean =>
  deactivatedAt?.getTime() === AWAITING_OWNER.getTime();

import type { Runtime } from '../access/context.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import type { Organization } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { TotalReachedError } from '../platform/errors.ts';

/** Returns the number of active people of an organization: guests included, bots not. */
export const countActivePeople = (db: Pick<Tx, 'user'>, organizationId: number): Promise<number> =>
  db.user.count({ where: { organizationId, isActive: true, botType: null, isSystem: false } });

/** Returns the number of people who can become active in the organization. Infinity if their number is not limited. */
export async function freeSeats(tx: Tx, organization: Organization): Promise<number> {
  const limit = organizationSetting(organization, 'max_active_users');
  return limit === null ? Number.POSITIVE_INFINITY : limit - (await countActivePeople(tx, organization.id));
}

/**
 * Checks that one more person can be active in the organization. The transaction must hold the lock of the organization's row,
 * and `organization` must be read under it. Concurrent transactions then cannot exceed the limit.
 *
 * @throws TotalReachedError if the organization has as many active people as its limit permits.
 */
export async function requireFreeSeat(tx: Tx, organization: Organization): Promise<void> {
  if ((await freeSeats(tx, organization)) > 0) return;
  const limit = organizationSetting(organization, 'max_active_users');
  throw new TotalReachedError(
    `This organization cannot have more than ${limit} active users. Ask an administrator to deactivate users, or the operator ` +
      'of the server to raise the limit.',
    'realm_max_active_users',
  );
}

/** Period in which an organization that a visitor created can send fewer invitations, in milliseconds: three days. */
const NEW_MS = 3 * 86_400_000;
/** Invitation emails that such an organization can send within 24 hours. */
const INVITATIONS_OF_NEW = 100;

/**
 * Returns the number of invitation emails that users of an organization can send within 24 hours. Undefined: unlimited. In the
 * first three days of an organization that a visitor created, at most 100, unless the operator has set the organization's limit.
 */
export function userInvitationsPerDayOf(
  app: Pick<Runtime, 'config' | 'now'>,
  organization: Pick<Organization, 'settings' | 'isByVisitor' | 'createdAt'>,
): number | undefined {
  const limit = invitationsPerDayOf(app, organization);
  const isSet = organizationSetting(organization, 'max_invitations_per_day') !== null;
  const isNew = organization.isByVisitor && app.now().getTime() - organization.createdAt.getTime() < NEW_MS;
  return isNew && !isSet ? Math.min(limit ?? INVITATIONS_OF_NEW, INVITATIONS_OF_NEW) : limit;
}

/** Returns the number of emails of one kind that an organization can send within 24 hours. Undefined: unlimited. */
export const invitationsPerDayOf = (
  { config }: Pick<Runtime, 'config'>,
  organization: Pick<Organization, 'settings'>,
): number | undefined => organizationSetting(organization, 'max_invitations_per_day') ?? config.invitationsPerDay;

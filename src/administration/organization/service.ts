import type { App } from '../../access/context.ts';
import { createSystemGroups } from '../../access/system-groups.ts';
import { transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { createNotificationBot } from '../../people/system-bot.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';
import { isSubdomain } from '../../platform/hosts.ts';
import { MAX_ORGANIZATION_NAME_LENGTH } from '../../platform/limits.ts';
import { requireReadable } from '../../platform/names.ts';
import { OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { checkNewUser, insertUser, insertUsers, type MadeUser, type NewUser } from '../new-user.ts';

/** Properties of a new organization. */
export interface NewOrganization {
  /** Subdomain of lower-case letters, digits and hyphens; "" for the server's own domain. */
  readonly subdomain: string;
  /** Name of the organization, 1 to 40 characters. Other lengths are refused with `ValidationError`. */
  readonly name: string;
  readonly owner: Omit<NewUser, 'role' | 'canCreateUsers'>;
  /** Other users that are created with the organization. Bots without an owner belong to `owner`. */
  readonly people?: readonly NewUser[];
  /**
   * True if the organization is to be filled with data before users can sign in. `openOrganization` then allows them to sign
   * in.
   */
  readonly unfinished?: boolean;
}

/**
 * Value of the deactivation time that marks an organization whose creation is unfinished. No other organization has this value.
 */
export const UNFINISHED = new Date(0);

/** A new organization with the API keys of its users, which are shown only once. */
export interface MadeOrganization {
  readonly organization: Organization;
  readonly owner: MadeUser;
  /** The users of `NewOrganization.people`, in the order of that list. */
  readonly people: readonly MadeUser[];
}

/**
 * Creates an organization with its role groups, its owner and other users, in one transaction.
 *
 * @throws ValidationError if the subdomain is not a host name, or the name is blank or too long.
 * @throws ConflictError if the subdomain is in use, or two users have the same email address.
 * @throws ValidationError if a user's email address, name, role or password is invalid.
 */
export async function createOrganization(
  app: App,
  { owner, people = [], unfinished = false, ...input }: NewOrganization,
): Promise<MadeOrganization> {
  const { subdomain } = input;
  const name = requireNames(input);
  const [ownerRow, ...rows] = await Promise.all([
    checkNewUser(app, { name, subdomain }, { ...owner, role: OWNER, canCreateUsers: true }),
    ...people.map((person) => checkNewUser(app, { name, subdomain }, person)),
  ]);
  const now = app.now();
  try {
    // No event is emitted, because there are no recipients yet. The organization's event log begins after this transaction.
    return await transact({ work: app.work, organizationId: 0, isOperator: true }, async (tx, emit) => {
      const deactivatedAt = unfinished ? UNFINISHED : null;
      const organization = await insertOrganization(tx, { subdomain, name, createdAt: now, deactivatedAt });
      const made = await insertUser(tx, app, organization, ownerRow);
      const withOwners = rows.map((row) =>
        row.botType == null ? row : { ...row, botOwnerId: row.botOwnerId ?? made.user.id },
      );
      const others = await insertUsers(tx, app, organization, withOwners);
      await createNotificationBot(tx, organization.id, now);
      emit.audit({
        ...{ action: 'organization_created', objectType: 'organization', objectId: organization.id },
        ...{ objectName: name, organizationId: organization.id, changes: { subdomain: { new: subdomain } } },
      });
      return { organization, owner: made, people: others };
    });
  } catch (error) {
    if (isUniqueViolation(error))
      throw new ConflictError('The subdomain is in use, or two users have the same email address');
    throw error;
  }
}

/**
 * Checks the names of a new organization.
 *
 * @returns The name as it is stored.
 * @throws ValidationError if the subdomain is not a host name, or the name is blank or too long.
 */
export function requireNames({ subdomain, name }: Pick<NewOrganization, 'subdomain' | 'name'>): string {
  if (!isSubdomain(subdomain))
    throw new ValidationError(`Invalid subdomain "${subdomain}": use up to 63 lower-case letters, digits and hyphens`, {
      parameter: 'subdomain',
      value: subdomain,
    });
  const stored = requireText('name', name, { strip: true, min: 1, max: MAX_ORGANIZATION_NAME_LENGTH });
  requireReadable('name', stored);
  return stored;
}

/**
 * Inserts an organization with its event counter and role groups, without users.
 *
 * @throws ConflictError if the subdomain is in use.
 */
export async function insertOrganization(
  tx: Tx,
  row: Pick<Organization, 'subdomain' | 'name' | 'createdAt' | 'deactivatedAt'> &
    Partial<Pick<Organization, 'deleteAt' | 'isByVisitor'>>,
): Promise<Organization> {
  const { subdomain } = row;
  if ((await tx.organization.count({ where: { subdomain } })) > 0) throw takenError(subdomain);
  if ((await tx.organizationMove.count({ where: { subdomain } })) > 0) throw movedError(subdomain);
  const organization = await tx.organization.create({ data: row });
  await tx.eventCounter.create({ data: { organizationId: organization.id } });
  await createSystemGroups(tx, organization.id, row.createdAt);
  return organization;
}

const takenError = (subdomain: string) =>
  new ConflictError(
    subdomain === '' ? 'The root domain already has an organization' : `The subdomain ${subdomain} is in use`,
    { parameter: 'subdomain' },
  );

const movedError = (subdomain: string) =>
  new ConflictError(`The organization ${subdomain} is in another database, to or from which it was moved`, {
    parameter: 'subdomain',
  });

/** Allows users to sign in to an organization that was created as `unfinished`. */
export async function openOrganization({ db }: App, organizationId: number): Promise<void> {
  await db.organization.updateMany({
    where: { id: organizationId, deactivatedAt: UNFINISHED },
    data: { deactivatedAt: null },
  });
}

/** Returns every organization of the server, ascending by id, with its number of active users. */
export async function listOrganizations({ db }: App): Promise<(Organization & { userCount: number })[]> {
  const organizations = await db.organization.findMany({
    orderBy: { id: 'asc' },
    include: { _count: { select: { users: { where: { isActive: true, isSystem: false } } } } },
  });
  return organizations.map(({ _count, ...organization }) => ({ ...organization, userCount: _count.users }));
}

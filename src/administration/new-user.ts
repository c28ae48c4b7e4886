import { requireAddress } from '../access/address.ts';
import type { Runtime } from '../access/context.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import { checkPassword, hashPassword } from '../access/passwords.ts';
import { type Organization, Prisma, type User } from '../generated/prisma/client.ts';
import { requireFullName, requireReadableName } from '../people/full-name.ts';
import { lockOrganization } from '../people/locks.ts';
import type { Caller } from '../platform/caller.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { ConflictError, ValidationError } from '../platform/errors.ts';
import { isAlike } from '../platform/names.ts';
import { MEMBER, ROLES } from '../platform/roles.ts';

/** Properties of a new user. */
export interface NewUser {
  readonly email: string;
  readonly fullName: string;
  /** Role of the user, one of `ROLES`. Absent: 400 (member). */
  readonly role?: number;
  /** Initial password. Absent for a user who signs in only with the API key. */
  readonly password?: string;
  /** Type of a bot, 1 to 4. Absent for a person. */
  readonly botType?: number;
  readonly botOwnerId?: number;
  /** True until the first login of a user who was created by another user over the API. */
  readonly isImportedStub?: boolean;
  /**
   * True for a placeholder of a person who has not signed up, until the first login. A deactivated placeholder cannot be
   * reactivated.
   */
  readonly isPlaceholder?: boolean;
  readonly canCreateUsers?: boolean;
}

/** A new user, with the API key. The key is shown only once. */
export interface MadeUser {
  readonly user: User;
  readonly apiKey: string;
}

type NewRow = Omit<Prisma.UserCreateManyInput, 'organizationId' | 'joinedAt'>;
/** The organization in which a user is created. */
type Home = Pick<Organization, 'id' | 'settings' | 'userDefaults'>;

/**
 * Validates a new user, and returns the row to insert. Does not read the database. Hashing a password is slow, so this must not
 * run in a transaction.
 *
 * @param organization The organization that the user will belong to.
 * @param caller The caller who creates the user. Absent for the server's operator.
 * @throws ValidationError if email address, name, role or password is invalid.
 * @throws RateLimitHitError if the user has a password, and too many passwords wait to be hashed.
 */
export async function checkNewUser(
  { config }: Pick<Runtime, 'config'>,
  organization: Pick<Organization, 'name' | 'subdomain'>,
  { email, fullName, password, role = MEMBER, ...rest }: NewUser,
  caller?: Caller,
): Promise<NewRow> {
  if (!ROLES.some((known) => known === role))
    throw new ValidationError('Invalid role', { parameter: 'role', value: role });
  const row = { ...rest, email: requireAddress(email), fullName: requireFullName(fullName), role };
  requireReadableName(row.fullName);
  if (password === undefined) return row;
  await checkPassword(password, { ...row, organization });
  return { ...row, passwordHash: await hashPassword(config, password, caller) };
}

/**
 * Inserts a validated user, with an API key. People begin with the organization's default settings.
 *
 * @throws ConflictError if the organization requires unique names and an active user already has the name.
 */
export async function insertUser(tx: Tx, app: Runtime, organization: Home, row: NewRow): Promise<MadeUser> {
  await requireUniqueName(tx, organization, row.fullName);
  const [made] = await insertUsers(tx, app, organization, [row]);
  if (made === undefined) throw new Error('The inserted user was not found');
  return made;
}

/**
 * Inserts several validated users, each with an API key, in the given order. People begin with the organization's default
 * settings. Does not check that names are unique, because it is called for new organizations.
 */
export async function insertUsers(
  tx: Tx,
  app: Runtime,
  organization: Home,
  rows: readonly NewRow[],
): Promise<MadeUser[]> {
  if (rows.length === 0) return [];
  const now = app.now();
  const users = await tx.user.createManyAndReturn({
    data: rows.map((row) => ({
      ...row,
      ...(row.botType == null && { settings: organization.userDefaults as Prisma.JsonObject }),
      avatarSource: organizationSetting(organization, 'default_avatar_source'),
      organizationId: organization.id,
      joinedAt: now,
    })),
  });
  // Ids increase in the order of the rows, but the database may return the rows in any order.
  users.sort((a, b) => a.id - b.id);
  const made = users.map((user) => ({ user, apiKey: app.keys.newKey() }));
  await tx.apiKey.createMany({
    data: made.map(({ user, apiKey }) => ({
      userId: user.id,
      organizationId: organization.id,
      hash: app.keys.hash(apiKey),
      sealed: app.keys.seal(apiKey),
      createdAt: now,
    })),
  });
  return made;
}

/**
 * Returns whether an active user other than `exceptId` has an equal or similar-looking name, ignoring case. Locks the
 * organization's row, so that the result stays valid until the transaction ends.
 */
export async function isNameTaken(tx: Tx, organizationId: number, fullName: string, exceptId = 0): Promise<boolean> {
  await lockOrganization(tx, organizationId);
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM user_account
    WHERE realm_id = ${organizationId} AND is_active AND id <> ${exceptId} AND ${isAlike(Prisma.sql`full_name`, fullName)} LIMIT 1`;
  return taken.length > 0;
}

/**
 * Checks that a name is unique if the organization requires it.
 *
 * @param parameter Name of the parameter that contains the name, or the id of the user with the name.
 * @throws ConflictError if another active user has the name.
 */
export async function requireUniqueName(
  tx: Tx,
  organization: Pick<Organization, 'id' | 'settings'>,
  fullName: string,
  exceptId?: number,
  parameter = 'full_name',
): Promise<void> {
  if (
    organizationSetting(organization, 'require_unique_names') &&
    (await isNameTaken(tx, organization.id, fullName, exceptId))
  ) {
    throw new ConflictError('Unique names required in this organization.', {
      parameter,
      schemaMessage: 'Another user has this name, and the organization requires unique names.',
    });
  }
}

/**
 * Runs `insert`, which inserts users. Converts the error of the unique index on email addresses to a `ConflictError`. Only
 * this index detects that two concurrent inserts use the same email address.
 *
 * @param parameter Name of the parameter that determines the address.
 * @throws ConflictError if an address is in use.
 */
export async function refusingTakenAddress<T>(insert: () => Promise<T>, parameter = 'email'): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (isUniqueViolation(error)) throw new ConflictError('Email is already in use.', { parameter });
    throw error;
  }
}

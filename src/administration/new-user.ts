import { requireAddress } from '../access/address.ts';
import type { App } from '../access/context.ts';
import { checkPassword, hashPassword } from '../access/passwords.ts';
import { realmSetting } from '../access/realm-settings.ts';
import { Prisma, type Realm, type User } from '../generated/prisma/client.ts';
import { requireFullName, requireReadableName } from '../people/full-name.ts';
import { lockRealm } from '../people/locks.ts';
import type { Caller } from '../platform/caller.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isAlike } from '../platform/names.ts';
import { MEMBER, ROLES } from '../platform/roles.ts';

/** Properties of a new user. */
export interface NewUser {
  readonly email: string;
  readonly fullName: string;
  /** One of `ROLES`. Absent: 400 (member). */
  readonly role?: number;
  /** Initial password. Absent for a user who signs in only with the API key. */
  readonly password?: string;
  /** Type of a bot, 1 to 4. Absent for a person. */
  readonly botType?: number;
  readonly botOwnerId?: number;
  /** True until the first login, for a user whom another user created over the API. */
  readonly isImportedStub?: boolean;
  /**
   * True until the first login, for a placeholder of a person who has not signed up. A deactivated placeholder cannot be
   * reactivated.
   */
  readonly isPlaceholder?: boolean;
  readonly canCreateUsers?: boolean;
}

/** A new user, with the API key, which is shown only once. */
export interface MadeUser {
  readonly user: User;
  readonly apiKey: string;
}

type NewRow = Omit<Prisma.UserCreateManyInput, 'realmId' | 'joinedAt'>;
/** The organization in which a user is created. */
type Home = Pick<Realm, 'id' | 'settings' | 'userDefaults'>;

/**
 * Validates a new user, and returns their row without reading the database. Hashing a password is slow, so this must not run in
 * a transaction.
 *
 * @param organization The organization that the user will belong to.
 * @param caller The caller who creates the user. Absent for the server's operator.
 * @throws BadRequestError if email address, name, role or password is invalid.
 * @throws RateLimitHitError if the user has a password, and too many passwords wait to be hashed.
 */
export async function checkNewUser(
  { config }: Pick<App, 'config'>,
  organization: Pick<Realm, 'name' | 'subdomain'>,
  { email, fullName, password, role = MEMBER, ...rest }: NewUser,
  caller?: Caller,
): Promise<NewRow> {
  if (!ROLES.some((known) => known === role)) throw new BadRequestError('Invalid role');
  const row = { ...rest, email: requireAddress(email), fullName: requireFullName(fullName), role };
  requireReadableName(row.fullName);
  if (password === undefined) return row;
  await checkPassword(password, { ...row, organization });
  return { ...row, passwordHash: await hashPassword(config, password, caller) };
}

/**
 * Inserts a validated user, with an API key. People begin with the organization's default settings.
 *
 * @throws BadRequestError if the organization requires unique names and an active user already has the name.
 */
export async function insertUser(tx: Tx, app: App, realm: Home, row: NewRow): Promise<MadeUser> {
  await requireUniqueName(tx, realm, row.fullName);
  const [made] = await insertUsers(tx, app, realm, [row]);
  if (made === undefined) throw new Error('The inserted user was not found');
  return made;
}

/**
 * Inserts several users like `insertUser`, in the order given. Does not check for unique names, because it is meant for a
 * new organization.
 */
export async function insertUsers(tx: Tx, app: App, realm: Home, rows: readonly NewRow[]): Promise<MadeUser[]> {
  if (rows.length === 0) return [];
  const now = app.now();
  const users = await tx.user.createManyAndReturn({
    data: rows.map((row) => ({
      ...row,
      ...(row.botType == null && { settings: realm.userDefaults as Prisma.JsonObject }),
      avatarSource: realmSetting(realm, 'default_avatar_source'),
      realmId: realm.id,
      joinedAt: now,
    })),
  });
  // Ids rise in the order of the rows, but the database may return the rows in any order.
  users.sort((a, b) => a.id - b.id);
  const made = users.map((user) => ({ user, apiKey: app.keys.newKey() }));
  await tx.apiKey.createMany({
    data: made.map(({ user, apiKey }) => ({
      userId: user.id,
      realmId: realm.id,
      hash: app.keys.hash(apiKey),
      sealed: app.keys.seal(apiKey),
      createdAt: now,
    })),
  });
  return made;
}

/**
 * Returns whether an active user other than `exceptId` has the name, ignoring case, or a name that looks like it. Locks the
 * organization's row, so that the result stays valid until the transaction ends.
 */
export async function isNameTaken(tx: Tx, realmId: number, fullName: string, exceptId = 0): Promise<boolean> {
  await lockRealm(tx, realmId);
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM user_account
    WHERE realm_id = ${realmId} AND is_active AND id <> ${exceptId} AND ${isAlike(Prisma.sql`full_name`, fullName)} LIMIT 1`;
  return taken.length > 0;
}

/**
 * Checks that a name is unique if the organization requires it. @throws BadRequestError if another active user has the name.
 */
export async function requireUniqueName(
  tx: Tx,
  realm: Pick<Realm, 'id' | 'settings'>,
  fullName: string,
  exceptId?: number,
): Promise<void> {
  if (realmSetting(realm, 'require_unique_names') && (await isNameTaken(tx, realm.id, fullName, exceptId))) {
    throw new BadRequestError('Unique names required in this organization.');
  }
}

/**
 * Runs an insert of users, and converts the error of the unique index. Only this index detects that two concurrent inserts use
 * one email address.
 *
 * @throws BadRequestError if an address is in use.
 */
export async function refusingTakenAddress<T>(insert: () => Promise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (isUniqueViolation(error)) throw new BadRequestError('Email is already in use.');
    throw error;
  }
}

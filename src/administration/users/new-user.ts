import { requireAddress } from '../../access/address.ts';
import type { App } from '../../access/context.ts';
import { checkPassword, hashPassword } from '../../access/passwords.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import type { Prisma, Realm, User } from '../../generated/prisma/client.ts';
import { requireFullName } from '../../people/full-name.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Caller } from '../../platform/caller.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { MEMBER, ROLES } from '../../platform/roles.ts';

/** Who is to be made a user. */
export interface NewUser {
  readonly email: string;
  readonly fullName: string;
  /** 400, member, when absent. */
  readonly role?: number;
  /** Absent for who signs in with the API key alone. */
  readonly password?: string;
  /** Absent for a person; 1 to 4 for a bot. */
  readonly botType?: number;
  readonly botOwnerId?: number;
  /** True until the first login, for a user somebody else made over the API. */
  readonly isImportedStub?: boolean;
  /** True until the first login, for who stands for somebody that has not signed up: deactivated, they stay so. */
  readonly isPlaceholder?: boolean;
  readonly canCreateUsers?: boolean;
}

/** A user made, and the key that is shown this once. */
export interface MadeUser {
  readonly user: User;
  readonly apiKey: string;
}

type NewRow = Omit<Prisma.UserCreateManyInput, 'realmId' | 'joinedAt'>;
/** The organisation somebody is made in. */
type Home = Pick<Realm, 'id' | 'settings' | 'userDefaults'>;

/**
 * Checks a new user, and makes their row as far as it needs no database. Slow for a password, so not for a transaction.
 *
 * @param caller Who makes them; absent for the server's operator.
 * @throws BadRequestError when address, name, role or password are not taken.
 * @throws RateLimitHitError when there is a password, and too many wait already for one to be hashed.
 */
export async function checkNewUser(
  { config }: Pick<App, 'config'>,
  { email, fullName, password, role = MEMBER, ...rest }: NewUser,
  caller?: Caller,
): Promise<NewRow> {
  if (!ROLES.some((known) => known === role)) throw new BadRequestError('Invalid role');
  const row = { ...rest, email: requireAddress(email), fullName: requireFullName(fullName), role };
  if (password === undefined) return row;
  checkPassword(password);
  return { ...row, passwordHash: await hashPassword(config, password, caller) };
}

/**
 * Inserts a user who was checked, with a key. People begin with the settings the organisation has for new users.
 *
 * @throws BadRequestError when the organisation wants unique names and an active user has this one.
 */
export async function insertUser(tx: Tx, app: App, realm: Home, row: NewRow): Promise<MadeUser> {
  await requireUniqueName(tx, realm, row.fullName);
  const [made] = await insertUsers(tx, app, realm, [row]);
  if (made === undefined) throw new Error('The user who was inserted is not there');
  return made;
}

/** As `insertUser`, of several in the order given, into an organisation that asks nothing of names: a new one. */
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
  // Ids are drawn in the order of the rows; the rows may come back in any.
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

/** Whether an active user other than `exceptId` has the name, in whatever case; until the change is over. */
export async function isNameTaken(tx: Tx, realmId: number, fullName: string, exceptId = 0): Promise<boolean> {
  await lockRealm(tx, realmId);
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM user_account
    WHERE realm_id = ${realmId} AND is_active AND id <> ${exceptId} AND lower(full_name) = lower(${fullName}) LIMIT 1`;
  return taken.length > 0;
}

/** @throws BadRequestError when the organisation wants unique names and another active user has this one. */
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

/** Runs what inserts users. The database is the judge of whether an address is free: it alone sees every race. */
export async function refusingTakenAddress<T>(insert: () => Promise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (isUniqueViolation(error)) throw new BadRequestError('Email is already in use.');
    throw error;
  }
}

import type { App } from '../../access/context.ts';
import { createSystemGroups } from '../../access/system-groups.ts';
import { transact } from '../../events/log.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { createNotificationBot } from '../../people/system-bot.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isSubdomain } from '../../platform/hosts.ts';
import { MAX_REALM_NAME_LENGTH } from '../../platform/limits.ts';
import { requireReadable } from '../../platform/names.ts';
import { OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { checkNewUser, insertUser, insertUsers, type MadeUser, type NewUser } from '../new-user.ts';

/** Properties of a new organization. */
export interface NewRealm {
  /** Subdomain of lower-case letters, digits and hyphens; "" for the server's own domain. */
  readonly subdomain: string;
  /** Name of the organization, 1 to 40 characters. */
  readonly name: string;
  readonly owner: Omit<NewUser, 'role' | 'canCreateUsers'>;
  /** Other users that are created with the organization. Bots without an owner belong to `owner`. */
  readonly people?: readonly NewUser[];
  /** True if the organization is filled with data before users can sign in. `openRealm` ends this state. */
  readonly unfinished?: boolean;
}

/** Deactivation time that marks an organization whose creation is unfinished. No other organization has it. */
export const UNFINISHED = new Date(0);

/** A new organization with the API keys of its users, which are shown only once. */
export interface MadeRealm {
  readonly realm: Realm;
  readonly owner: MadeUser;
  /** The users of `NewRealm.people`, in the order of that list. */
  readonly people: readonly MadeUser[];
}

/**
 * Creates an organization with its role groups, its owner and other users, in one transaction.
 *
 * @throws BadRequestError if the subdomain is not a host name or is in use, or the name is blank or too long.
 * @throws BadRequestError if a user's email address, name, role or password is invalid.
 */
export async function createRealm(
  app: App,
  { owner, people = [], unfinished = false, ...input }: NewRealm,
): Promise<MadeRealm> {
  const { subdomain } = input;
  if (!isSubdomain(subdomain))
    throw new BadRequestError(`Invalid subdomain "${subdomain}": use up to 63 lower-case letters, digits and hyphens`);
  const name = requireText('name', input.name, { strip: true, min: 1, max: MAX_REALM_NAME_LENGTH });
  requireReadable('name', name);
  const [ownerRow, ...rows] = await Promise.all([
    checkNewUser(app, { name, subdomain }, { ...owner, role: OWNER, canCreateUsers: true }),
    ...people.map((person) => checkNewUser(app, { name, subdomain }, person)),
  ]);
  const now = app.now();
  try {
    // No event is emitted, because there are no recipients yet. The organization's log begins after this.
    return await transact({ app, realmId: 0 }, async (tx) => {
      if ((await tx.realm.count({ where: { subdomain } })) > 0) throw takenError(subdomain);
      const realm = await tx.realm.create({
        data: { subdomain, name, createdAt: now, deactivatedAt: unfinished ? UNFINISHED : null },
      });
      await tx.eventCounter.create({ data: { realmId: realm.id } });
      await createSystemGroups(tx, realm.id, now);
      const made = await insertUser(tx, app, realm, ownerRow);
      const withOwners = rows.map((row) =>
        row.botType == null ? row : { ...row, botOwnerId: row.botOwnerId ?? made.user.id },
      );
      const others = await insertUsers(tx, app, realm, withOwners);
      await createNotificationBot(tx, realm.id, now);
      return { realm, owner: made, people: others };
    });
  } catch (error) {
    if (isUniqueViolation(error))
      throw new BadRequestError('The subdomain is in use, or two users have the same email address');
    throw error;
  }
}

const takenError = (subdomain: string) =>
  new BadRequestError(
    subdomain === '' ? 'The root domain already has an organization' : `The subdomain ${subdomain} is in use`,
  );

/** Allows users to sign in to an organization that was created as `unfinished`. */
export async function openRealm({ db }: App, realmId: number): Promise<void> {
  await db.realm.updateMany({ where: { id: realmId, deactivatedAt: UNFINISHED }, data: { deactivatedAt: null } });
}

/** Returns every organization of the server, ascending by id, with its number of active users. */
export async function listRealms({ db }: App): Promise<(Realm & { userCount: number })[]> {
  const realms = await db.realm.findMany({
    orderBy: { id: 'asc' },
    include: { _count: { select: { users: { where: { isActive: true, isSystem: false } } } } },
  });
  return realms.map(({ _count, ...realm }) => ({ ...realm, userCount: _count.users }));
}

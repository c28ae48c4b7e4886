import type { App } from '../../access/context.ts';
import { createSystemGroups } from '../../access/permissions/system-groups.ts';
import { transact } from '../../events/log.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { createNotificationBot } from '../../people/system-bot.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isSubdomain } from '../../platform/hosts.ts';
import { MAX_REALM_NAME_LENGTH } from '../../platform/limits.ts';
import { OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { checkNewUser, insertUser, insertUsers, type MadeUser, type NewUser } from '../users/new-user.ts';

/** An organisation to be made. */
export interface NewRealm {
  /** Lower-case letters, digits and hyphens; "" for the server's own domain. */
  readonly subdomain: string;
  /** 1 to 40 characters. */
  readonly name: string;
  readonly owner: Omit<NewUser, 'role' | 'canCreateUsers'>;
  /** Who else is there from the start. Bots without an owner are the owner's. */
  readonly people?: readonly NewUser[];
  /** True for one that is filled before anybody may sign in; `openRealm` ends that. */
  readonly unfinished?: boolean;
}

/** Deactivated before it was made, as no other organisation is: one whose making was not finished. */
export const UNFINISHED = new Date(0);

/** An organisation made, and its people's keys, which are shown this once. */
export interface MadeRealm {
  readonly realm: Realm;
  readonly owner: MadeUser;
  /** As given, in the order given. */
  readonly people: readonly MadeUser[];
}

/**
 * Makes an organisation with its role groups, its owner, and whoever else is named. All of it is made, or nothing.
 *
 * @throws BadRequestError when the subdomain is no host name or in use, when the name is blank or too long, or when a
 *   user's address, name, role or password is not taken.
 */
export async function createRealm(
  app: App,
  { owner, people = [], unfinished = false, ...input }: NewRealm,
): Promise<MadeRealm> {
  const { subdomain } = input;
  if (!isSubdomain(subdomain)) throw new BadRequestError(`"${subdomain}" cannot be a subdomain`);
  const name = requireText('name', input.name, { strip: true, min: 1, max: MAX_REALM_NAME_LENGTH });
  const [ownerRow, ...rows] = await Promise.all([
    checkNewUser(app, { ...owner, role: OWNER, canCreateUsers: true }),
    ...people.map((person) => checkNewUser(app, person)),
  ]);
  const now = app.now();
  try {
    // No event: nobody is there yet to hear one. The realm's log begins after this.
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
    if (isUniqueViolation(error)) throw new BadRequestError('The subdomain is in use, or two users have one address');
    throw error;
  }
}

const takenError = (subdomain: string) =>
  new BadRequestError(
    subdomain === '' ? 'The root domain has an organization already' : `The subdomain ${subdomain} is in use`,
  );

/** Lets people sign in to an organisation that was made `unfinished`. */
export async function openRealm({ db }: App, realmId: number): Promise<void> {
  await db.realm.updateMany({ where: { id: realmId, deactivatedAt: UNFINISHED }, data: { deactivatedAt: null } });
}

/** Every organisation of the server by id, with how many active users it has. */
export async function listRealms({ db }: App): Promise<(Realm & { userCount: number })[]> {
  const realms = await db.realm.findMany({
    orderBy: { id: 'asc' },
    include: { _count: { select: { users: { where: { isActive: true, isSystem: false } } } } },
  });
  return realms.map(({ _count, ...realm }) => ({ ...realm, userCount: _count.users }));
}

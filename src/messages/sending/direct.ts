import { apiEmail } from '../../access/address.ts';
import { mayInRealm } from '../../access/permissions/require.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { realmGroupSetting } from '../../access/realm-settings.ts';
import type { User } from '../../generated/prisma/client.ts';
import { userIdsByAddress } from '../../people/by-address.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import type { Sender } from './sender.ts';

/** Users by id, or by e-mail address as the API knows them; not both. */
export type Recipients = { readonly userIds: readonly number[] } | { readonly emails: readonly string[] };

/** Our choice: more than a conversation can be had among, and what the table of conversations is indexed for. */
const MAX_MEMBERS = 250;

type DirectMessageDb = Pick<Tx, 'user' | 'userGroup' | 'conversation' | '$queryRaw'>;

/**
 * Everyone who takes part in a direct message from `sender`: they and the recipients, once each, ascending by id. Naming
 * nobody but oneself is a note to self.
 *
 * @throws BadRequestError when nobody is named, or one is not there or deactivated, or they are too many, or the
 *   organisation does not let the sender write to them.
 */
export async function accessMembers(
  db: DirectMessageDb,
  sender: Sender,
  recipients: Recipients,
  now: Date,
): Promise<User[]> {
  const named = await accessNamed(db, sender, recipients);
  if (named.length === 0) throw new BadRequestError('Message must have recipients!');
  const members = [...new Map([sender.user, ...named].map((user) => [user.id, user])).values()];
  if (members.length > MAX_MEMBERS) throw new BadRequestError(`A conversation has at most ${MAX_MEMBERS} people`);
  const gone = members.find(({ isActive }) => !isActive);
  if (gone !== undefined) throw new BadRequestError(`'${apiEmail(gone)}' is no longer using this service.`);
  members.sort((a, b) => a.id - b.id);
  await requirePermission(db, sender, members, now);
  return members;
}

/**
 * The users a client named, active or not.
 *
 * @throws BadRequestError when one is not there, or they are too many.
 */
export function accessNamed(db: NameReader, sender: Namer, recipients: Recipients): Promise<User[]> {
  return 'userIds' in recipients ? byIds(db, sender, recipients.userIds) : byEmails(db, sender, recipients.emails);
}

/** Who names others: what addresses they see hangs on it. */
type Namer = Pick<Sender, 'realm' | 'id' | 'role'>;
type NameReader = Pick<DirectMessageDb, 'user' | '$queryRaw'>;

async function byIds(db: NameReader, { realm }: Namer, userIds: readonly number[]): Promise<User[]> {
  const ids = [...new Set(userIds)];
  // Looked for all the same: the first id of nobody is the one that is told.
  const found = await db.user.findMany({
    where: { realmId: realm.id, id: { in: ids.filter(isRowId).slice(0, 2 * MAX_MEMBERS) } },
  });
  const byId = new Map(found.map((user) => [user.id, user]));
  if (ids.length > 2 * MAX_MEMBERS) throw new BadRequestError(`A conversation has at most ${MAX_MEMBERS} people`);
  return ids.map((id) => {
    const user = byId.get(id);
    if (user === undefined) throw new BadRequestError(`Invalid user ID ${id}`);
    return user;
  });
}

async function byEmails(db: NameReader, sender: Namer, emails: readonly string[]): Promise<User[]> {
  const addresses = [...new Set(emails.map((email) => email.trim().toWellFormed()))];
  if (addresses.length > 2 * MAX_MEMBERS) throw new BadRequestError(`A conversation has at most ${MAX_MEMBERS} people`);
  const found = await userIdsByAddress(db, sender, addresses);
  const wanted = addresses.map((address) => found.get(address) ?? 0);
  const users = await db.user.findMany({ where: { realmId: sender.realm.id, id: { in: wanted.filter(isRowId) } } });
  const byId = new Map(users.map((user) => [user.id, user]));
  return addresses.map((address, i) => {
    const user = byId.get(wanted[i] ?? 0);
    if (user === undefined) throw new BadRequestError(`Invalid email '${address}'`);
    return user;
  });
}

/** Bots and notes to self are exempt. */
async function requirePermission(
  db: DirectMessageDb,
  sender: Sender,
  members: readonly User[],
  now: Date,
): Promise<void> {
  if (sender.user.botType !== null || members.length === 1) return;
  const { realm } = sender;
  const groups = await systemGroups(db, realm.id);
  const holds = (user: User, name: 'direct_message_permission_group' | 'direct_message_initiator_group') =>
    mayInRealm({ person: { id: user.id, role: user.role, realm, user }, groups, now }, name);
  // The service's own bot is everybody's to write to, and stands for nobody.
  if (!members.some((member) => !member.isSystem && holds(member, 'direct_message_permission_group'))) {
    const { groups: ids } = realmGroupSetting(groups, realm, 'direct_message_permission_group');
    const isNobody = ids.length === 1 && groups.name(ids[0] ?? 0) === 'role:nobody';
    throw new BadRequestError(
      isNobody
        ? 'Direct messages are disabled in this organization.'
        : 'This conversation does not include any users who can authorize it.',
    );
  }
  if (holds(sender.user, 'direct_message_initiator_group')) return;
  const known = await findConversation(
    db,
    realm.id,
    members.map(({ id }) => id),
  );
  if (known === null) throw new BadRequestError('You do not have permission to initiate direct message conversations.');
}

/** The conversation of exactly these users, ascending; null when they never had one. */
export async function findConversation(
  db: Pick<Tx, 'conversation'>,
  realmId: number,
  memberIds: readonly number[],
): Promise<{ id: number } | null> {
  return db.conversation.findUnique({
    where: { realmId_memberIds: { realmId, memberIds: [...memberIds] } },
    select: { id: true },
  });
}

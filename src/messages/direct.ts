import { apiEmail } from '../access/address.ts';
import { mayInRealm } from '../access/permissions/require.ts';
import { realmGroupSetting } from '../access/realm-settings.ts';
import { systemGroups } from '../access/system-groups.ts';
import type { User } from '../generated/prisma/client.ts';
import { userIdsByAddress } from '../people/by-address.ts';
import type { Tx } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import type { MessageSender } from './sender.ts';

/** Recipients of a direct message: either user ids, or email addresses as shown in the API. */
export type Recipients = { readonly userIds: readonly number[] } | { readonly emails: readonly string[] };

/** Maximum number of members of a conversation. The index of conversations by members supports at most this number. */
const MAX_MEMBERS = 250;

type DirectMessageDb = Pick<Tx, 'user' | 'userGroup' | 'conversation' | '$queryRaw'>;

/**
 * Returns the members of the conversation for a direct message: the sender and the recipients, without duplicates, ascending by
 * id. A message whose only recipient is the sender is a note to self.
 *
 * @throws BadRequestError if there is no recipient, if one is unknown or deactivated, or if there are too many.
 * @throws BadRequestError if the sender is not permitted to write to them.
 */
export async function accessMembers(
  db: DirectMessageDb,
  sender: MessageSender,
  recipients: Recipients,
  now: Date,
): Promise<User[]> {
  const named = await accessNamed(db, sender, recipients);
  if (named.length === 0) throw new BadRequestError('Message must have recipients!');
  const members = [...new Map([sender.user, ...named].map((user) => [user.id, user])).values()];
  if (members.length > MAX_MEMBERS) throw new BadRequestError(`A conversation can have at most ${MAX_MEMBERS} members`);
  const gone = members.find(({ isActive }) => !isActive);
  if (gone !== undefined) throw new BadRequestError(`'${apiEmail(gone)}' is no longer using this service.`);
  members.sort((a, b) => a.id - b.id);
  await requirePermission(db, sender, members, now);
  return members;
}

/**
 * Reads the users that a client named, including deactivated ones, in the given order without duplicates.
 *
 * @throws BadRequestError if a user does not exist, or if there are too many.
 */
export function accessNamed(db: NameReader, sender: Namer, recipients: Recipients): Promise<User[]> {
  return 'userIds' in recipients ? byIds(db, sender, recipients.userIds) : byEmails(db, sender, recipients.emails);
}

/** The user who names other users. Their role determines whether they can name users by hidden email addresses. */
type Namer = Pick<MessageSender, 'realm' | 'id' | 'role'>;
type NameReader = Pick<DirectMessageDb, 'user' | '$queryRaw'>;

async function byIds(db: NameReader, { realm }: Namer, userIds: readonly number[]): Promise<User[]> {
  const ids = [...new Set(userIds)];
  // The query omits ids that cannot exist. The error below names the first unknown id in the given order.
  const found = await db.user.findMany({
    where: { realmId: realm.id, id: { in: ids.filter(isRowId).slice(0, 2 * MAX_MEMBERS) } },
  });
  const byId = new Map(found.map((user) => [user.id, user]));
  if (ids.length > 2 * MAX_MEMBERS) throw new BadRequestError(`A conversation can have at most ${MAX_MEMBERS} members`);
  return ids.map((id) => {
    const user = byId.get(id);
    if (user === undefined) throw new BadRequestError(`Invalid user ID ${id}`);
    return user;
  });
}

async function byEmails(db: NameReader, sender: Namer, emails: readonly string[]): Promise<User[]> {
  const addresses = [...new Set(emails.map((email) => email.trim().toWellFormed()))];
  if (addresses.length > 2 * MAX_MEMBERS)
    throw new BadRequestError(`A conversation can have at most ${MAX_MEMBERS} members`);
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

/**
 * Checks that the organization permits the conversation. Bots and notes to self are exempt.
 *
 * @throws BadRequestError if it does not.
 */
async function requirePermission(
  db: DirectMessageDb,
  sender: MessageSender,
  members: readonly User[],
  now: Date,
): Promise<void> {
  if (sender.user.botType !== null || members.length === 1) return;
  const { realm } = sender;
  const groups = await systemGroups(db, realm.id);
  const holds = (user: User, name: 'direct_message_permission_group' | 'direct_message_initiator_group') =>
    mayInRealm({ person: { id: user.id, role: user.role, realm, user }, groups, now }, name);
  // System bots are ignored: they cannot authorize a conversation.
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

/**
 * Finds the conversation that has exactly these members. Null if there is none.
 *
 * @param memberIds User ids, ascending.
 */
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

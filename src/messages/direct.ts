import { apiEmail } from '../access/address.ts';
import { organizationGroupSetting } from '../access/organization-settings.ts';
import { mayInOrganization } from '../access/permissions/require.ts';
import { type SystemGroups, systemGroups } from '../access/system-groups.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { userIdsByAddress } from '../people/by-address.ts';
import type { SqlClient, Tx } from '../platform/db/client.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import type { MessageSender } from './sender.ts';

/** Recipients of a direct message: either user ids, or email addresses as shown in the API. */
export type Recipients = { readonly userIds: readonly number[] } | { readonly emails: readonly string[] };

/** Name of the parameter with the recipients: `to` over REST, a field of `to` in GraphQL. */
export const RECIPIENTS = 'to["direct"]';

/**
 * Maximum number of members of a conversation. A message to more members is refused with `ValidationError`. The index of
 * conversations by members supports at most this number.
 */
const MAX_MEMBERS = 250;

type DirectMessageDb = Pick<Tx, 'user' | 'userGroup' | 'conversation' | '$queryRaw'>;

/**
 * Returns the members of the conversation for a direct message: the sender and the recipients, without duplicates, ascending by
 * id. A message whose only recipient is the sender is a note to self.
 *
 * @throws ValidationError if there is no recipient, or if there are more than 250 members.
 * @throws NotFoundError if a recipient does not exist.
 * @throws ConflictError if a recipient is deactivated.
 * @throws ForbiddenError if the sender is not permitted to write to them.
 */
export async function accessMembers(
  db: DirectMessageDb,
  sender: MessageSender,
  recipients: Recipients,
  now: Date,
): Promise<User[]> {
  const named = await accessNamed(db, sender, recipients);
  if (named.length === 0) {
    throw new ValidationError('Message must have recipients!', { parameter: RECIPIENTS, minimum: 1 });
  }
  const members = [...new Map([sender.user, ...named].map((user) => [user.id, user])).values()];
  if (members.length > MAX_MEMBERS) throw tooManyMembers();
  const gone = members.find(({ isActive }) => !isActive);
  if (gone !== undefined) {
    throw new ConflictError(`'${apiEmail(gone)}' is no longer using this service.`, {
      parameter: RECIPIENTS,
      schemaMessage: `The account of ${gone.fullName} is deactivated.`,
    });
  }
  members.sort((a, b) => a.id - b.id);
  await requirePermission(db, sender, members, now);
  return members;
}

const tooManyMembers = (): ValidationError =>
  new ValidationError(`A conversation can have at most ${MAX_MEMBERS} members`, {
    parameter: RECIPIENTS,
    maximum: MAX_MEMBERS,
  });

/**
 * Reads the users that a client named, including deactivated ones, in the given order without duplicates.
 *
 * @throws NotFoundError if a user does not exist.
 * @throws ValidationError if the client named more than 500 different users.
 */
export function accessNamed(db: NameReader, sender: Namer, recipients: Recipients): Promise<User[]> {
  return 'userIds' in recipients ? byIds(db, sender, recipients.userIds) : byEmails(db, sender, recipients.emails);
}

/** A user who names other users in a request. The role determines whether they can name users by hidden email addresses. */
type Namer = Pick<MessageSender, 'organization' | 'id' | 'role'>;
type NameReader = Pick<DirectMessageDb, 'user' | '$queryRaw'>;

async function byIds(db: NameReader, { organization }: Namer, userIds: readonly number[]): Promise<User[]> {
  const ids = [...new Set(userIds)];
  // The query omits ids that cannot exist. The error below names the first unknown id in the given order.
  const found = await db.user.findMany({
    where: { organizationId: organization.id, id: { in: ids.filter(isRowId).slice(0, 2 * MAX_MEMBERS) } },
  });
  const byId = new Map(found.map((user) => [user.id, user]));
  if (ids.length > 2 * MAX_MEMBERS) throw tooManyMembers();
  return ids.map((id) => {
    const user = byId.get(id);
    if (user === undefined) {
      throw new NotFoundError(`Invalid user ID ${id}`, { type: 'User', id, parameter: RECIPIENTS });
    }
    return user;
  });
}

async function byEmails(db: NameReader, sender: Namer, emails: readonly string[]): Promise<User[]> {
  const addresses = [...new Set(emails.map((email) => email.trim().toWellFormed()))];
  if (addresses.length > 2 * MAX_MEMBERS) throw tooManyMembers();
  const found = await userIdsByAddress(db, sender, addresses);
  const wanted = addresses.map((address) => found.get(address) ?? 0);
  const users = await db.user.findMany({
    where: { organizationId: sender.organization.id, id: { in: wanted.filter(isRowId) } },
  });
  const byId = new Map(users.map((user) => [user.id, user]));
  return addresses.map((address, i) => {
    const user = byId.get(wanted[i] ?? 0);
    if (user === undefined) {
      throw new NotFoundError(`Invalid email '${address}'`, { type: 'User', parameter: RECIPIENTS });
    }
    return user;
  });
}

/**
 * Checks that the organization permits the sender's direct message to these members. Messages from bots and notes to self are
 * always permitted.
 *
 * @throws ForbiddenError if the organization does not permit the message.
 */
async function requirePermission(
  db: DirectMessageDb,
  sender: MessageSender,
  members: readonly User[],
  now: Date,
): Promise<void> {
  const { organization } = sender;
  const groups = await systemGroups(db, organization.id);
  const missing = missingDirectPermission(sender, members, groups, now);
  if (missing === undefined) return;
  if (missing === 'direct_message_permission_group') {
    const { groups: ids } = organizationGroupSetting(groups, organization, 'direct_message_permission_group');
    const isNobody = ids.length === 1 && groups.name(ids[0] ?? 0) === 'role:nobody';
    const message = isNobody
      ? 'Direct messages are disabled in this organization.'
      : 'This conversation does not include any users who can authorize it.';
    throw new ForbiddenError(message, {
      permission: 'direct_message_permission_group',
      parameter: RECIPIENTS,
      schemaMessage: message,
    });
  }
  const known = await findConversation(
    db,
    organization.id,
    members.map(({ id }) => id),
  );
  if (known === null) {
    throw new ForbiddenError('You do not have permission to initiate direct message conversations.', {
      permission: 'direct_message_initiator_group',
      parameter: RECIPIENTS,
    });
  }
}

/** The permissions for direct messages: to be in a conversation that is permitted, and to begin one. */
type DirectPermission = 'direct_message_permission_group' | 'direct_message_initiator_group';

/**
 * Returns the permission that is missing for a direct message to these members. `direct_message_initiator_group`: the sender
 * can only continue an existing conversation. Undefined if the message is permitted.
 */
export function missingDirectPermission(
  { organization, user: self }: Pick<MessageSender, 'organization' | 'user'>,
  members: readonly User[],
  groups: SystemGroups,
  now: Date,
): DirectPermission | undefined {
  if (self.botType !== null || members.length === 1) return undefined;
  const holds = (user: User, name: DirectPermission) =>
    mayInOrganization({ person: { id: user.id, role: user.role, organization, user }, groups, now }, name);
  // System bots are ignored here: their membership does not make a conversation permitted.
  const isPermitted = members.some((member) => !member.isSystem && holds(member, 'direct_message_permission_group'));
  if (!isPermitted) return 'direct_message_permission_group';
  return holds(self, 'direct_message_initiator_group') ? undefined : 'direct_message_initiator_group';
}

/**
 * Returns the ids of those users with whom the user has a conversation of exactly two members. Uses one query.
 *
 * @param userIds Ids of other users.
 */
export async function usersInConversationWith(
  db: SqlClient,
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
  userIds: readonly number[],
): Promise<Set<number>> {
  const rows = await readRows<{ id: number }>(
    db,
    Prisma.sql`
    SELECT other.id FROM unnest(${listOf('int', userIds)}) AS other (id)
    JOIN conversation v ON v.realm_id = ${organizationId}
      AND v.member_ids = ARRAY[LEAST(other.id, ${userId}::int), GREATEST(other.id, ${userId}::int)]`,
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Finds the conversation that has exactly these members. Null if there is none.
 *
 * @param memberIds User ids, ascending.
 */
export async function findConversation(
  db: Pick<Tx, 'conversation'>,
  organizationId: number,
  memberIds: readonly number[],
): Promise<{ id: number } | null> {
  return db.conversation.findUnique({
    where: { organizationId_memberIds: { organizationId, memberIds: [...memberIds] } },
    select: { id: true },
  });
}

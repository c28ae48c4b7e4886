import { type ChannelActor, insufficientPermission, requireInOrganization } from '../../access/permissions/require.ts';
import { invalidChannelId, readsChannel } from '../../channels/access.ts';
import { mayAddOthers } from '../../channels/subscribe.ts';
import type { Channel, Invitation, UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import {
  type ChatError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  ValidationError,
} from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { ADMINISTRATOR, isGuest, isOwner, OWNER, ROLES } from '../../platform/roles.ts';
import { ROLE_GROUP, requireActiveGroup } from '../user-groups/access.ts';
import { mayChangeMembers } from '../user-groups/members.ts';

/** Maximum number of channels, and maximum number of groups, of an invitation. The database enforces the same maximum. */
const MAX_PLACES = 500;

/**
 * Returns the ids of the channels or groups of a new invitation, each once.
 *
 * @param parameter Name of the parameter that contains the ids.
 * @throws ValidationError if there are more than 500.
 */
export function requireFew(parameter: string, ids: readonly number[]): number[] {
  if (ids.length <= MAX_PLACES) return [...new Set(ids)];
  const message = `${parameter} is too long (limit: ${MAX_PLACES} items)`;
  throw new ValidationError(message, { parameter, maximum: MAX_PLACES });
}

/** Role of a new user, and the channels and groups that they join. */
export type Terms = Pick<Invitation, 'isReusable' | 'role' | 'channelIds' | 'groupIds'>;

/** Returns the permission that a user needs to create an invitation. */
const permissionFor = ({ isReusable }: Pick<Terms, 'isReusable'>) =>
  isReusable ? ('create_multiuse_invite_group' as const) : ('can_invite_users_group' as const);

/**
 * Checks that a user can invite people with this role. Called for the viewer who creates an invitation, and for the inviter when
 * a person joins, because the rights of the inviter can have changed.
 *
 * @throws ForbiddenError if the user lacks the permission to invite people, or the role has more rights than the user's.
 * @throws ValidationError if there is no such role.
 */
export function requireMayInvite(actor: ChannelActor, terms: Pick<Terms, 'isReusable' | 'role'>): void {
  requireInOrganization(actor, permissionFor(terms));
  const { role } = terms;
  const parameter = 'invite_as';
  if (!ROLES.some((known) => known === role)) throw new ValidationError('Invalid role', { parameter, value: role });
  if (role >= actor.person.role) return;
  // The error can name only three roles as a requirement, which does not include moderators. Inviting a moderator requires a
  // moderator or a higher role.
  const needed = isOwner(role) ? OWNER : ADMINISTRATOR;
  throw new ForbiddenError('You cannot invite people with a higher role than your own.', { parameter, role: needed });
}

/**
 * Checks that a user can create an invitation: role, channels and groups.
 *
 * @throws The errors of `requireMayInvite`.
 * @throws NotFoundError if a channel or group does not exist, or the user cannot see it.
 * @throws ForbiddenError if the user cannot add other users to a channel or group. Default channels are exempt.
 * @throws ConflictError if a channel is archived or a group is deactivated.
 */
export async function requireTerms(tx: Tx, actor: ChannelActor, terms: Terms): Promise<void> {
  requireMayInvite(actor, terms);
  const { channelIds, groupIds } = terms;
  const [channels, groups] = [await assessChannels(tx, actor, channelIds), await assessGroups(tx, actor, groupIds)];
  for (const objection of [...channels, ...groups].map(({ objection }) => objection)) {
    if (objection !== undefined) throw objection;
  }
}

/** An object that a new user is added to, with the error if the inviter cannot add users to it. */
interface Assessed<T> {
  readonly object: T | undefined;
  readonly objection: ChatError | undefined;
}

/** Reads the channels of an invitation, in the order of `ids`. */
export async function assessChannels(
  tx: Tx,
  actor: ChannelActor,
  ids: readonly number[],
): Promise<Assessed<Channel>[]> {
  const { person } = actor;
  const known = [...new Set(ids)].filter(isRowId);
  if (ids.length === 0) return [];
  const organizationId = person.organization.id;
  const channels = await tx.channel.findMany({ where: { organizationId, id: { in: known } } });
  const own = await tx.subscription.findMany({
    where: { organizationId, userId: person.id, active: true, channelId: { in: known } },
    select: { channelId: true },
  });
  const ownIds = new Set(own.map(({ channelId }) => channelId));
  return ids.map((id, index) => {
    const object = channels.find((channel) => channel.id === id);
    const parameter = `stream_ids[${index}]`;
    if (object === undefined || !readsChannel(actor, object, ownIds.has(id))) {
      return { object, objection: invalidChannelId(id) };
    }
    if (object.isArchived) return { object, objection: new ConflictError('The channel is archived.', { parameter }) };
    const objection =
      object.isDefault || mayAddOthers(actor, object)
        ? undefined
        : insufficientPermission({ permission: 'can_add_subscribers_group', parameter });
    return { object, objection };
  });
}

/** The id of a user who is not the actor, for checks of whether the actor can add other users. */
const ANOTHER = -1;

/** Reads the groups of an invitation, in the order of `ids`. */
export async function assessGroups(
  tx: Tx,
  actor: ChannelActor,
  ids: readonly number[],
): Promise<Assessed<UserGroup>[]> {
  if (ids.length === 0) return [];
  const where = { organizationId: actor.person.organization.id, id: { in: [...new Set(ids)].filter(isRowId) } };
  const groups = await tx.userGroup.findMany({ where });
  return ids.map((id, index) => {
    const group = groups.find((one) => one.id === id);
    return { object: group, objection: group === undefined ? noSuchGroup(id) : groupObjection(actor, group, index) };
  });
}

const noSuchGroup = (id: number) => new NotFoundError(`Invalid user group ID: ${id}`, { type: 'UserGroup', id });

function groupObjection(actor: ChannelActor, group: UserGroup, index: number): ChatError | undefined {
  const parameter = `group_ids[${index}]`;
  if (isGuest(actor.person.role)) return noSuchGroup(group.id);
  if (group.isSystem) return insufficientPermission({ ...ROLE_GROUP, parameter });
  try {
    requireActiveGroup(group, parameter);
  } catch (error) {
    return error as ConflictError;
  }
  if (mayChangeMembers({ actor, group }, { add: [ANOTHER] })) return undefined;
  return insufficientPermission({ permission: 'can_add_members_group', parameter });
}

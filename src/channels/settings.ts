import type { Ctx } from '../access/context.ts';
import {
  type OrganizationGroupSettingName,
  organizationSetting,
  TOPICS_POLICY,
} from '../access/organization-settings.ts';
import type { ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import { type ChannelActor, insufficientPermission, mayInOrganization } from '../access/permissions/require.ts';
import type { GroupSetting, SystemGroups } from '../access/system-groups.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { ADMINISTRATOR, isAdministrator } from '../platform/roles.ts';
import { valuesOf } from '../platform/setting.ts';
import { ProtectedHistoryError } from './errors.ts';

/** Allowed values of a channel's `topics_policy`. */
export const TOPICS_POLICIES = valuesOf(TOPICS_POLICY);
export type TopicsPolicy = (typeof TOPICS_POLICIES)[number];

/**
 * Number of days after which messages of a channel are deleted. `realm_default`: the setting of the organization applies.
 * `unlimited`: messages are never deleted.
 */
export type Retention = number | 'realm_default' | 'unlimited';

/** The columns that determine which users can read a channel, and how much of its history. */
export type Privacy = Pick<Channel, 'inviteOnly' | 'isWebPublic' | 'historyPublicToSubscribers'>;

/**
 * Checks that the privacy settings are valid, and that the viewer is allowed to give them to a channel.
 *
 * @throws ValidationError if a web-public channel is private, or a public channel has protected history.
 * @throws ConflictError if the channel is web-public, and the organization does not enable such channels.
 * @throws ForbiddenError if the viewer is not allowed to create channels of this kind.
 */
export function requirePrivacy(channelActor: ChannelActor, privacy: Privacy): void {
  const objection = objectionToPrivacy(channelActor, privacy);
  if (objection !== undefined) throw objection;
}

/** Returns the error if the user is not allowed to give a channel this privacy, otherwise undefined. */
export function objectionToPrivacy(
  channelActor: ChannelActor,
  { inviteOnly, isWebPublic, historyPublicToSubscribers }: Privacy,
): ValidationError | ConflictError | ForbiddenError | undefined {
  if (isWebPublic && inviteOnly) {
    return new ValidationError('Invalid parameters', {
      parameter: 'is_web_public',
      schemaMessage: 'A private channel cannot be web-public.',
    });
  }
  if (!inviteOnly && !historyPublicToSubscribers) {
    return new ValidationError('Invalid parameters', {
      parameter: 'history_public_to_subscribers',
      schemaMessage: 'Only private channels can hide their history from new subscribers.',
    });
  }
  if (isWebPublic && !organizationSetting(channelActor.person.organization, 'enable_spectator_access')) {
    return new ConflictError('Web-public channels are not enabled.', { parameter: 'is_web_public' });
  }
  const permission = createPermission({ inviteOnly, isWebPublic });
  if (mayInOrganization(channelActor, permission)) return undefined;
  const parameter = isWebPublic ? 'is_web_public' : 'is_private';
  return insufficientPermission({ permission, parameter });
}

function createPermission({ inviteOnly, isWebPublic }: Omit<Privacy, 'historyPublicToSubscribers'>) {
  if (isWebPublic) return 'can_create_web_public_channel_group';
  return inviteOnly ? 'can_create_private_channel_group' : 'can_create_public_channel_group';
}

/**
 * Permissions in a channel that a user can change only with a certain permission of the organization. The key is the name of
 * the permission in the channel, and the value the name of the required permission of the organization.
 */
const RESERVED: Partial<Record<ChannelPermissionName, OrganizationGroupSettingName>> = {
  can_delete_any_message_group: 'can_set_delete_message_policy_group',
  can_delete_own_message_group: 'can_set_delete_message_policy_group',
};

/**
 * Checks that the user is allowed to change the permissions in `names`. @throws ForbiddenError if the user is not allowed to
 * change one of them.
 */
export function requireReserved(channelActor: ChannelActor, names: readonly string[]): void {
  for (const name of names) {
    const needed = RESERVED[name as ChannelPermissionName];
    if (needed !== undefined && !mayInOrganization(channelActor, needed)) {
      throw insufficientPermission({ permission: needed, parameter: name });
    }
  }
}

/**
 * Checks that all users can start topics if the channel has protected history: new subscribers cannot read earlier messages.
 * Without this rule, users who see only part of the history could not know whether a topic exists or would be new.
 *
 * @throws ProtectedHistoryError if the history is protected and only some users can start topics.
 */
export function requireTopicsForProtectedHistory(
  groups: SystemGroups,
  { inviteOnly, historyPublicToSubscribers }: Pick<Privacy, 'inviteOnly' | 'historyPublicToSubscribers'>,
  topicStarters: GroupSetting,
): void {
  if (!inviteOnly || historyPublicToSubscribers) return;
  if (topicStarters.members.length === 0 && topicStarters.groups.join() === `${groups.id('role:everyone')}`) return;
  throw new ProtectedHistoryError();
}

/** Returns whether the viewer can choose the organization's default channels. */
export const mayChooseDefaultChannels = ({ viewer }: Pick<Ctx, 'viewer'>): boolean => isAdministrator(viewer.role);

/** Checks that the viewer can choose the organization's default channels. @throws ForbiddenError if the viewer cannot. */
export function requireDefaultChannels(ctx: Pick<Ctx, 'viewer'>): void {
  if (mayChooseDefaultChannels(ctx)) return;
  throw new ForbiddenError('You do not have permission to change default channels.', {
    role: ADMINISTRATOR,
    parameter: 'is_default_stream',
  });
}

/**
 * Checks that a channel can be a default channel, to which new users are subscribed automatically.
 *
 * @param parameter Parameter that would make it a private or an archived default channel.
 * @throws ConflictError if the channel is private or archived.
 */
export function requireFitForDefault(
  { inviteOnly, isArchived }: Pick<Channel, 'inviteOnly' | 'isArchived'>,
  parameter = 'is_default_stream',
): void {
  if (inviteOnly) throw new ConflictError('A default channel cannot be private.', { parameter });
  if (isArchived) throw new ConflictError('An archived channel cannot be a default channel.', { parameter });
}

/**
 * Returns the retention as stored: days, null for the organization's value, -1 for unlimited.
 *
 * @throws ValidationError if the number of days is not a positive integer.
 */
export function toStoredRetention(retention: Retention): number | null {
  if (retention === 'realm_default') return null;
  if (retention === 'unlimited') return -1;
  if (isRowId(retention)) return retention;
  throw new ValidationError(`Bad value for 'message_retention_days': ${retention}`, {
    parameter: 'message_retention_days',
    minimum: 1,
    value: retention,
    schemaMessage: 'The number of days must be positive, or -1 to keep messages forever.',
  });
}

/**
 * Checks that the user can give a channel the topics policy.
 *
 * @throws ValidationError if the policy is unknown.
 * @throws ForbiddenError if the viewer is not allowed to set it.
 */
export function requireTopicsPolicy(channelActor: ChannelActor, policy: string): void {
  const parameter = 'topics_policy';
  if (!TOPICS_POLICIES.some((known) => known === policy)) {
    throw new ValidationError('Invalid topics_policy', { parameter, schemaMessage: 'Unknown topics policy' });
  }
  const permission = 'can_set_topics_policy_group';
  if (!mayInOrganization(channelActor, permission)) throw insufficientPermission({ permission, parameter });
}

/**
 * Locks a folder against archiving while a channel is added to it.
 *
 * @throws NotFoundError if the folder does not exist.
 * @throws ConflictError if the folder is archived.
 */
export async function requireFolder(tx: Tx, organizationId: number, folderId: number): Promise<void> {
  const [folder] = isRowId(folderId)
    ? await tx.$queryRaw<{ is_archived: boolean }[]>`
        SELECT is_archived FROM channel_folder WHERE realm_id = ${organizationId} AND id = ${folderId} FOR SHARE`
    : [];
  const parameter = 'folder_id';
  if (folder === undefined) {
    throw new NotFoundError('Invalid channel folder ID', { type: 'ChannelFolder', id: folderId, parameter });
  }
  if (folder.is_archived) throw new ConflictError('This channel folder is archived', { parameter });
}

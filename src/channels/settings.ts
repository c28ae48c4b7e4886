import type { Ctx } from '../access/context.ts';
import type { ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import {
  type ChannelActor,
  insufficientPermission,
  mayInRealm,
  requireInRealm,
} from '../access/permissions/require.ts';
import { type RealmGroupSettingName, realmSetting, TOPICS_POLICY } from '../access/realm-settings.ts';
import type { GroupSetting, SystemGroups } from '../access/system-groups.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { BadRequestError, UnsupportedParametersError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { isAdministrator } from '../platform/roles.ts';
import { valuesOf } from '../platform/setting.ts';

/** Values of the column `topics_policy`, which documents their meanings. */
export const TOPICS_POLICIES = valuesOf(TOPICS_POLICY);
export type TopicsPolicy = (typeof TOPICS_POLICIES)[number];

/** The number of days for which messages are kept, the organization's value, or unlimited. */
export type Retention = number | 'realm_default' | 'unlimited';

/** The columns that determine to whom a channel is open. */
export type Privacy = Pick<Channel, 'inviteOnly' | 'isWebPublic' | 'historyPublicToSubscribers'>;

/**
 * Checks that the privacy settings are valid, and that the viewer is allowed to give them to a channel.
 *
 * @throws BadRequestError if a web-public channel is private, or the organization does not enable such channels.
 * @throws BadRequestError if a public channel has protected history.
 * @throws BadRequestError if the viewer is not allowed to create channels of this kind.
 */
export function requirePrivacy(channelActor: ChannelActor, privacy: Privacy): void {
  const objection = objectionToPrivacy(channelActor, privacy);
  if (objection !== undefined) throw objection;
}

/** Returns the error if the user is not allowed to give a channel this privacy. Undefined if they are. */
export function objectionToPrivacy(
  channelActor: ChannelActor,
  { inviteOnly, isWebPublic, historyPublicToSubscribers }: Privacy,
): BadRequestError | undefined {
  if (isWebPublic && inviteOnly) return new BadRequestError('Invalid parameters');
  if (!inviteOnly && !historyPublicToSubscribers) return new BadRequestError('Invalid parameters');
  if (isWebPublic && !realmSetting(channelActor.person.realm, 'enable_spectator_access')) {
    return new BadRequestError('Web-public channels are not enabled.');
  }
  const isHeld = mayInRealm(channelActor, createPermission({ inviteOnly, isWebPublic }));
  return isHeld ? undefined : insufficientPermission();
}

function createPermission({ inviteOnly, isWebPublic }: Omit<Privacy, 'historyPublicToSubscribers'>) {
  if (isWebPublic) return 'can_create_web_public_channel_group';
  return inviteOnly ? 'can_create_private_channel_group' : 'can_create_public_channel_group';
}

/** Channel permissions whose change also requires a permission of the organization. */
const RESERVED: Partial<Record<ChannelPermissionName, RealmGroupSettingName>> = {
  can_delete_any_message_group: 'can_set_delete_message_policy_group',
  can_delete_own_message_group: 'can_set_delete_message_policy_group',
};

/** @throws BadRequestError if the user is not allowed to change one of the channel's permissions. */
export function requireReserved(channelActor: ChannelActor, names: readonly string[]): void {
  for (const name of names) {
    const needed = RESERVED[name as ChannelPermissionName];
    if (needed !== undefined) requireInRealm(channelActor, needed);
  }
}

/**
 * Checks that all users can start topics if the history is protected. Users who see only part of the history cannot find
 * out which topics exist.
 *
 * @throws UnsupportedParametersError if the history is protected and only some users can start topics.
 */
export function requireTopicsForProtectedHistory(
  groups: SystemGroups,
  { inviteOnly, historyPublicToSubscribers }: Pick<Privacy, 'inviteOnly' | 'historyPublicToSubscribers'>,
  topicStarters: GroupSetting,
): void {
  if (!inviteOnly || historyPublicToSubscribers) return;
  if (topicStarters.members.length === 0 && topicStarters.groups.join() === `${groups.id('role:everyone')}`) return;
  throw new UnsupportedParametersError(['history_public_to_subscribers', 'can_create_topic_group']);
}

/** Whether the viewer can choose the organization's default channels. */
export const mayChooseDefaultChannels = ({ viewer }: Pick<Ctx, 'viewer'>): boolean => isAdministrator(viewer.role);

/** @throws BadRequestError unless the viewer can choose the organization's default channels. */
export function requireDefaultChannels(ctx: Pick<Ctx, 'viewer'>): void {
  if (!mayChooseDefaultChannels(ctx))
    throw new BadRequestError('You do not have permission to change default channels.');
}

/**
 * Checks that a channel can be a default channel, to which new users are subscribed automatically.
 *
 * @throws BadRequestError if the channel is private or archived.
 */
export function requireFitForDefault({ inviteOnly, isArchived }: Pick<Channel, 'inviteOnly' | 'isArchived'>): void {
  if (inviteOnly) throw new BadRequestError('A default channel cannot be private.');
  if (isArchived) throw new BadRequestError('An archived channel cannot be a default channel.');
}

/**
 * Returns the retention as stored: days, null for the organization's value, -1 for unlimited.
 *
 * @throws BadRequestError if the number of days is not a positive integer.
 */
export function toStoredRetention(retention: Retention): number | null {
  if (retention === 'realm_default') return null;
  if (retention === 'unlimited') return -1;
  if (!isRowId(retention)) throw new BadRequestError(`Bad value for 'message_retention_days': ${retention}`);
  return retention;
}

/** @throws BadRequestError if the policy is unknown or the viewer is not allowed to set it. */
export function requireTopicsPolicy(channelActor: ChannelActor, policy: string): void {
  if (!TOPICS_POLICIES.some((known) => known === policy)) throw new BadRequestError('Invalid topics_policy');
  requireInRealm(channelActor, 'can_set_topics_policy_group');
}

/**
 * Locks a folder against archiving while a channel is added to it.
 *
 * @throws BadRequestError if the folder does not exist or is archived.
 */
export async function requireFolder(tx: Tx, realmId: number, folderId: number): Promise<void> {
  const [folder] = isRowId(folderId)
    ? await tx.$queryRaw<{ is_archived: boolean }[]>`
        SELECT is_archived FROM channel_folder WHERE realm_id = ${realmId} AND id = ${folderId} FOR SHARE`
    : [];
  if (folder === undefined) throw new BadRequestError('Invalid channel folder ID');
  if (folder.is_archived) throw new BadRequestError('This channel folder is archived');
}

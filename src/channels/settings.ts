import type { Ctx } from '../access/context.ts';
import type { ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import {
  type ChannelActor,
  insufficientPermission,
  mayInRealm,
  requireInRealm,
} from '../access/permissions/require.ts';
import type { GroupSetting, SystemGroups } from '../access/permissions/system-groups.ts';
import { type RealmGroupSettingName, realmSetting, TOPICS_POLICY } from '../access/realm-settings.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { BadRequestError, UnsupportedParametersError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { isAdministrator } from '../platform/roles.ts';
import { valuesOf } from '../platform/setting.ts';

/** What each value of `topics_policy` means is on the column. */
export const TOPICS_POLICIES = valuesOf(TOPICS_POLICY);
export type TopicsPolicy = (typeof TOPICS_POLICIES)[number];

/** Days to keep messages, the organisation's value, or for ever. */
export type Retention = number | 'realm_default' | 'unlimited';

/** How open a channel is. */
export type Privacy = Pick<Channel, 'inviteOnly' | 'isWebPublic' | 'historyPublicToSubscribers'>;

/**
 * Refuses a privacy that cannot be, or that the viewer may not give a channel.
 *
 * @throws BadRequestError for a web-public channel that is private or where the organisation has none, for an open
 *   channel with protected history, and for a viewer who may not create channels of this kind.
 */
export function requirePrivacy(channelActor: ChannelActor, privacy: Privacy): void {
  const objection = objectionToPrivacy(channelActor, privacy);
  if (objection !== undefined) throw objection;
}

/** Why a privacy is none that the person may give a channel; undefined where they may. */
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

/** Changing these takes a permission of the organisation besides administering the channel. */
const RESERVED: Partial<Record<ChannelPermissionName, RealmGroupSettingName>> = {
  can_delete_any_message_group: 'can_set_delete_message_policy_group',
  can_delete_own_message_group: 'can_set_delete_message_policy_group',
};

/** @throws BadRequestError when one of the channel's permissions is not for the person to change. */
export function requireReserved(channelActor: ChannelActor, names: readonly string[]): void {
  for (const name of names) {
    const needed = RESERVED[name as ChannelPermissionName];
    if (needed !== undefined) requireInRealm(channelActor, needed);
  }
}

/**
 * Who sees only part of a channel's history cannot know which topics exist, so everyone must be free to start one.
 *
 * @throws UnsupportedParametersError for protected history with topics only some may start.
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

/** Whether the viewer may choose the organisation's default channels. */
export const mayChooseDefaultChannels = ({ viewer }: Pick<Ctx, 'viewer'>): boolean => isAdministrator(viewer.role);

/** @throws BadRequestError unless the viewer may choose the organisation's default channels. */
export function requireDefaultChannels(ctx: Pick<Ctx, 'viewer'>): void {
  if (!mayChooseDefaultChannels(ctx))
    throw new BadRequestError('You do not have permission to change default channels.');
}

/** @throws BadRequestError when the channel cannot be a default channel, which new users join unasked. */
export function requireFitForDefault({ inviteOnly, isArchived }: Pick<Channel, 'inviteOnly' | 'isArchived'>): void {
  if (inviteOnly) throw new BadRequestError('A default channel cannot be private.');
  if (isArchived) throw new BadRequestError('An archived channel cannot be a default channel.');
}

/**
 * The retention as it is stored: days, null for the organisation's value, -1 for ever.
 *
 * @throws BadRequestError for a number of days that is none.
 */
export function toStoredRetention(retention: Retention): number | null {
  if (retention === 'realm_default') return null;
  if (retention === 'unlimited') return -1;
  if (!isRowId(retention)) throw new BadRequestError(`Bad value for 'message_retention_days': ${retention}`);
  return retention;
}

/** @throws BadRequestError unless the viewer may set topic policies. */
export function requireTopicsPolicy(channelActor: ChannelActor, policy: string): void {
  if (!TOPICS_POLICIES.some((known) => known === policy)) throw new BadRequestError('Invalid topics_policy');
  requireInRealm(channelActor, 'can_set_topics_policy_group');
}

/**
 * Keeps a folder from being archived while a channel is put into it.
 *
 * @throws BadRequestError when there is no such folder, or it is archived.
 */
export async function requireFolder(tx: Tx, realmId: number, folderId: number): Promise<void> {
  const [folder] = isRowId(folderId)
    ? await tx.$queryRaw<{ is_archived: boolean }[]>`
        SELECT is_archived FROM channel_folder WHERE realm_id = ${realmId} AND id = ${folderId} FOR SHARE`
    : [];
  if (folder === undefined) throw new BadRequestError('Invalid channel folder ID');
  if (folder.is_archived) throw new BadRequestError('This channel folder is archived');
}

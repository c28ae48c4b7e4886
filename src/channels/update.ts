import type { Ctx } from '../access/context.ts';
import { changedGroupSettings, type GroupSettingEdits } from '../access/permission-values.ts';
import {
  CHANNEL_PERMISSIONS,
  type ChannelPermissionName,
  CONTENT_PERMISSIONS,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { requireOwner } from '../access/roles.ts';
import { type GroupSetting, toWireGroupSetting } from '../access/system-groups.ts';
import { users } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import { renderMarkdown } from '../markdown/render.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { BadRequestError } from '../platform/errors.ts';
import { requireReadable } from '../platform/names.ts';
import { bringBack } from './archive.ts';
import { TopicPolicyError } from './errors.ts';
import { type ChannelChange, channelsDeleted, channelUpdated } from './events.ts';
import { publishAccessChange, tellRenamed } from './hooks.ts';
import { isChannelNameTaken, requireChannelDescription, requireChannelName } from './names.ts';
import { toStoredPermissions } from './permission-values.ts';
import { lockAdministeredChannel, requireContentAccess, type SeenChannel } from './seen-channel.ts';
import {
  type Retention,
  requireDefaultChannels,
  requireFitForDefault,
  requireFolder,
  requirePrivacy,
  requireReserved,
  requireTopicsForProtectedHistory,
  requireTopicsPolicy,
  toStoredRetention,
} from './settings.ts';
import { announceDefaultChannels } from './subscriptions/default-channels.ts';
import type { SubscriptionChangeContext } from './subscriptions/membership.ts';
import { emptyTopicName } from './topic-name.ts';
import { showChannels, visibilityChange } from './visibility.ts';
import { isAnnouncementOnly, postPolicyOf } from './wire.ts';

/** Fields of a channel to change. Absent fields stay unchanged. */
export interface ChannelEdit {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly isPrivate?: boolean | undefined;
  readonly isWebPublic?: boolean | undefined;
  readonly historyPublicToSubscribers?: boolean | undefined;
  readonly isDefault?: boolean | undefined;
  readonly messageRetentionDays?: Retention | undefined;
  /** False restores the channel from the archive. No other value is valid. */
  readonly isArchived?: boolean | undefined;
  /** Id of the folder. Null removes the channel from its folder. */
  readonly folderId?: number | null | undefined;
  readonly topicsPolicy?: string | undefined;
  readonly permissions?: GroupSettingEdits<ChannelPermissionName> | undefined;
}

/** One part of an update: the columns to write, and the changes to emit. */
interface UpdatePart {
  readonly data: Prisma.ChannelUncheckedUpdateInput;
  readonly changes: readonly ChannelChange[];
}

/** Properties that determine who can read a channel. */
const DECIDING_CONTENT: ReadonlySet<string> = new Set(['invite_only', ...CONTENT_PERMISSIONS]);

const NOTHING: UpdatePart = { data: {}, changes: [] };

/**
 * Updates a channel. Emits one event for each property that changes.
 *
 * @throws UnauthorizedPrincipalError if a retention is given and the viewer is not an owner.
 * @throws ExpectationMismatchError if a permission differs from the value that the client expects.
 * @throws UnsupportedParametersError if the history is protected and only some users can start topics.
 * @throws TopicPolicyError if the new policy allows only the empty topic, and the channel contains other topics.
 * @throws BadRequestError if the channel does not exist, the viewer cannot change it, or a value is invalid.
 */
export async function updateChannel(ctx: Ctx, channelId: number, edit: ChannelEdit): Promise<void> {
  try {
    await transact(ctx, async (tx, emit) => {
      const seen = await lockAdministeredChannel(tx, ctx, channelId);
      const context = { realm: seen.ctx.viewer.realm, now: seen.actor.now };
      const channel = await unarchiveIfAsked(tx, emit, context, seen.channel, edit);
      const parts = await partsOf(tx, { ...seen, channel }, edit);
      await apply(tx, emit, context, channel, parts);
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw nameInUse();
    throw error;
  }
}

const nameInUse = () => new BadRequestError('Channel name already in use.');

async function unarchiveIfAsked(
  tx: Tx,
  emit: Emit,
  context: SubscriptionChangeContext,
  channel: Channel,
  { isArchived }: ChannelEdit,
) {
  if (isArchived === undefined) return channel;
  if (isArchived) throw new BadRequestError('To archive a channel, use DELETE /streams/{stream_id}');
  return bringBack(tx, emit, context, channel);
}

async function partsOf(tx: Tx, seen: SeenChannel, edit: ChannelEdit): Promise<UpdatePart[]> {
  const { ctx, channel, actor } = seen;
  const parts = [
    described(channel, edit),
    opened(seen, edit),
    await permitted(tx, seen, edit),
    await moved(tx, channel, edit),
    policed(seen, edit),
    retained(ctx, channel, edit),
    defaulted(ctx, channel, edit),
    // The name comes last, because every event of the update contains the channel's name. In all of them it must be the name
    // from before the update.
    await renamed(tx, channel, edit),
  ];
  const after = Object.assign({}, channel, ...parts.map(({ data }) => data)) as Channel;
  if (after.isDefault) requireFitForDefault(after);
  const topicStarters = channelPermission(actor.groups, after, 'can_create_topic_group');
  if (parts.some(({ data }) => 'permissions' in data || 'inviteOnly' in data)) {
    requireTopicsForProtectedHistory(actor.groups, after, topicStarters);
  }
  return parts;
}

async function renamed(tx: Tx, channel: Channel, { name }: ChannelEdit): Promise<UpdatePart> {
  if (name === undefined) return NOTHING;
  const value = requireChannelName(name);
  if (value === channel.name) throw new BadRequestError('Channel already has that name.');
  requireReadable('channel name', value);
  if (await isChannelNameTaken(tx, channel.realmId, value, channel.id)) throw nameInUse();
  return { data: { name: value }, changes: [{ property: 'name', value }] };
}

function described(channel: Channel, { description }: ChannelEdit): UpdatePart {
  const value = description === undefined ? channel.description : requireChannelDescription(description);
  if (value === channel.description) return NOTHING;
  const html = renderMarkdown(value);
  return {
    data: { description: value, renderedDescription: html },
    changes: [{ property: 'description', value, rendered_description: html }],
  };
}

/**
 * Returns the change of the privacy. Unless the client specifies it, the history of a channel that becomes private is
 * protected, and the history of a channel that becomes public is visible.
 */
function opened(seen: SeenChannel, { isPrivate, isWebPublic, historyPublicToSubscribers }: ChannelEdit): UpdatePart {
  const { channel, actor } = seen;
  const inviteOnly = isPrivate ?? channel.inviteOnly;
  const usual = inviteOnly === channel.inviteOnly ? channel.historyPublicToSubscribers : !inviteOnly;
  const privacy = {
    inviteOnly,
    isWebPublic: isWebPublic ?? channel.isWebPublic,
    historyPublicToSubscribers: historyPublicToSubscribers ?? usual,
  };
  const isSame = Object.entries(privacy).every(([name, value]) => channel[name as keyof typeof privacy] === value);
  if (isSame) return NOTHING;
  requireContentAccess(seen);
  requirePrivacy(actor, privacy);
  const change: ChannelChange = {
    property: 'invite_only',
    value: inviteOnly,
    history_public_to_subscribers: privacy.historyPublicToSubscribers,
    is_web_public: privacy.isWebPublic,
  };
  return { data: privacy, changes: [change] };
}

async function permitted(tx: Tx, seen: SeenChannel, { permissions = {} }: ChannelEdit): Promise<UpdatePart> {
  const { channel, actor } = seen;
  const { groups } = actor;
  const settings = await changedGroupSettings(tx, channel.realmId, CHANNEL_PERMISSIONS, permissions, (name) =>
    channelPermission(groups, channel, name),
  );
  const names = Object.keys(settings) as ChannelPermissionName[];
  if (names.length === 0) return NOTHING;
  requireReserved(actor, names);
  if (CONTENT_PERMISSIONS.some((name) => names.includes(name))) requireContentAccess(seen);
  const changes: ChannelChange[] = Object.entries(settings).map(([name, setting]) => ({
    property: name as ChannelPermissionName,
    value: toWireGroupSetting(groups, setting),
  }));
  return {
    data: { permissions: toStoredPermissions(groups, channel, settings) },
    changes: [...changes, ...postPolicyChanges(seen, settings.can_send_message_group)],
  };
}

/** Returns the changes of the posting permission in the forms for old clients, as separate events. */
function postPolicyChanges({ channel, actor }: SeenChannel, senders: GroupSetting | undefined): ChannelChange[] {
  if (senders === undefined) return [];
  const before = postPolicyOf(actor.groups, channelPermission(actor.groups, channel, 'can_send_message_group'));
  const value = postPolicyOf(actor.groups, senders);
  if (value === before) return [];
  const changes: ChannelChange[] = [{ property: 'stream_post_policy', value }];
  if (isAnnouncementOnly(value) === isAnnouncementOnly(before)) return changes;
  return [...changes, { property: 'is_announcement_only', value: isAnnouncementOnly(value) }];
}

async function moved(tx: Tx, channel: Channel, { folderId }: ChannelEdit): Promise<UpdatePart> {
  if (folderId === undefined || folderId === channel.folderId) return NOTHING;
  if (folderId !== null) await requireFolder(tx, channel.realmId, folderId);
  return { data: { folderId }, changes: [{ property: 'folder_id', value: folderId }] };
}

function policed({ channel, actor }: SeenChannel, { topicsPolicy }: ChannelEdit): UpdatePart {
  if (topicsPolicy === undefined || topicsPolicy === channel.topicsPolicy) return NOTHING;
  requireTopicsPolicy(actor, topicsPolicy);
  return { data: { topicsPolicy }, changes: [{ property: 'topics_policy', value: topicsPolicy }] };
}

function retained(ctx: Ctx, channel: Channel, edit: ChannelEdit): UpdatePart {
  if (edit.messageRetentionDays === undefined) return NOTHING;
  requireOwner(ctx);
  const value = toStoredRetention(edit.messageRetentionDays);
  if (value === channel.messageRetentionDays) return NOTHING;
  return { data: { messageRetentionDays: value }, changes: [{ property: 'message_retention_days', value }] };
}

function defaulted(ctx: Ctx, channel: Channel, { isDefault }: ChannelEdit): UpdatePart {
  if (isDefault === undefined) return NOTHING;
  requireDefaultChannels(ctx);
  return isDefault === channel.isDefault ? NOTHING : { data: { isDefault }, changes: [] };
}

async function apply(
  tx: Tx,
  emit: Emit,
  context: SubscriptionChangeContext,
  before: Channel,
  parts: readonly UpdatePart[],
): Promise<void> {
  const data: UpdatePart['data'] = Object.assign({}, ...parts.map((part) => part.data));
  if (Object.keys(data).length === 0) return;
  const changes = parts.flatMap((part) => part.changes);
  const channel = await tx.channel.update({ where: { realmId_id: { realmId: before.realmId, id: before.id } }, data });
  const visibility = await visibilityChange(tx, context, before, channel, changes);
  for (const change of changes) {
    const event = channelUpdated({ id: channel.id, name: before.name, isArchived: channel.isArchived }, change);
    const isClosed = change.property === 'topics_policy' && change.value === 'empty_topic_only';
    // The check runs when the event has its id and the log is locked: until then, messages can still arrive under the old
    // policy.
    emit(event, visibility.stayers, isClosed ? () => requireEmptyTopicAlone(tx, context.realm, channel.id) : undefined);
  }
  if (changes.some(({ property }) => DECIDING_CONTENT.has(property))) {
    await publishAccessChange(tx, emit, context, { channelIds: [channel.id] });
  }
  if (channel.name !== before.name) await tellRenamed(tx, emit, channel);
  if (channel.isDefault !== before.isDefault) await announceDefaultChannels(tx, emit, channel.realmId);
  if (visibility.lost.length > 0) emit(channelsDeleted([channel]), users(visibility.lost));
  if (visibility.gained.length > 0) await showChannels(tx, emit, context, [channel], visibility.gained);
}

/**
 * Checks that the channel contains only the empty topic.
 *
 * @throws TopicPolicyError if a message has another topic.
 */
async function requireEmptyTopicAlone(
  tx: Tx,
  realm: SubscriptionChangeContext['realm'],
  channelId: number,
): Promise<void> {
  const named = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM message WHERE channel_id = ${channelId} AND topic_key(topic) > '' LIMIT 1`;
  if (named.length === 0) return;
  const name = emptyTopicName(realm);
  throw new TopicPolicyError(
    `To enable this configuration, all messages in this channel must be in the ${name} topic. Consider renaming or ` +
      'deleting other topics.',
    name,
  );
}

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
import { type AuditChange, auditChanges } from '../events/audit.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import { renderMarkdown } from '../markdown/render.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { ConflictError, ValidationError } from '../platform/errors.ts';
import { requireReadable } from '../platform/names.ts';
import { bringBack } from './archive.ts';
import { OtherTopicsError } from './errors.ts';
import { type ChannelChange, channelsDeleted, channelUpdated } from './events.ts';
import { publishAccessChange, publishChange, publishRename } from './hooks.ts';
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

/** The effect of one field of `ChannelEdit`: the columns to write, and the changes to emit as events. */
interface UpdatePart {
  readonly data: Prisma.ChannelUncheckedUpdateInput;
  readonly changes: readonly ChannelChange[];
  /** Values of changed permissions before the update, for the audit log. */
  readonly former?: Readonly<Record<string, unknown>>;
}

/** Names of the properties of a channel that determine which users can read it. */
const DECIDING_CONTENT: ReadonlySet<string> = new Set(['invite_only', ...CONTENT_PERMISSIONS]);

const NOTHING: UpdatePart = { data: {}, changes: [] };

/**
 * Updates a channel. Emits one event for each property that changes.
 *
 * @throws UnauthorizedPrincipalError if a retention is given and the viewer is not an owner.
 * @throws HoldersMismatchError if a permission differs from the value that the client expects.
 * @throws ProtectedHistoryError if the history is protected and only some users can start topics.
 * @throws OtherTopicsError if the new policy allows only the empty topic, and the channel contains other topics.
 * @throws NotFoundError if the channel, or an object to which a value refers, does not exist or is not visible to the viewer.
 * @throws ForbiddenError if the viewer cannot change the channel, or cannot set one of the values.
 * @throws ValidationError if a value is invalid.
 * @throws ConflictError if the name is in use, or the state of the channel or of the organization does not permit a value.
 */
export async function updateChannel(ctx: Ctx, channelId: number, edit: ChannelEdit): Promise<void> {
  try {
    await transact(ctx, async (tx, emit) => {
      const seen = await lockAdministeredChannel(tx, ctx, channelId);
      const context = { ctx: seen.ctx, organization: seen.ctx.viewer.organization, now: seen.actor.now };
      const channel = await unarchiveIfAsked(tx, emit, context, seen.channel, edit);
      const parts = await partsOf(tx, { ...seen, channel }, edit);
      await apply(tx, emit, context, channel, parts);
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw nameInUse();
    throw error;
  }
}

const nameInUse = () => new ConflictError('Channel name already in use.', { parameter: 'name' });

async function unarchiveIfAsked(
  tx: Tx,
  emit: Emit,
  context: Parameters<typeof bringBack>[2],
  channel: Channel,
  { isArchived }: ChannelEdit,
) {
  if (isArchived === undefined) return channel;
  if (isArchived) {
    throw new ValidationError('To archive a channel, use DELETE /streams/{stream_id}', {
      parameter: 'is_archived',
      schemaMessage: 'To archive a channel, use `archiveChannel`',
    });
  }
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
    // The name comes last, because every event of the update contains the old name. For clients, the channel must still have
    // this name.
    await renamed(tx, channel, edit),
  ];
  const after = Object.assign({}, channel, ...parts.map(({ data }) => data)) as Channel;
  if (after.isDefault) requireFitForDefault(after, edit.isDefault === undefined ? 'is_private' : 'is_default_stream');
  const topicStarters = channelPermission(actor.groups, after, 'can_create_topic_group');
  if (parts.some(({ data }) => 'permissions' in data || 'inviteOnly' in data)) {
    requireTopicsForProtectedHistory(actor.groups, after, topicStarters);
  }
  return parts;
}

async function renamed(tx: Tx, channel: Channel, { name }: ChannelEdit): Promise<UpdatePart> {
  if (name === undefined) return NOTHING;
  const value = requireChannelName(name);
  if (value === channel.name) throw new ValidationError('Channel already has that name.', { parameter: 'name', value });
  requireReadable('channel name', value);
  if (await isChannelNameTaken(tx, channel.organizationId, value, channel.id)) throw nameInUse();
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
 * Returns the change of a channel's privacy. If the client does not specify the access to the history, a channel that becomes
 * private gets protected history. A channel that becomes public gets public history.
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
  const settings = await changedGroupSettings(tx, channel.organizationId, CHANNEL_PERMISSIONS, permissions, (name) =>
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
    former: Object.fromEntries(
      names.map((name) => [name, toWireGroupSetting(groups, channelPermission(groups, channel, name))]),
    ),
    changes: [...changes, ...postPolicyChanges(seen, settings.can_send_message_group)],
  };
}

/**
 * Returns the changes of `stream_post_policy` and `is_announcement_only`, which old clients use instead of the posting
 * permission. Each change becomes a separate event.
 */
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
  if (folderId !== null) await requireFolder(tx, channel.organizationId, folderId);
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
  context: SubscriptionChangeContext & Pick<SeenChannel, 'ctx'>,
  before: Channel,
  parts: readonly UpdatePart[],
): Promise<void> {
  const data: UpdatePart['data'] = Object.assign({}, ...parts.map((part) => part.data));
  if (Object.keys(data).length === 0) return;
  const changes = parts.flatMap((part) => part.changes);
  const channel = await tx.channel.update({
    where: { organizationId_id: { organizationId: before.organizationId, id: before.id } },
    data,
  });
  emit.audit({
    ...{ action: 'channel_changed', objectType: 'channel', objectId: before.id, objectName: before.name },
    changes: { ...columnChanges(before, data), ...permissionChanges(parts) },
  });
  const visibility = await visibilityChange(tx, context, before, channel, changes);
  for (const change of changes) {
    const event = channelUpdated({ id: channel.id, name: before.name, isArchived: channel.isArchived }, change);
    const isClosed = change.property === 'topics_policy' && change.value === 'empty_topic_only';
    // The check runs when the event log is locked. Before that, other transactions can still add messages under the old policy.
    emit(
      event,
      visibility.stayers,
      isClosed ? () => requireEmptyTopicAlone(tx, context.organization, channel.id) : undefined,
    );
  }
  if (changes.some(({ property }) => DECIDING_CONTENT.has(property))) {
    await publishAccessChange(tx, emit, context, { channelIds: [channel.id] });
  }
  if (channel.name !== before.name) await publishRename(tx, emit, channel);
  if (channel.isDefault !== before.isDefault) await announceDefaultChannels(tx, emit, channel.organizationId);
  if (visibility.lost.length > 0) emit(channelsDeleted([channel]), users(visibility.lost));
  if (visibility.gained.length > 0) await showChannels(tx, emit, context, [channel], visibility.gained);
  await publishChange(tx, emit, { ctx: context.ctx, before, channel });
}

/** Returns the changed columns of a channel for the audit log, without the permissions. */
function columnChanges(before: Channel, data: UpdatePart['data']): Record<string, AuditChange> {
  const { permissions: _permissions, renderedDescription: _html, ...columns } = data;
  const names = { inviteOnly: 'is_private', isDefault: 'is_default_stream' } as const;
  const changes = Object.entries(auditChanges(before, columns)).filter(([, change]) => change.old !== change.new);
  return Object.fromEntries(
    changes.map(([name, change]) => [
      names[name as keyof typeof names] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      change,
    ]),
  );
}

/** Returns the changed permissions of a channel for the audit log. */
function permissionChanges(parts: readonly UpdatePart[]): Record<string, AuditChange> {
  return Object.fromEntries(
    parts.flatMap(({ former = {}, changes }) =>
      Object.entries(former).map(([name, old]) => [
        name,
        { old, new: changes.find(({ property }) => property === name)?.value },
      ]),
    ),
  );
}

/**
 * Checks that the channel contains only the empty topic.
 *
 * @throws OtherTopicsError if a message has another topic.
 */
async function requireEmptyTopicAlone(
  tx: Tx,
  organization: SubscriptionChangeContext['organization'],
  channelId: number,
): Promise<void> {
  const named = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM message
    WHERE realm_id = ${organization.id} AND channel_id = ${channelId} AND topic_key(topic) > '' LIMIT 1`;
  if (named.length > 0) throw new OtherTopicsError(emptyTopicName(organization));
}

import { usersChargedWith } from '../access/charged-users.ts';
import type { Ctx } from '../access/context.ts';
import { channelPermission } from '../access/permissions/channel-permissions.ts';
import { type ChannelActor, channelActor } from '../access/permissions/require.ts';
import { requireMember, requireOwner } from '../access/roles.ts';
import { asOfNow } from '../access/sign-in.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import { renderMarkdown } from '../markdown/render.ts';
import { parameterAt } from '../people/parameter.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { requireReadable } from '../platform/names.ts';
import { isAdministrator } from '../platform/roles.ts';
import { requireWithin } from '../platform/totals.ts';
import { ChannelAlreadyExistsError } from './errors.ts';
import { publishChange } from './hooks.ts';
import { holdRoles, lockNewChannels } from './locks.ts';
import { isChannelNameTaken, requireChannelDescription, requireChannelName } from './names.ts';
import { type PermissionValues, readPermissionValues, toStoredPermissions } from './permission-values.ts';
import {
  type Privacy,
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
import { announceChannel, join } from './subscriptions/membership.ts';
import { accessUsers, type Subject } from './subscriptions/principals.ts';

/** Properties of a new channel. Absent properties take their defaults. */
export interface ChannelOptions {
  readonly isPrivate?: boolean | undefined;
  readonly isWebPublic?: boolean | undefined;
  /** Whether new subscribers of a private channel can read earlier messages. In public channels, all subscribers can. */
  readonly historyPublicToSubscribers?: boolean | undefined;
  readonly isDefault?: boolean | undefined;
  readonly folderId?: number | null | undefined;
  readonly topicsPolicy?: string | undefined;
  readonly messageRetentionDays?: Retention | undefined;
  readonly permissions?: PermissionValues | undefined;
  /** Whether the channel is announced in the organization's channel for new channels. Private channels never are. */
  readonly isAnnounced?: boolean | undefined;
}

export interface NewChannel extends ChannelOptions {
  /**
   * The name: at most 60 code points after trimming, unique in the organization, ignoring case. A longer name is refused with
   * `ValidationError`, a used name with `ChannelAlreadyExistsError`.
   */
  readonly name: string;
  /**
   * The description in Markdown: at most 1,024 code points. A longer one is refused with `ValidationError`. Line breaks become
   * spaces.
   */
  readonly description?: string | undefined;
  readonly subscriberIds: readonly number[];
}

/**
 * Creates a channel and subscribes the users in `subscriberIds` to it.
 *
 * @returns The channel's id.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or sets a retention without being an owner.
 * @throws ChannelAlreadyExistsError if another channel has the name, even an archived one.
 * @throws ForbiddenError if the viewer cannot create a channel with this privacy, or cannot set one of the values.
 * @throws ValidationError if a value is invalid.
 * @throws NotFoundError if a user or folder does not exist.
 * @throws ConflictError if a user is deactivated, a folder is archived, or the organization does not permit a value.
 * @throws TotalReachedError if there would be more than 5,000 channels.
 * @throws TotalReachedError if the viewer is not an administrator, and the viewer and their bots would have created more than
 *   1,000 channels in total.
 */
export async function createChannel(ctx: Ctx, { subscriberIds, ...fields }: NewChannel): Promise<number> {
  requireMember(ctx);
  const name = requireChannelName(fields.name);
  try {
    return await transact(ctx, async (tx, emit) => {
      await holdRoles(tx, ctx.organizationId);
      const now = await asOfNow(tx, ctx);
      // The permission is checked first, so that viewers without the permission cannot find out which names are taken.
      requirePrivacy(await channelActor(tx, now.viewer, ctx.app.now()), privacyOf(fields));
      await requireFreeName(tx, ctx.organizationId, name);
      const subjects = await accessUsers(tx, now, subscriberIds, 'subscribers');
      await requireRoomForChannels(tx, now, 1);
      const { id } = await insertChannel(tx, emit, now, fields, subjects);
      return id;
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new ChannelAlreadyExistsError(name);
    throw error;
  }
}

async function requireFreeName(tx: Tx, organizationId: number, name: string): Promise<void> {
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM channel WHERE realm_id = ${organizationId} AND lower(name) = lower(${name})`;
  if (taken.length > 0) throw new ChannelAlreadyExistsError(name);
}

/**
 * Checks the limits on the number of channels. Archived channels count. Must be called in the transaction that creates `adding`
 * more channels.
 *
 * @throws TotalReachedError if there would be more than 5,000 channels.
 * @throws TotalReachedError if the viewer is not an administrator, and the viewer and their bots would have created more than
 *   1,000 channels in total.
 */
export async function requireRoomForChannels(tx: Tx, { organizationId, viewer }: Ctx, adding: number): Promise<void> {
  await lockNewChannels(tx, organizationId);
  requireWithin('channels', adding + (await tx.channel.count({ where: { organizationId } })));
  if (isAdministrator(viewer.role)) return;
  const creators = await usersChargedWith(tx, { organizationId, id: viewer.id });
  const own = await tx.channel.count({ where: { organizationId, creatorId: { in: creators } } });
  requireWithin('channels_per_user', adding + own);
}

/** A new channel, and the object in the request that contains its name and description. Errors name the path of this object. */
interface PlacedChannel extends Omit<NewChannel, 'subscriberIds'> {
  /** Path of the object in the request, such as `subscriptions[0]`. Undefined: the request itself is the object. */
  readonly place?: string | undefined;
}

/**
 * Creates a channel, sends it to the users who can see it, and subscribes `subjects`. The transaction must hold the lock of
 * `holdRoles`.
 *
 * @throws Error of the unique index if another channel has the name, ignoring case.
 * @throws ChannelAlreadyExistsError if the name looks like the name of another channel.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or sets a retention without being an owner.
 * @throws ForbiddenError if the viewer cannot create a channel with this privacy, or cannot set one of the values.
 * @throws ValidationError if a value is invalid.
 * @throws NotFoundError, ConflictError if a folder does not exist or is archived.
 * @throws ConflictError if the organization does not permit a value.
 */
export async function insertChannel(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  { color, ...fields }: PlacedChannel & { color?: string | undefined },
  subjects: readonly Subject[],
): Promise<Channel> {
  const channel = await tx.channel.create({ data: await checkNewChannel(tx, ctx, fields) });
  const { organizationId, viewer } = ctx;
  const now = ctx.app.now();
  const place = { organization: viewer.organization, now };
  const { id, name: objectName, inviteOnly, isDefault } = channel;
  emit.audit({
    ...{ action: 'channel_created', objectType: 'channel', objectId: id, objectName },
    changes: { is_private: { new: inviteOnly }, is_default_stream: { new: isDefault } },
  });
  await announceChannel(tx, emit, place, channel, subjects);
  if (channel.isDefault) await announceDefaultChannels(tx, emit, organizationId);
  await join(tx, emit, place, [{ channel, subjects, color }], { announced: true });
  await publishChange(tx, emit, { ctx, before: undefined, channel, isAnnounced: fields.isAnnounced });
  return channel;
}

/**
 * Validates a new channel and returns its row. Does not check the number of channels, nor whether another channel has the same
 * name: the unique index refuses an equal name.
 *
 * @throws ChannelAlreadyExistsError if the name looks like the name of another channel.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or sets a retention without being an owner.
 * @throws ForbiddenError if the viewer cannot create a channel with this privacy, or cannot set one of the values.
 * @throws ValidationError if a value is invalid.
 * @throws NotFoundError, ConflictError if a folder does not exist or is archived.
 * @throws ConflictError if the organization does not permit a value.
 */
export async function checkNewChannel(tx: Tx, ctx: Ctx, { name, description = '', place, ...options }: PlacedChannel) {
  requireMember(ctx);
  const { organizationId, viewer } = ctx;
  const now = ctx.app.now();
  const source = requireChannelDescription(description, parameterAt(place, 'description'));
  const parameter = parameterAt(place, 'name');
  const channelName = requireChannelName(name, parameter);
  requireReadable('channel name', channelName, parameter);
  if (await isChannelNameTaken(tx, organizationId, channelName)) {
    throw new ChannelAlreadyExistsError(channelName, parameter);
  }
  return {
    organizationId,
    name: channelName,
    creatorId: viewer.id,
    createdAt: now,
    description: source,
    renderedDescription: renderMarkdown(source),
    ...(await columnsOf(tx, ctx, await channelActor(tx, viewer, now), options)),
  };
}

async function columnsOf(tx: Tx, ctx: Ctx, actor: ChannelActor, options: ChannelOptions) {
  const { isDefault = false, folderId = null, topicsPolicy, permissions = {} } = options;
  const messageRetentionDays = toStoredRetention(options.messageRetentionDays ?? 'realm_default');
  if (messageRetentionDays !== null) requireOwner(ctx);
  const privacy = privacyOf(options);
  requirePrivacy(actor, privacy);
  if (isDefault) {
    requireDefaultChannels(ctx);
    requireFitForDefault({ ...privacy, isArchived: false });
  }
  if (topicsPolicy !== undefined) requireTopicsPolicy(actor, topicsPolicy);
  if (folderId !== null) await requireFolder(tx, ctx.organizationId, folderId);
  return {
    ...privacy,
    isDefault,
    folderId,
    topicsPolicy: topicsPolicy ?? 'inherit',
    messageRetentionDays,
    permissions: await permissionsOf(tx, actor, privacy, permissions),
  };
}

function privacyOf({ isPrivate = false, isWebPublic = false, historyPublicToSubscribers = false }: ChannelOptions) {
  return {
    inviteOnly: isPrivate,
    isWebPublic,
    historyPublicToSubscribers: !isPrivate || historyPublicToSubscribers,
  };
}

async function permissionsOf(tx: Tx, actor: ChannelActor, privacy: Privacy, values: PermissionValues) {
  const { groups, person } = actor;
  requireReserved(actor, Object.keys(values));
  const settings = await readPermissionValues(tx, person.organization.id, values);
  const stored = toStoredPermissions(groups, { permissions: {}, creatorId: person.id }, settings);
  const channel = { permissions: stored as Channel['permissions'], creatorId: person.id };
  requireTopicsForProtectedHistory(groups, privacy, channelPermission(groups, channel, 'can_create_topic_group'));
  return stored;
}

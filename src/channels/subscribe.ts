import type { Ctx } from '../access/context.ts';
import {
  type ChannelActor,
  channelActor,
  insufficientPermission,
  mayInOrganization,
} from '../access/permissions/require.ts';
import { asOfNow } from '../access/sign-in.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel, User } from '../generated/prisma/client.ts';
import { parameterAt } from '../people/parameter.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { ForbiddenError, NotFoundError, ValidationError } from '../platform/errors.ts';
import { MAX_BULK_NEW_SUBSCRIPTION_MESSAGES } from '../platform/limits.ts';
import { isAdministrator, isGuest, MEMBER } from '../platform/roles.ts';
import { refuseNullBytes } from '../platform/text.ts';
import { holds, invalidChannelId, readsChannel, seesChannel } from './access.ts';
import { type ChannelOptions, checkNewChannel, insertChannel, requireRoomForChannels } from './create.ts';
import { publishSubscribed } from './hooks.ts';
import { type ChannelKey, type Found, findChannels, idsOf } from './keys.ts';
import { holdChannels, holdRoles, lockChannels } from './locks.ts';
import { requireChannelName } from './names.ts';
import { administersChannel } from './seen-channel.ts';
import { requireColor } from './subscriptions/colors.ts';
import { defaultChannelIds } from './subscriptions/default-channels.ts';
import { join, leave, type Moved } from './subscriptions/membership.ts';
import { accessPrincipals, type Principals, type Subject } from './subscriptions/principals.ts';

/** A channel to subscribe to. If no channel has the name, it is created. */
export type WantedChannel = ChannelKey & {
  /** Description of the channel, if the request creates it. */
  readonly description?: string | undefined;
  /**
   * Color of the new subscriptions: "#rgb" or "#rrggbb". Default: the color of the user's former subscription, otherwise the
   * first palette color that the user does not use.
   */
  readonly color?: string | undefined;
};

export interface SubscribeOptions {
  /** Users by id or email address. Absent or empty: the viewer. */
  readonly principals?: Principals | undefined;
  /** If false, channels that the viewer cannot subscribe to are listed in the result instead of failing the request. */
  readonly isFatal?: boolean | undefined;
  /** Options of the channels that the request creates. */
  readonly creation?: ChannelOptions | undefined;
  /**
   * Whether the notification bot sends a direct message to each person whom the viewer subscribes. Default: true. Bots, the
   * viewer, and subscribers of new channels get none. If the request subscribes more than 100 users, none is sent.
   */
  readonly sendsMessages?: boolean | undefined;
}

/** The result of a request to subscribe to, or to unsubscribe from, one channel. */
export interface ChannelOutcome {
  readonly channelId: number;
  readonly name: string;
  /** Ids of the users whose subscription began or ended. */
  readonly changedIds: readonly number[];
  /** Ids of the users for whom nothing changed: already subscribed, or not subscribed when the request unsubscribes them. */
  readonly unchangedIds: readonly number[];
}

export interface SubscribeOutcome {
  readonly channels: readonly ChannelOutcome[];
  /** Names of the channels that the viewer cannot subscribe to. */
  readonly unauthorized: readonly string[];
  /** Whether the users to subscribe were few enough to get direct messages. */
  readonly hasSentMessages: boolean;
}

/**
 * Subscribes the viewer or other users to channels. If one channel is refused, no subscription begins, unless `isFatal` is
 * false.
 *
 * Users who were subscribed before get the settings of their former subscription.
 *
 * @throws ValidationError if a name, color or option is invalid, or if there are more than 500 channels, or pairs of channel
 *   and user.
 * @throws NotFoundError if a user, or a channel that was requested by id, does not exist or is not visible to the viewer.
 * @throws ConflictError if a user is deactivated, or a channel cannot be created in the current state.
 * @throws ForbiddenError if the viewer is not allowed to subscribe to a channel, add other users to it, or create it.
 * @throws UnauthorizedPrincipalError if a guest names a channel that does not exist.
 */
export function subscribe(
  ctx: Ctx,
  wanted: readonly WantedChannel[],
  options: SubscribeOptions = {},
): Promise<SubscribeOutcome> {
  const checked = wanted.map(checkWanted);
  return againWhenTaken(() =>
    transact(ctx, async (tx, emit) => {
      await holdRoles(tx, ctx.organizationId);
      return subscribeWithin(tx, emit, await asOfNow(tx, ctx), checked, options);
    }),
  );
}

/**
 * Runs `change`. If it fails because a concurrent request created a channel with the same name, runs it once more. The second
 * run finds the created channel.
 */
async function againWhenTaken<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (isUniqueViolation(error)) return change();
    throw error;
  }
}

/** Name of the parameter with the channels of a request. */
const CHANNELS = 'subscriptions';
/** Name of the parameter with the users of a request. */
const USERS = 'principals';

/** Returns the path of the channel with this index in a request, such as `subscriptions[0]`. */
const placeOf = (index: number): string => `${CHANNELS}[${index}]`;

function checkWanted(wanted: WantedChannel, index: number): WantedChannel {
  const at = (name: string) => parameterAt(placeOf(index), name);
  const color = wanted.color === undefined ? undefined : requireColor(wanted.color, at('color'));
  return 'id' in wanted
    ? { ...wanted, color }
    : { ...wanted, name: requireChannelName(wanted.name, at('name')), color };
}

/**
 * Maximum number of channels, and of pairs of channel and user, in one request. Requests with more are refused with
 * `ValidationError`. More than any client needs, but few enough rows for one transaction.
 */
const MAX_CHANNELS = 500;
const MAX_SUBSCRIPTIONS = 50_000;

function requireFewEnough(keys: readonly ChannelKey[], subjects: readonly Subject[]): void {
  const parameter = CHANNELS;
  if (keys.length > MAX_CHANNELS) {
    const message = `${parameter} is too long (limit: ${MAX_CHANNELS} items)`;
    throw new ValidationError(message, { parameter, maximum: MAX_CHANNELS });
  }
  if (keys.length * subjects.length <= MAX_SUBSCRIPTIONS) return;
  throw new ValidationError(`Too many subscriptions at once (limit: ${MAX_SUBSCRIPTIONS})`, { parameter });
}

async function subscribeWithin(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  wanted: readonly WantedChannel[],
  { principals, isFatal = true, creation = {}, sendsMessages = true }: SubscribeOptions,
): Promise<SubscribeOutcome> {
  const subjects = await accessPrincipals(tx, ctx, principals, USERS);
  requireFewEnough(wanted, subjects);
  const found = await findChannels(tx, ctx.organizationId, wanted);
  const { actor, channels } = await lockWithActor(tx, ctx, found);
  const unreadable = channels
    .filter(({ maySee, mayRead }) => maySee && !mayRead)
    .map(({ channel: { id, name } }) => ({ name, index: found.findIndex((one) => one.id === id) }));
  if (isFatal) refuse(unreadable);
  const open = channels.filter(({ mayRead }) => mayRead).map(({ channel }) => channel);
  if (subjects.some(({ id }) => id !== ctx.viewer.id)) requireAddingOthers(actor, open);
  const unseen = channels.filter(({ maySee, mayRead }) => !maySee && !mayRead).map(({ channel }) => channel.id);
  const { created, taken } = await createMissing(tx, emit, ctx, found, { creation, subjects, unseen });
  if (isFatal) refuse(taken);
  const joinings = open.map((channel) => {
    const color = found.find(({ id }) => id === channel.id)?.key.color;
    return { channel, subjects, color };
  });
  const moved = await join(tx, emit, { organization: ctx.viewer.organization, now: ctx.app.now() }, joinings);
  auditOthers(emit, ctx, 'channel_subscribers_added', [...open, ...created], {
    subjects,
    moved: new Map([...moved, ...created.map(({ id }) => [id, subjects.map((subject) => subject.id)] as const)]),
  });
  const hasSentMessages = sendsMessages && subjects.length <= MAX_BULK_NEW_SUBSCRIPTION_MESSAGES;
  if (hasSentMessages) await notifySubscribers(tx, emit, ctx, open, { subjects, moved });
  const all = new Map(created.map(({ id }) => [id, subjects.map((subject) => subject.id)]));
  return {
    channels: outcomes([...open, ...created], subjects, new Map([...moved, ...all])),
    unauthorized: [...unreadable, ...taken].map(({ name }) => name),
    hasSentMessages,
  };
}

async function notifySubscribers(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  channels: readonly Channel[],
  { subjects, moved }: { readonly subjects: readonly Subject[]; readonly moved: Moved },
): Promise<void> {
  for (const { id, botType } of subjects) {
    if (id === ctx.viewer.id || botType !== null) continue;
    const joined = channels.filter((channel) => moved.get(channel.id)?.includes(id));
    if (joined.length > 0) await publishSubscribed(tx, emit, { ctx, userId: id, channels: joined });
  }
}

interface LookedAt {
  readonly channel: Channel;
  readonly maySee: boolean;
  readonly mayRead: boolean;
}

/**
 * Locks the channels in `found` and returns the viewer's access to each of them.
 *
 * @throws NotFoundError if a channel was requested by id and is not visible to the viewer.
 */
async function lockWithActor(tx: Tx, { app, viewer, organizationId }: Ctx, found: readonly Found<ChannelKey>[]) {
  const locked = await lockChannels(tx, organizationId, idsOf(found));
  const actor = await channelActor(tx, viewer, app.now());
  const own = await tx.subscription.findMany({
    where: { organizationId, userId: viewer.id, active: true, channelId: { in: locked.map(({ id }) => id) } },
    select: { channelId: true },
  });
  const ownIds = new Set(own.map(({ channelId }) => channelId));
  const channels = locked.map((channel): LookedAt => {
    const isSubscribed = ownIds.has(channel.id);
    return {
      channel,
      maySee: seesChannel(actor, channel, isSubscribed),
      mayRead: readsChannel(actor, channel, isSubscribed),
    };
  });
  for (const { key, id } of found) {
    if ('id' in key && !channels.some(({ channel, maySee }) => channel.id === id && maySee)) {
      throw invalidChannelId(key.id);
    }
  }
  return { actor, channels };
}

function requireAddingOthers(actor: ChannelActor, channels: readonly Channel[]): void {
  if (!mayAddUsers(actor)) throw insufficientPermission({ role: MEMBER, parameter: USERS });
  if (!channels.every((channel) => mayAddOthers(actor, channel))) {
    throw insufficientPermission({ permission: 'can_add_subscribers_group', parameter: USERS });
  }
}

const mayAddUsers = ({ person }: ChannelActor): boolean => !isGuest(person.role);

/** Returns whether a user can subscribe other users to a channel. Callers must have checked that the user can read it. */
export function mayAddOthers(actor: ChannelActor, channel: Channel): boolean {
  if (!mayAddUsers(actor)) return false;
  if (mayInOrganization(actor, 'can_add_subscribers_group')) return true;
  return administersChannel(actor, channel) || holds(actor, channel, 'can_add_subscribers_group');
}

/** A requested channel that the viewer cannot access, with its index in the request. */
interface Refused {
  readonly name: string;
  readonly index: number;
}

/**
 * Checks that the viewer can access all channels of a request.
 *
 * @param refused Requested channels that the viewer cannot access.
 * @throws ForbiddenError if `refused` is not empty. It refers to the first of them.
 */
function refuse(refused: readonly Refused[]): void {
  if (refused.length === 0) return;
  const names = refused.map(({ name }) => name).join(', ');
  const first = Math.min(...refused.map(({ index }) => index));
  throw new ForbiddenError(`Unable to access channel (${names}).`, { parameter: placeOf(first) });
}

/**
 * Creates the channels that do not exist. An existing channel that the viewer cannot see is validated as if it were new.
 * Its name is reported as taken only to viewers who could have created a channel with this name.
 *
 * @returns The created channels, and the requested channels whose names are taken, with the names as the client wrote them.
 */
async function createMissing(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  found: readonly Found<WantedChannel>[],
  { creation, subjects, unseen }: { creation: ChannelOptions; subjects: readonly Subject[]; unseen: readonly number[] },
): Promise<{ created: Channel[]; taken: Refused[] }> {
  const missing = new Map<string, WantedChannel & Refused & { isTaken: boolean }>();
  for (const [index, { key, id, lowered }] of found.entries()) {
    const isTaken = id !== null && unseen.includes(id);
    if ((id === null || isTaken) && 'name' in key && !missing.has(lowered)) {
      missing.set(lowered, { ...key, isTaken, index });
    }
  }
  if (missing.size > 0) await requireRoomForChannels(tx, ctx, missing.size);
  const [created, taken]: [Channel[], Refused[]] = [[], []];
  for (const { name, description, color, isTaken, index } of missing.values()) {
    const channel = { ...creation, name, description, place: placeOf(index) };
    if (!isTaken) created.push(await insertChannel(tx, emit, ctx, { ...channel, color }, subjects));
    else {
      await checkNewChannel(tx, ctx, channel);
      taken.push({ name, index });
    }
  }
  return { created, taken };
}

function outcomes(channels: readonly Channel[], subjects: readonly Subject[], moved: Moved): ChannelOutcome[] {
  return channels.map(({ id, name }) => {
    const changed = new Set(moved.get(id));
    const ids = subjects.map((subject) => subject.id);
    return {
      channelId: id,
      name,
      changedIds: ids.filter((userId) => changed.has(userId)),
      unchangedIds: ids.filter((userId) => !changed.has(userId)),
    };
  });
}

/**
 * Unsubscribes the viewer or other users from channels. If one channel is refused, no subscription ends.
 *
 * All users can unsubscribe themselves and their own bots.
 *
 * @throws NotFoundError if a channel or user does not exist or is not visible to the viewer.
 * @throws ConflictError if a user is deactivated.
 * @throws ForbiddenError if the viewer is not allowed to remove other users.
 * @throws ValidationError if there are too many channels or users.
 */
export function unsubscribe(
  ctx: Ctx,
  keys: readonly ChannelKey[],
  { principals }: { readonly principals?: Principals | undefined } = {},
): Promise<ChannelOutcome[]> {
  return transact(ctx, async (tx, emit) => {
    await holdRoles(tx, ctx.organizationId);
    return unsubscribeWithin(tx, emit, await asOfNow(tx, ctx), keys, principals);
  });
}

async function unsubscribeWithin(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  keys: readonly ChannelKey[],
  principals: Principals | undefined,
): Promise<ChannelOutcome[]> {
  const subjects = await accessPrincipals(tx, ctx, principals, USERS);
  requireFewEnough(keys, subjects);
  for (const [i, key] of keys.entries()) {
    if ('name' in key) refuseNullBytes('name', key.name, parameterAt(placeOf(i), 'name'));
  }
  const found = await findChannels(tx, ctx.organizationId, keys);
  const { actor, channels } = await lockWithActor(tx, ctx, found);
  const seen = channels.filter(({ maySee }) => maySee).map(({ channel }) => channel);
  const absent = found.flatMap(({ key, id }, index) =>
    'name' in key && !seen.some((channel) => channel.id === id) ? [{ name: key.name, index }] : [],
  );
  if (absent[0] !== undefined) {
    const names = absent.map(({ name }) => name).join(', ');
    const parameter = parameterAt(placeOf(absent[0].index), 'name');
    throw new NotFoundError(`Channel(s) (${names}) do not exist`, { type: 'Channel', parameter });
  }
  const { viewer } = ctx;
  if (subjects.some(({ id, botOwnerId }) => id !== viewer.id && botOwnerId !== viewer.id)) {
    requireRemovingOthers(actor, seen);
  }
  const leavings = seen.map((channel) => ({ channel, subjects }));
  const moved = await leave(tx, emit, { organization: viewer.organization, now: ctx.app.now() }, leavings);
  auditOthers(emit, ctx, 'channel_subscribers_removed', seen, { subjects, moved });
  return outcomes(seen, subjects, moved);
}

/** Adds entries to the audit log for other users whom the viewer subscribed or unsubscribed: one for each channel. */
function auditOthers(
  emit: Emit,
  { viewer }: Ctx,
  action: 'channel_subscribers_added' | 'channel_subscribers_removed',
  channels: readonly Channel[],
  {
    subjects,
    moved,
  }: { readonly subjects: readonly Subject[]; readonly moved: ReadonlyMap<number, readonly number[]> },
): void {
  const own = new Set(subjects.filter(({ botOwnerId }) => botOwnerId === viewer.id).map(({ id }) => id)).add(viewer.id);
  for (const { id, name } of channels) {
    const ids = (moved.get(id) ?? []).filter((userId) => !own.has(userId));
    if (ids.length === 0) continue;
    const changes = { user_ids: { [action.endsWith('added') ? 'new' : 'old']: ids }, count: { new: ids.length } };
    emit.audit({ action, objectType: 'channel', objectId: id, objectName: name, changes });
  }
}

function requireRemovingOthers(actor: ChannelActor, channels: readonly Channel[]): void {
  if (!mayRemoveUsers(actor)) throw insufficientPermission({ role: MEMBER, parameter: USERS });
  if (!channels.every((channel) => mayRemoveOthers(actor, channel))) {
    throw insufficientPermission({ permission: 'can_remove_subscribers_group', parameter: USERS });
  }
}

const mayRemoveUsers = ({ person }: ChannelActor): boolean => !isGuest(person.role);

/** Returns whether a user can unsubscribe other users from a channel. Callers must have checked that the user can see it. */
export function mayRemoveOthers(actor: ChannelActor, channel: Channel): boolean {
  if (!mayRemoveUsers(actor)) return false;
  if (isAdministrator(actor.person.role)) return true;
  return administersChannel(actor, channel) || holds(actor, channel, 'can_remove_subscribers_group');
}

/** Channels to subscribe to and channels to unsubscribe from, in one request. Each list may be empty. */
export interface SubscriptionEdit {
  readonly add: readonly WantedChannel[];
  readonly remove: readonly ChannelKey[];
}

/**
 * Subscribes the viewer to some channels and unsubscribes them from others, in one transaction.
 *
 * @throws ValidationError if both lists are empty, if a name, color or option is invalid, or if a list has more than 500
 *   channels.
 * @throws NotFoundError if a channel to leave, or a channel that was requested by id, does not exist or is not visible to the
 *   viewer.
 * @throws ConflictError if a channel cannot be created in the current state.
 * @throws ForbiddenError if the viewer is not allowed to subscribe to a channel or create it.
 * @throws UnauthorizedPrincipalError if a guest names a channel that does not exist.
 */
export function editSubscriptions(
  ctx: Ctx,
  { add, remove }: SubscriptionEdit,
): Promise<{ subscribed: SubscribeOutcome; unsubscribed: ChannelOutcome[] }> {
  if (add.length === 0 && remove.length === 0) {
    throw new ValidationError('Nothing to do. Specify at least one of "add" or "delete".');
  }
  const checked = add.map(checkWanted);
  return againWhenTaken(() =>
    transact(ctx, async (tx, emit) => {
      await holdRoles(tx, ctx.organizationId);
      const now = await asOfNow(tx, ctx);
      // Locks the channels of both lists by one statement, in the order of their ids. Two statements could cause a deadlock.
      await lockChannels(
        tx,
        ctx.organizationId,
        idsOf(await findChannels(tx, ctx.organizationId, [...checked, ...remove])),
      );
      const subscribed = await subscribeWithin(tx, emit, now, checked, {});
      return { subscribed, unsubscribed: await unsubscribeWithin(tx, emit, now, remove, undefined) };
    }),
  );
}

/**
 * Subscribes a new user to channels, and emits the events of these subscriptions. Skips bots.
 *
 * Must be called in the transaction that creates the user, after the user's row is written and its event is emitted.
 *
 * @param channelIds Ids of existing channels. Default: the organization's default channels, but none for guests.
 */
export async function subscribeNewUser(
  tx: Tx,
  emit: Emit,
  { organizationId, user }: { organizationId: number; user: User },
  channelIds?: readonly number[],
): Promise<void> {
  if (user.botType !== null || (channelIds === undefined && isGuest(user.role))) return;
  await holdChannels(tx, organizationId);
  const ids = channelIds ?? (await defaultChannelIds(tx, organizationId));
  const channels = await lockChannels(tx, organizationId, ids);
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  await join(
    tx,
    emit,
    { organization, now: user.joinedAt },
    channels.map((channel) => ({ channel, subjects: [user] })),
  );
}

import type { Ctx } from '../access/context.ts';
import { type ChannelActor, channelActor, insufficientPermission, mayInRealm } from '../access/permissions/require.ts';
import { asOfNow } from '../access/sign-in.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Channel, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { isUniqueViolation } from '../platform/db/errors.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isAdministrator, isGuest } from '../platform/roles.ts';
import { holds, invalidChannelId, readsChannel, seesChannel } from './access.ts';
import { type ChannelOptions, checkNewChannel, insertChannel, requireRoomForChannels } from './create.ts';
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
  /** Description of a channel that is created. */
  readonly description?: string | undefined;
  /** "#rgb" or "#rrggbb". If absent, the user's former color, or the first color of the palette that they do not use. */
  readonly color?: string | undefined;
};

export interface SubscribeOptions {
  /** Users by id or email address. Absent or empty: the viewer. */
  readonly principals?: Principals | undefined;
  /** If false, channels that the viewer cannot subscribe to are listed in the result instead of failing the request. */
  readonly isFatal?: boolean | undefined;
  /** Options of channels that are created. */
  readonly creation?: ChannelOptions | undefined;
}

/** The result of a request for one channel. */
export interface ChannelOutcome {
  readonly channelId: number;
  readonly name: string;
  /** Ids of the users whose subscription began or ended. */
  readonly changedIds: readonly number[];
  /** Ids of the users who were already subscribed, or already not subscribed. */
  readonly unchangedIds: readonly number[];
}

export interface SubscribeOutcome {
  readonly channels: readonly ChannelOutcome[];
  /** Names of the channels that the viewer cannot subscribe to. */
  readonly unauthorized: readonly string[];
}

/**
 * Subscribes the viewer or other users to channels. If one channel is refused, no subscription begins.
 *
 * Users who return get the settings of their former subscription.
 *
 * @throws BadRequestError if a name, color or user is invalid.
 * @throws BadRequestError if the viewer is not allowed to subscribe to a channel, add other users to it, or create it.
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
      await holdRoles(tx, ctx.realmId);
      return subscribeWithin(tx, emit, await asOfNow(tx, ctx), checked, options);
    }),
  );
}

/**
 * Runs the change. If it fails because a concurrent request created a channel with the same name, runs it once more. The second
 * run finds that channel.
 */
async function againWhenTaken<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (isUniqueViolation(error)) return change();
    throw error;
  }
}

function checkWanted(wanted: WantedChannel): WantedChannel {
  const color = wanted.color === undefined ? undefined : requireColor(wanted.color);
  return 'id' in wanted ? { ...wanted, color } : { ...wanted, name: requireChannelName(wanted.name), color };
}

/** Limits far beyond what users do in one request, but small for the database. */
const MAX_CHANNELS = 500;
const MAX_SUBSCRIPTIONS = 50_000;

function requireFewEnough(name: string, keys: readonly ChannelKey[], subjects: readonly Subject[]): void {
  if (keys.length > MAX_CHANNELS) throw new BadRequestError(`${name} is too long (limit: ${MAX_CHANNELS} items)`, name);
  if (keys.length * subjects.length <= MAX_SUBSCRIPTIONS) return;
  throw new BadRequestError(`Too many subscriptions at once (limit: ${MAX_SUBSCRIPTIONS})`);
}

async function subscribeWithin(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  wanted: readonly WantedChannel[],
  { principals, isFatal = true, creation = {} }: SubscribeOptions,
): Promise<SubscribeOutcome> {
  const subjects = await accessPrincipals(tx, ctx, principals);
  requireFewEnough('subscriptions', wanted, subjects);
  const found = await findChannels(tx, ctx.realmId, wanted);
  const { actor, channels } = await lockWithActor(tx, ctx, found);
  const unreadable = channels.filter(({ maySee, mayRead }) => maySee && !mayRead).map(({ channel }) => channel.name);
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
  const moved = await join(tx, emit, { realm: ctx.viewer.realm, now: ctx.app.now() }, joinings);
  const all = new Map(created.map(({ id }) => [id, subjects.map((subject) => subject.id)]));
  return {
    channels: outcomes([...open, ...created], subjects, new Map([...moved, ...all])),
    unauthorized: [...unreadable, ...taken],
  };
}

interface LookedAt {
  readonly channel: Channel;
  readonly maySee: boolean;
  readonly mayRead: boolean;
}

/**
 * Locks the channels found and returns the viewer's access to each.
 *
 * @throws BadRequestError if a channel found by id is not visible to the viewer.
 */
async function lockWithActor(tx: Tx, { app, viewer, realmId }: Ctx, found: readonly Found<ChannelKey>[]) {
  const locked = await lockChannels(tx, realmId, idsOf(found));
  const actor = await channelActor(tx, viewer, app.now());
  const own = await tx.subscription.findMany({
    where: { realmId, userId: viewer.id, active: true, channelId: { in: locked.map(({ id }) => id) } },
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
    if ('id' in key && !channels.some(({ channel, maySee }) => channel.id === id && maySee)) throw invalidChannelId();
  }
  return { actor, channels };
}

function requireAddingOthers(actor: ChannelActor, channels: readonly Channel[]): void {
  const may = mayAddAnybody(actor) && channels.every((channel) => mayAddOthers(actor, channel));
  if (!may) throw insufficientPermission();
}

const mayAddAnybody = ({ person }: ChannelActor): boolean => !isGuest(person.role);

/** Whether a user who can read the channel can subscribe others to it. */
export function mayAddOthers(actor: ChannelActor, channel: Channel): boolean {
  if (!mayAddAnybody(actor)) return false;
  if (mayInRealm(actor, 'can_add_subscribers_group')) return true;
  return administersChannel(actor, channel) || holds(actor, channel, 'can_add_subscribers_group');
}

/**
 * Refuses the request if there are channels that the viewer cannot access.
 *
 * @throws BadRequestError if `names` is not empty.
 */
function refuse(names: readonly string[]): void {
  if (names.length > 0) throw new BadRequestError(`Unable to access channel (${names.join(', ')}).`);
}

/**
 * Creates the channels that do not exist. An existing channel that the viewer cannot see is validated as if it were new.
 * Its name is reported as taken only to viewers who could have created it.
 *
 * @returns The created channels, and the taken names as the client wrote them.
 */
async function createMissing(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  found: readonly Found<WantedChannel>[],
  { creation, subjects, unseen }: { creation: ChannelOptions; subjects: readonly Subject[]; unseen: readonly number[] },
): Promise<{ created: Channel[]; taken: string[] }> {
  const missing = new Map<string, WantedChannel & { name: string; isTaken: boolean }>();
  for (const { key, id, lowered } of found) {
    const isTaken = id !== null && unseen.includes(id);
    if ((id === null || isTaken) && 'name' in key && !missing.has(lowered)) missing.set(lowered, { ...key, isTaken });
  }
  if (missing.size > 0) await requireRoomForChannels(tx, ctx, missing.size);
  const [created, taken]: [Channel[], string[]] = [[], []];
  for (const { name, description, color, isTaken } of missing.values()) {
    const channel = { ...creation, name, description };
    if (!isTaken) created.push(await insertChannel(tx, emit, ctx, { ...channel, color }, subjects));
    else {
      await checkNewChannel(tx, ctx, channel);
      taken.push(name);
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
 * @throws BadRequestError if a channel or user does not exist or is not visible to the viewer.
 * @throws BadRequestError if the viewer is not allowed to remove other users.
 */
export function unsubscribe(
  ctx: Ctx,
  keys: readonly ChannelKey[],
  { principals }: { readonly principals?: Principals | undefined } = {},
): Promise<ChannelOutcome[]> {
  return transact(ctx, async (tx, emit) => {
    await holdRoles(tx, ctx.realmId);
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
  const subjects = await accessPrincipals(tx, ctx, principals);
  requireFewEnough('subscriptions', keys, subjects);
  const found = await findChannels(tx, ctx.realmId, keys);
  const { actor, channels } = await lockWithActor(tx, ctx, found);
  const seen = channels.filter(({ maySee }) => maySee).map(({ channel }) => channel);
  const absent = found.flatMap(({ key, id }) =>
    'name' in key && !seen.some((channel) => channel.id === id) ? [key.name] : [],
  );
  if (absent.length > 0) throw new BadRequestError(`Channel(s) (${absent.join(', ')}) do not exist`);
  const { viewer } = ctx;
  if (subjects.some(({ id, botOwnerId }) => id !== viewer.id && botOwnerId !== viewer.id)) {
    requireRemovingOthers(actor, seen);
  }
  const leavings = seen.map((channel) => ({ channel, subjects }));
  const moved = await leave(tx, emit, { realm: viewer.realm, now: ctx.app.now() }, leavings);
  return outcomes(seen, subjects, moved);
}

function requireRemovingOthers(actor: ChannelActor, channels: readonly Channel[]): void {
  const { role } = actor.person;
  const may = (channel: Channel) =>
    isAdministrator(role) ||
    administersChannel(actor, channel) ||
    holds(actor, channel, 'can_remove_subscribers_group');
  if (isGuest(role) || !channels.every(may)) throw insufficientPermission();
}

/** Channels to subscribe to and channels to unsubscribe from, in one request. Each list may be empty. */
export interface SubscriptionEdit {
  readonly add: readonly WantedChannel[];
  readonly remove: readonly ChannelKey[];
}

/**
 * Subscribes the viewer to some channels and unsubscribes them from others, in one transaction.
 *
 * @throws BadRequestError if both lists are empty. Also throws the errors of `subscribe` and `unsubscribe`.
 */
export function editSubscriptions(
  ctx: Ctx,
  { add, remove }: SubscriptionEdit,
): Promise<{ subscribed: SubscribeOutcome; unsubscribed: ChannelOutcome[] }> {
  if (add.length === 0 && remove.length === 0) {
    throw new BadRequestError('Nothing to do. Specify at least one of "add" or "delete".');
  }
  const checked = add.map(checkWanted);
  return againWhenTaken(() =>
    transact(ctx, async (tx, emit) => {
      await holdRoles(tx, ctx.realmId);
      const now = await asOfNow(tx, ctx);
      // All channels are locked by one statement in the order of their ids, to prevent deadlocks.
      await lockChannels(tx, ctx.realmId, idsOf(await findChannels(tx, ctx.realmId, [...checked, ...remove])));
      const subscribed = await subscribeWithin(tx, emit, now, checked, {});
      return { subscribed, unsubscribed: await unsubscribeWithin(tx, emit, now, remove, undefined) };
    }),
  );
}

/**
 * Subscribes a new user to the organization's default channels, and emits the events of these subscriptions. Skips guests and
 * bots.
 *
 * Must be called in the transaction that creates the user, after the user's row is written and its event is emitted.
 */
export async function subscribeToDefaultChannels(
  tx: Tx,
  emit: Emit,
  { realmId, user }: { realmId: number; user: User },
): Promise<void> {
  if (isGuest(user.role) || user.botType !== null) return;
  await holdChannels(tx, realmId);
  const channels = await lockChannels(tx, realmId, await defaultChannelIds(tx, realmId));
  const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
  await join(
    tx,
    emit,
    { realm, now: user.joinedAt },
    channels.map((channel) => ({ channel, subjects: [user] })),
  );
}

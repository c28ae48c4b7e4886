import type { Ctx } from '../../access/context.ts';
import {
  type ChannelActor,
  channelActor,
  insufficientPermission,
  mayInRealm,
} from '../../access/permissions/require.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Channel, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isAdministrator, isGuest } from '../../platform/roles.ts';
import { holds, invalidChannelId, readsChannel, seesChannel } from '../access.ts';
import { type ChannelOptions, checkNewChannel, insertChannel, requireRoomForChannels } from '../create.ts';
import { type ChannelKey, type Found, findChannels, idsOf } from '../keys.ts';
import { holdChannels, holdRoles, lockChannels } from '../locks.ts';
import { requireChannelName } from '../names.ts';
import { administersChannel } from '../seen-channel.ts';
import { requireColor } from './colors.ts';
import { defaultChannelIds } from './default-channels.ts';
import { join, leave, type Moved } from './membership.ts';
import { accessPrincipals, type Principals, type Subject } from './principals.ts';

/** A channel to subscribe to. One named that is not there is created. */
export type WantedChannel = ChannelKey & {
  /** For a new channel. */
  readonly description?: string | undefined;
  /** "#rgb" or "#rrggbb"; absent: what the user had before, or the first of the palette they do not use. */
  readonly color?: string | undefined;
};

export interface SubscribeOptions {
  /** By id or e-mail address; the viewer when there are none. */
  readonly principals?: Principals | undefined;
  /** False: channels the viewer may not subscribe to are named in the result instead of failing the request. */
  readonly isFatal?: boolean | undefined;
  /** For channels that are created. */
  readonly creation?: ChannelOptions | undefined;
}

/** What became of one channel's subscriptions; all user ids. */
export interface ChannelOutcome {
  readonly channelId: number;
  readonly name: string;
  /** Whose subscription began, or ended. */
  readonly changedIds: readonly number[];
  /** Who was subscribed, or not subscribed, already. */
  readonly unchangedIds: readonly number[];
}

export interface SubscribeOutcome {
  readonly channels: readonly ChannelOutcome[];
  /** Names of the channels the viewer may not subscribe to. */
  readonly unauthorized: readonly string[];
}

/**
 * Subscribes the viewer or others to channels: to all of them or, when one is refused, to none.
 *
 * A return brings back the settings of the former subscription.
 *
 * @throws BadRequestError when a name, colour or user is not taken, or the viewer may not subscribe to a channel, add
 *   the others to it, or create it.
 * @throws UnauthorizedPrincipalError when a guest names a channel that is not there.
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

/** Somebody else may create a channel of the same name meanwhile; the second time it is there. */
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

/** Our choices: far beyond what people do at once, and short work for the database. */
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

/** Locks the channels found, and tells what the viewer may. A channel found by its id must be one the viewer sees. */
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

/** Whether the person, who may read the channel, may subscribe others to it. */
export function mayAddOthers(actor: ChannelActor, channel: Channel): boolean {
  if (!mayAddAnybody(actor)) return false;
  if (mayInRealm(actor, 'can_add_subscribers_group')) return true;
  return administersChannel(actor, channel) || holds(actor, channel, 'can_add_subscribers_group');
}

/** @throws BadRequestError when there are any. */
function refuse(names: readonly string[]): void {
  if (names.length > 0) throw new BadRequestError(`Unable to access channel (${names.join(', ')}).`);
}

/**
 * Creates the channels that are not there. One that is there and that the viewer does not see is checked as if it were to be
 * created: only who could have created it is told that its name is taken.
 *
 * @returns What it created, and those names as the client wrote them.
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
 * Unsubscribes the viewer or others from channels: from all of them or, when one is refused, from none.
 *
 * @throws BadRequestError when a channel or user is not there, or not for the viewer, or the viewer may not remove the
 *   others. Everyone may unsubscribe themselves and their own bots.
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

/** What to add and what to remove at once; both may be empty. */
export interface SubscriptionEdit {
  readonly add: readonly WantedChannel[];
  readonly remove: readonly ChannelKey[];
}

/**
 * Subscribes the viewer to some channels and unsubscribes them from others, all at once.
 *
 * Throws as `subscribe` and `unsubscribe` do, and BadRequestError when there is nothing to do.
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
      // All at once, so that the order of the locks holds.
      await lockChannels(tx, ctx.realmId, idsOf(await findChannels(tx, ctx.realmId, [...checked, ...remove])));
      const subscribed = await subscribeWithin(tx, emit, now, checked, {});
      return { subscribed, unsubscribed: await unsubscribeWithin(tx, emit, now, remove, undefined) };
    }),
  );
}

/**
 * Subscribes a new user to the organisation's default channels, and tells the channels. Guests and bots begin without.
 *
 * To be called inside the change that makes the user, after the row and its own event.
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

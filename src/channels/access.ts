import type { Ctx } from '../access/context.ts';
import {
  CHANNEL_PERMISSIONS,
  type ChannelPermissionName,
  CONTENT_PERMISSIONS,
  channelPermission,
  METADATA_PERMISSIONS,
} from '../access/permissions/channel-permissions.ts';
import { groupIdsOf, isInGroup, isInSystemGroup } from '../access/permissions/membership.ts';
import { type ChannelActor, channelActor } from '../access/permissions/require.ts';
import { SYSTEM_GROUPS } from '../access/system-groups.ts';
import { type Channel, Prisma } from '../generated/prisma/client.ts';
import { BatchedReads, type ReadPlace } from '../platform/db/batched-reads.ts';
import type { Tx } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { isAdministrator, isGuest } from '../platform/roles.ts';

/** The columns of a channel that access checks need. */
export type Guarded = Pick<Channel, 'inviteOnly' | 'isWebPublic' | 'permissions' | 'creatorId'>;

export type ChannelAccessDb = Pick<Tx, 'channel' | 'userGroup'>;

/** Whether a user can read the channel regardless of role and groups: the channel is web-public, or the user is subscribed. */
export const isOpenTo = ({ isWebPublic }: Pick<Channel, 'isWebPublic'>, isSubscribed: boolean): boolean =>
  isWebPublic || isSubscribed;

/** Whether the user can see that the channel exists, its name, settings and subscribers (metadata access). */
export function seesChannel(channelActor: ChannelActor, channel: Guarded, isSubscribed: boolean): boolean {
  const { role } = channelActor.person;
  if (isOpenTo(channel, isSubscribed)) return true;
  if (isGuest(role)) return false;
  return !channel.inviteOnly || isAdministrator(role) || holdsAny(channelActor, channel, METADATA_PERMISSIONS);
}

/** Whether the user can read the channel's messages (content access). Being an administrator does not grant it. */
export function readsChannel(channelActor: ChannelActor, channel: Guarded, isSubscribed: boolean): boolean {
  if (isOpenTo(channel, isSubscribed)) return true;
  if (isGuest(channelActor.person.role)) return false;
  return !channel.inviteOnly || holdsAny(channelActor, channel, CONTENT_PERMISSIONS);
}

/** Whether the user holds the permission in the channel. */
export function holds({ person, groups, now }: ChannelActor, channel: Guarded, name: ChannelPermissionName): boolean {
  const { everyone: guests } = CHANNEL_PERMISSIONS[name];
  return isInGroup(groups, person, channelPermission(groups, channel, name), now, { guests });
}

function holdsAny(channelActor: ChannelActor, channel: Guarded, names: readonly ChannelPermissionName[]): boolean {
  return names.some((name) => holds(channelActor, channel, name));
}

/** Returns the filter for the channels of the user's organization that `seesChannel` accepts. */
export function seenBy({ person, groups, now }: ChannelActor): Prisma.ChannelWhereInput {
  const { id, role, realm } = person;
  if (isAdministrator(role)) return { realmId: realm.id };
  const granted = METADATA_PERMISSIONS.map((name) => holding({ person, groups, now }, name));
  return { realmId: realm.id, OR: [...openTo(role), subscribed(realm.id, id), ...(isGuest(role) ? [] : granted)] };
}

/** Returns the filter for the channels of the user's organization that `readsChannel` accepts. */
export function readBy({ person, groups, now }: ChannelActor): Prisma.ChannelWhereInput {
  const { id, role, realm } = person;
  const granted = CONTENT_PERMISSIONS.map((name) => holding({ person, groups, now }, name));
  return { realmId: realm.id, OR: [...openTo(role), subscribed(realm.id, id), ...(isGuest(role) ? [] : granted)] };
}

const openTo = (role: number): Prisma.ChannelWhereInput[] =>
  isGuest(role) ? [{ isWebPublic: true }] : [{ inviteOnly: false }];

const subscribed = (realmId: number, userId: number): Prisma.ChannelWhereInput => ({
  subscriptions: { some: { realmId, userId, active: true } },
});

/** Returns the filter for the channels in which the user, who must not be a guest, holds the permission. */
function holding({ person, groups, now }: ChannelActor, name: ChannelPermissionName): Prisma.ChannelWhereInput {
  const roles = SYSTEM_GROUPS.filter((group) => isInSystemGroup(person, group.name, now));
  const ids = [...roles.map((group) => groups.id(group.name)), ...groupIdsOf(person, now)];
  const named: Prisma.ChannelWhereInput[] = [
    { permissions: { path: [name, 'members'], array_contains: [person.id] } },
    ...ids.map((id) => ({ permissions: { path: [name, 'groups'], array_contains: [id] } })),
  ];
  // The only default that grants a permission to a single user: the creator administers the channel.
  if (name === 'can_administer_channel_group') {
    named.push({ creatorId: person.id, permissions: { path: [name], equals: Prisma.DbNull } });
  }
  return { OR: named };
}

/** Returns the filter for the channels that the viewer can see (metadata access). */
export async function visibleTo({ app, viewer }: Ctx): Promise<Prisma.ChannelWhereInput> {
  return seenBy(await channelActor(app.db, viewer, app.now()));
}

/** Returns the filter for the channels that the viewer can read (content access). */
export async function readableBy({ app, viewer }: Ctx): Promise<Prisma.ChannelWhereInput> {
  return readBy(await channelActor(app.db, viewer, app.now()));
}

/**
 * Returns the error for a channel that does not exist or that the viewer cannot access. Clients must not be able to
 * distinguish the two.
 */
export const invalidChannelId = (): BadRequestError => new BadRequestError('Invalid channel ID');

/**
 * Returns a channel that the viewer can see.
 *
 * @throws BadRequestError otherwise, as if the channel did not exist.
 */
export async function accessChannel(ctx: Ctx, channelId: number): Promise<Channel> {
  return findOrRefuse(ctx, channelId, seesChannel);
}

/**
 * Returns a channel whose messages the viewer can read.
 *
 * @throws BadRequestError otherwise, as if the channel did not exist.
 */
export async function accessChannelContent(ctx: Ctx, channelId: number): Promise<Channel> {
  return findOrRefuse(ctx, channelId, readsChannel);
}

async function findOrRefuse(ctx: Ctx, channelId: number, mayHave: MayHave): Promise<Channel> {
  const [channel] = await channelsHad(ctx, [channelId], mayHave);
  if (channel === undefined) throw invalidChannelId();
  return channel;
}

/** A channel, with whether the viewer is subscribed to it. */
export type OwnChannel = Channel & { readonly isSubscribed: boolean };

/** Returns the given channels that the viewer can see, in one query. */
export const visibleAmong = (ctx: Ctx, ids: readonly number[]): Promise<OwnChannel[]> =>
  channelsHad(ctx, ids, seesChannel);

/** `seesChannel` or `readsChannel`. */
type MayHave = typeof seesChannel;

async function channelsHad({ app, viewer }: Ctx, ids: readonly number[], mayHave: MayHave): Promise<OwnChannel[]> {
  const places = [...new Set(ids)].map((channelId) => ({ userId: viewer.id, channelId }));
  const placed = await placedChannels({ db: app.db, realmId: viewer.realm.id }, places);
  const found = placed.filter((one) => one !== null);
  if (found.length === 0) return [];
  const actor = await channelActor(app.db, viewer, app.now());
  return found
    .map(({ channel, isSubscribed }) => ({ ...channel, isSubscribed }))
    .filter((channel) => mayHave(actor, channel, channel.isSubscribed));
}

/** A pair of user and channel, whether the user is subscribed or not. */
interface ChannelPlace {
  readonly userId: number;
  readonly channelId: number;
}

/** A channel that was read without an access check. */
interface PlacedChannel {
  readonly channel: Channel;
  /** Whether the user of the `ChannelPlace` is subscribed. */
  readonly isSubscribed: boolean;
}

/**
 * Returns for each pair of user and channel the channel, and whether the user is subscribed to it. Null if the channel does not
 * exist. Concurrent calls share one query.
 */
export const placedChannels = async (
  at: ReadPlace,
  places: readonly ChannelPlace[],
): Promise<readonly (PlacedChannel | null)[]> => (places.length === 0 ? [] : gathered.of(at, places));

const gathered = new BatchedReads(readPlacedChannels);
const CHANNEL = joinedColumns('c', 'Channel');

async function readPlacedChannels(
  { db, realmId }: ReadPlace,
  places: readonly ChannelPlace[],
): Promise<(PlacedChannel | null)[]> {
  const existing = places.filter(({ channelId }) => isRowId(channelId));
  if (existing.length === 0) return places.map(() => null);
  const [userIds, channelIds] = [existing.map(({ userId }) => userId), existing.map(({ channelId }) => channelId)];
  const rows = await readRows<QueryRow & { readonly subscribers: readonly number[] }>(
    db,
    Prisma.sql`
    SELECT ${CHANNEL.list}, COALESCE(own.user_ids, '{}') AS subscribers
    FROM channel c LEFT JOIN (
      SELECT s.channel_id, array_agg(s.user_id) AS user_ids
      FROM unnest(${listOf('int', userIds)}, ${listOf('int', channelIds)}) AS place (user_id, channel_id)
      JOIN subscription s ON s.realm_id = ${realmId} AND s.user_id = place.user_id AND s.channel_id = place.channel_id
        AND s.active
      GROUP BY s.channel_id) AS own ON own.channel_id = c.id
    WHERE c.realm_id = ${realmId} AND c.id = ANY(${listOf('int', [...new Set(channelIds)])})`,
  );
  const found = new Map(
    rows.map((row) => {
      const channel = CHANNEL.rowIn(row);
      return [channel.id, { channel, subscribers: new Set(row.subscribers) }];
    }),
  );
  return places.map(({ userId, channelId }) => {
    const one = found.get(channelId);
    return one === undefined ? null : { channel: one.channel, isSubscribed: one.subscribers.has(userId) };
  });
}

/**
 * Returns the ids in `channelIds` of channels whose content the viewer can read. Batch version of `accessChannelContent`, with
 * one query.
 */
export async function readableChannelIds(ctx: Ctx, channelIds: readonly number[]): Promise<Set<number>> {
  const ids = [...new Set(channelIds)].filter(isRowId);
  if (ids.length === 0) return new Set();
  const where = { AND: [{ id: { in: ids } }, await readableBy(ctx)] };
  const rows = await ctx.app.db.channel.findMany({ where, select: { id: true } });
  return new Set(rows.map(({ id }) => id));
}

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
import { NotFoundError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { isAdministrator, isGuest } from '../platform/roles.ts';

/** The columns of a channel that access checks need. */
export type Guarded = Pick<Channel, 'inviteOnly' | 'isWebPublic' | 'permissions' | 'creatorId'>;

export type ChannelAccessDb = Pick<Tx, 'channel' | 'userGroup'>;

/**
 * Returns whether a user can read the channel regardless of role and groups: the channel is web-public, or the user is
 * subscribed.
 */
export const isOpenTo = ({ isWebPublic }: Pick<Channel, 'isWebPublic'>, isSubscribed: boolean): boolean =>
  isWebPublic || isSubscribed;

/** Returns whether the user can see the channel's existence, name, settings and subscribers (metadata access). */
export function seesChannel(channelActor: ChannelActor, channel: Guarded, isSubscribed: boolean): boolean {
  const { role } = channelActor.person;
  if (isOpenTo(channel, isSubscribed)) return true;
  if (isGuest(role)) return false;
  return !channel.inviteOnly || isAdministrator(role) || holdsAny(channelActor, channel, METADATA_PERMISSIONS);
}

/**
 * Returns whether the user can read the channel's messages (content access). Being an administrator does not grant this access.
 */
export function readsChannel(channelActor: ChannelActor, channel: Guarded, isSubscribed: boolean): boolean {
  if (isOpenTo(channel, isSubscribed)) return true;
  if (isGuest(channelActor.person.role)) return false;
  return !channel.inviteOnly || holdsAny(channelActor, channel, CONTENT_PERMISSIONS);
}

/** Returns whether users can read only those messages of the channel that they received. */
export const hasProtectedHistory = (channel: Pick<Channel, 'inviteOnly' | 'historyPublicToSubscribers'>): boolean =>
  channel.inviteOnly && !channel.historyPublicToSubscribers;

/** Returns whether the user holds the permission in the channel. */
export function holds({ person, groups, now }: ChannelActor, channel: Guarded, name: ChannelPermissionName): boolean {
  const { initial, everyone: guests } = CHANNEL_PERMISSIONS[name];
  // The database holds an object in this column.
  const set = (channel.permissions as Readonly<Record<string, unknown>>)[name];
  // The default holders of most permissions are a role group. Its members are determined by their role and join date.
  if (set === undefined && initial !== 'creator') return isInSystemGroup(person, initial, now);
  return isInGroup(groups, person, channelPermission(groups, channel, name), now, { guests });
}

function holdsAny(channelActor: ChannelActor, channel: Guarded, names: readonly ChannelPermissionName[]): boolean {
  return names.some((name) => holds(channelActor, channel, name));
}

/** Returns the database filter for the channels that the user can see (metadata access). Equivalent to `seesChannel`. */
export function seenBy({ person, groups, now }: ChannelActor): Prisma.ChannelWhereInput {
  const { id, role, organization } = person;
  if (isAdministrator(role)) return { organizationId: organization.id };
  const granted = METADATA_PERMISSIONS.map((name) => holding({ person, groups, now }, name));
  return {
    organizationId: organization.id,
    OR: [...openTo(role), subscribed(organization.id, id), ...(isGuest(role) ? [] : granted)],
  };
}

/** Returns the database filter for the channels that the user can read (content access). Equivalent to `readsChannel`. */
export function readBy({ person, groups, now }: ChannelActor): Prisma.ChannelWhereInput {
  const { id, role, organization } = person;
  const granted = CONTENT_PERMISSIONS.map((name) => holding({ person, groups, now }, name));
  return {
    organizationId: organization.id,
    OR: [...openTo(role), subscribed(organization.id, id), ...(isGuest(role) ? [] : granted)],
  };
}

const openTo = (role: number): Prisma.ChannelWhereInput[] =>
  isGuest(role) ? [{ isWebPublic: true }] : [{ inviteOnly: false }];

const subscribed = (organizationId: number, userId: number): Prisma.ChannelWhereInput => ({
  subscriptions: { some: { organizationId, userId, active: true } },
});

/** Returns the ids of all groups in which the user is, including role groups. */
export function heldGroupIds({ person, groups, now }: ChannelActor): number[] {
  const roles = SYSTEM_GROUPS.filter((group) => isInSystemGroup(person, group.name, now));
  return [...roles.map((group) => groups.id(group.name)), ...groupIdsOf(person, now)];
}

/** Returns the filter for the channels in which the user holds the permission. The user must not be a guest. */
function holding(channelActor: ChannelActor, name: ChannelPermissionName): Prisma.ChannelWhereInput {
  const { person } = channelActor;
  const named: Prisma.ChannelWhereInput[] = [
    { permissions: { path: [name, 'members'], array_contains: [person.id] } },
    ...heldGroupIds(channelActor).map((id) => ({ permissions: { path: [name, 'groups'], array_contains: [id] } })),
  ];
  // If no holders are stored for this permission, the channel's creator holds it. No other permission has a single user as its
  // default holder.
  if (name === 'can_administer_channel_group') {
    named.push({ creatorId: person.id, permissions: { path: [name], equals: Prisma.DbNull } });
  }
  return { OR: named };
}

/** Returns the filter for the channels that the viewer can see (metadata access). */
export async function visibleTo({ app, work, viewer }: Ctx): Promise<Prisma.ChannelWhereInput> {
  return seenBy(await channelActor(work.db, viewer, app.now()));
}

/** Returns the filter for the channels that the viewer can read (content access). */
export async function readableBy({ app, work, viewer }: Ctx): Promise<Prisma.ChannelWhereInput> {
  return readBy(await channelActor(work.db, viewer, app.now()));
}

/**
 * Returns the error for a channel that does not exist or that the viewer cannot access. Both cases have the same error, so that
 * clients cannot find out which channels exist.
 *
 * @param id Id of the channel, as the client sent it. Undefined if the client did not send the id.
 */
export const invalidChannelId = (id?: number): NotFoundError =>
  new NotFoundError('Invalid channel ID', { type: 'Channel', id, parameter: 'stream' });

/**
 * Returns a channel that the viewer can see.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 */
export async function accessChannel(ctx: Ctx, channelId: number): Promise<Channel> {
  return findOrRefuse(ctx, channelId, seesChannel);
}

/**
 * Returns a channel whose messages the viewer can read.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot read it.
 */
export async function accessChannelContent(ctx: Ctx, channelId: number): Promise<Channel> {
  return findOrRefuse(ctx, channelId, readsChannel);
}

async function findOrRefuse(ctx: Ctx, channelId: number, mayHave: MayHave): Promise<Channel> {
  const [channel] = await channelsHad(ctx, [channelId], mayHave);
  if (channel === undefined) throw invalidChannelId(channelId);
  return channel;
}

/** A channel, with whether the viewer is subscribed to it. */
export type OwnChannel = Channel & { readonly isSubscribed: boolean };

/** Returns the channels among `ids` that the viewer can see. Runs one query. */
export const visibleAmong = (ctx: Ctx, ids: readonly number[]): Promise<OwnChannel[]> =>
  channelsHad(ctx, ids, seesChannel);

/** An access check: `seesChannel` or `readsChannel`. */
type MayHave = typeof seesChannel;

async function channelsHad(
  { app, work, viewer }: Ctx,
  ids: readonly number[],
  mayHave: MayHave,
): Promise<OwnChannel[]> {
  const places = [...new Set(ids)].map((channelId) => ({ userId: viewer.id, channelId }));
  const placed = await channelsOfPairs({ db: work.db, organizationId: viewer.organization.id }, places);
  const found = placed.filter((one) => one !== null);
  if (found.length === 0) return [];
  const actor = await channelActor(work.db, viewer, app.now());
  return found
    .map(({ channel, isSubscribed }) => ({ ...channel, isSubscribed }))
    .filter((channel) => mayHave(actor, channel, channel.isSubscribed));
}

/** A user and a channel. The user need not be subscribed to the channel. */
interface UserChannelPair {
  readonly userId: number;
  readonly channelId: number;
}

/** The channel of a `UserChannelPair`, read without an access check. */
interface ChannelOfPair {
  readonly channel: Channel;
  /** Whether the user of the pair is subscribed to this channel. */
  readonly isSubscribed: boolean;
}

/**
 * Returns, in the order of the pairs, the channel of each pair, and whether the user of the pair is subscribed to that channel.
 * An item is null if the channel does not exist. Does not check access. Concurrent calls share one query.
 */
export const channelsOfPairs = async (
  at: ReadPlace,
  pairs: readonly UserChannelPair[],
): Promise<readonly (ChannelOfPair | null)[]> => (pairs.length === 0 ? [] : gathered.of(at, pairs));

const gathered = new BatchedReads(readChannelsOfPairs);
const CHANNEL = joinedColumns('c', 'Channel');

async function readChannelsOfPairs(
  { db, organizationId }: ReadPlace,
  pairs: readonly UserChannelPair[],
): Promise<(ChannelOfPair | null)[]> {
  const existing = pairs.filter(({ channelId }) => isRowId(channelId));
  if (existing.length === 0) return pairs.map(() => null);
  const [userIds, channelIds] = [existing.map(({ userId }) => userId), existing.map(({ channelId }) => channelId)];
  const rows = await readRows<QueryRow & { readonly subscribers: readonly number[] }>(
    db,
    Prisma.sql`
    SELECT ${CHANNEL.list}, COALESCE(own.user_ids, '{}') AS subscribers
    FROM channel c LEFT JOIN (
      SELECT pair.channel_id, array_agg(pair.user_id) AS user_ids
      FROM unnest(${listOf('int', userIds)}, ${listOf('int', channelIds)}) AS pair (user_id, channel_id)
      -- OFFSET 0 makes the planner look up each pair, instead of reading all subscriptions of the users.
      WHERE EXISTS (SELECT FROM subscription s WHERE s.realm_id = ${organizationId} AND s.user_id = pair.user_id
        AND s.channel_id = pair.channel_id AND s.active OFFSET 0)
      GROUP BY pair.channel_id) AS own ON own.channel_id = c.id
    WHERE c.realm_id = ${organizationId} AND c.id = ANY(${listOf('int', [...new Set(channelIds)])})`,
  );
  const found = new Map(
    rows.map((row) => {
      const channel = CHANNEL.rowIn(row);
      return [channel.id, { channel, subscribers: new Set(row.subscribers) }];
    }),
  );
  return pairs.map(({ userId, channelId }) => {
    const one = found.get(channelId);
    return one === undefined ? null : { channel: one.channel, isSubscribed: one.subscribers.has(userId) };
  });
}

/**
 * Returns the ids among `channelIds` of the channels that the viewer can read (content access). All other ids are left out
 * without an error. Runs one query.
 */
export async function readableChannelIds(ctx: Ctx, channelIds: readonly number[]): Promise<Set<number>> {
  const ids = [...new Set(channelIds)].filter(isRowId);
  if (ids.length === 0) return new Set();
  const where = { AND: [{ id: { in: ids } }, await readableBy(ctx)] };
  const rows = await ctx.work.db.channel.findMany({ where, select: { id: true } });
  return new Set(rows.map(({ id }) => id));
}

import type { Ctx } from '../access/context.ts';
import { onlooker } from '../access/permissions/require.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { accessUser } from '../people/users.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isGuest } from '../platform/roles.ts';
import { accessChannel, readBy, seenBy, visibleTo } from './access.ts';
import { readWholeSubscribers } from './subscriptions/subscribers.ts';
import { type IncludeSubscribers, toWirePersonal, toWireSubscribers, type WireChannel } from './wire.ts';
import { sortedByName, toPeopledChannels, toWireChannels } from './wire-channels.ts';

/** Which channels to list: those of any kind that is asked for. */
export interface ChannelFilter {
  readonly public?: boolean | undefined;
  readonly webPublic?: boolean | undefined;
  readonly subscribed?: boolean | undefined;
  /** Of a bot: what its owner is subscribed to. */
  readonly ownerSubscribed?: boolean | undefined;
  /** What the viewer may read. */
  readonly readable?: boolean | undefined;
  /** Every channel the viewer sees. */
  readonly all?: boolean | undefined;
  /** Whether archived channels of these kinds are listed too. */
  readonly archived?: boolean | undefined;
}

/** The channels of the viewer's organisation that fit, and that the viewer sees. */
export async function channelsLike({ app, viewer }: Ctx, filter: ChannelFilter): Promise<Prisma.ChannelWhereInput> {
  const look = await onlooker(app.db, viewer, app.now());
  const { botOwnerId } = viewer.user;
  const subscribedBy = (userId: number) => ({ subscriptions: { some: { userId, active: true } } });
  const kinds: Prisma.ChannelWhereInput[] = [
    ...(filter.public && !isGuest(viewer.role) ? [{ inviteOnly: false }] : []),
    ...(filter.webPublic ? [{ isWebPublic: true }] : []),
    ...(filter.subscribed ? [subscribedBy(viewer.id)] : []),
    ...(filter.ownerSubscribed && botOwnerId !== null ? [subscribedBy(botOwnerId)] : []),
    ...(filter.readable ? [readBy(look)] : []),
  ];
  // An empty condition within OR counts for nothing: all kinds are no condition at all.
  const ofKinds = filter.all ? {} : { OR: kinds };
  return { AND: [seenBy(look), ofKinds, filter.archived ? {} : { isArchived: false }] };
}

/** Channels by name, as on the wire, each with whether it is a default channel. */
export async function listChannels(
  ctx: Ctx,
  filter: ChannelFilter,
): Promise<{ readonly wire: WireChannel; readonly isDefault: boolean }[]> {
  const { app, viewer } = ctx;
  const look = await onlooker(app.db, viewer, app.now());
  const channels = sortedByName(await app.db.channel.findMany({ where: await channelsLike(ctx, filter) }));
  const wires = await toWireChannels(app.db, look, channels);
  return wires.map((wire, i) => ({ wire, isDefault: channels[i]?.isDefault === true }));
}

/**
 * One channel, as on the wire.
 *
 * @throws BadRequestError when there is none, or not for the viewer.
 */
export async function showChannel(ctx: Ctx, channelId: number): Promise<WireChannel> {
  const { app, viewer } = ctx;
  const channel = await accessChannel(ctx, channelId);
  const [wire] = await toWireChannels(app.db, await onlooker(app.db, viewer, app.now()), [channel]);
  return wire as WireChannel;
}

/**
 * The id of the channel of that name, in whatever case.
 *
 * @throws BadRequestError when there is none, or not for the viewer.
 */
export async function findChannelId({ app, viewer }: Ctx, name: string): Promise<number> {
  const rows = name.includes('\0')
    ? []
    : await app.db.$queryRaw<{ id: number }[]>`
        SELECT id FROM channel WHERE realm_id = ${viewer.realm.id} AND lower(name) = lower(${name.toWellFormed()})`;
  const ids = rows.map(({ id }) => id);
  const seen = seenBy(await onlooker(app.db, viewer, app.now()));
  const channel = await app.db.channel.findFirst({ where: { AND: [seen, { id: { in: ids } }] }, select: { id: true } });
  if (channel === null) throw new BadRequestError(`Invalid channel name '${name}'`);
  return channel.id;
}

/**
 * The users subscribed to a channel, by id.
 *
 * @throws BadRequestError when there is no such channel, or not for the viewer.
 */
export async function channelSubscriberIds(ctx: Ctx, channelId: number): Promise<readonly number[]> {
  await accessChannel(ctx, channelId);
  const listOf = await readWholeSubscribers(ctx.app.db, [channelId]);
  return listOf(channelId).subscribers;
}

/**
 * Whether a user is subscribed to a channel.
 *
 * @throws BadRequestError when there is no such user or channel, or not for the viewer.
 */
export async function isUserSubscribed(ctx: Ctx, userId: number, channelId: number): Promise<boolean> {
  const user = await accessUser(ctx, userId);
  await accessChannel(ctx, channelId);
  const count = await ctx.app.db.subscription.count({ where: { userId: user.id, channelId, active: true } });
  return count > 0;
}

/**
 * The channels that users are in, of those the viewer sees and that are not archived, by id. Who is deactivated is in
 * none. One query, however many users.
 *
 * @param userIds Of the viewer's organisation.
 */
export async function subscribedChannelIds(
  ctx: Ctx,
  userIds: readonly number[],
): Promise<(userId: number) => readonly number[]> {
  const rows = await ctx.app.db.subscription.findMany({
    where: {
      ...{ userId: { in: [...userIds] }, active: true, user: { isActive: true } },
      channel: { AND: [await visibleTo(ctx), { isArchived: false }] },
    },
    select: { userId: true, channelId: true },
    orderBy: { channelId: 'asc' },
  });
  const byUser = Map.groupBy(rows, ({ userId }) => userId);
  return (userId) => (byUser.get(userId) ?? []).map(({ channelId }) => channelId);
}

/**
 * The channels that somebody is in, of those the viewer sees, by id.
 *
 * @throws BadRequestError when there is no such user.
 */
export async function channelIdsOfUser(ctx: Ctx, userId: number): Promise<readonly number[]> {
  const user = await accessUser(ctx, userId);
  const idsOf = await subscribedChannelIds(ctx, [user.id]);
  return idsOf(user.id);
}

/** The viewer's subscriptions, by the channel's name, as on the wire. A notification setting that is null inherits. */
export async function listSubscriptions({ app, viewer }: Ctx, include: IncludeSubscribers) {
  const rows = await app.db.subscription.findMany({
    where: { userId: viewer.id, active: true, channel: { isArchived: false } },
    include: { channel: true },
  });
  rows.sort((a, b) => (a.channel.name < b.channel.name ? -1 : 1));
  const channels = rows.map(({ channel }) => channel);
  const look = await onlooker(app.db, viewer, app.now());
  const { channels: wires, listOf } = await toPeopledChannels(app.db, look, { channels, include });
  return rows.map((row, i) => ({
    ...(wires[i] as WireChannel),
    ...toWirePersonal(row),
    ...toWireSubscribers(listOf(row.channelId), viewer.id, include),
  }));
}

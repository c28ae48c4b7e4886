import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isGuest } from '../platform/roles.ts';
import { accessChannel, readBy, seenBy } from './access.ts';
import type { ChannelKey } from './keys.ts';
import type { WireChannel } from './wire.ts';
import { sortedByName, toWireChannels } from './wire-channels.ts';

/** A filter for a list of channels. A channel matches if it is of any kind that is set to true. */
export interface ChannelFilter {
  readonly public?: boolean | undefined;
  readonly webPublic?: boolean | undefined;
  readonly subscribed?: boolean | undefined;
  /** Channels to which the owner of the viewer is subscribed, if the viewer is a bot. */
  readonly ownerSubscribed?: boolean | undefined;
  /** Channels that the viewer can read. */
  readonly readable?: boolean | undefined;
  /** All channels that the viewer can see. */
  readonly all?: boolean | undefined;
  /** Whether archived channels of the selected kinds are included. */
  readonly archived?: boolean | undefined;
}

/** Returns the database condition for the channels that match the filter and that the viewer can see. */
export async function channelsLike({ app, viewer }: Ctx, filter: ChannelFilter): Promise<Prisma.ChannelWhereInput> {
  const actor = await channelActor(app.db, viewer, app.now());
  const { botOwnerId } = viewer.user;
  const subscribedBy = (userId: number) => ({
    subscriptions: { some: { realmId: viewer.realm.id, userId, active: true } },
  });
  const kinds: Prisma.ChannelWhereInput[] = [
    ...(filter.public && !isGuest(viewer.role) ? [{ inviteOnly: false }] : []),
    ...(filter.webPublic ? [{ isWebPublic: true }] : []),
    ...(filter.subscribed ? [subscribedBy(viewer.id)] : []),
    ...(filter.ownerSubscribed && botOwnerId !== null ? [subscribedBy(botOwnerId)] : []),
    ...(filter.readable ? [readBy(actor)] : []),
  ];
  // `all` cannot be an empty condition in OR: Prisma ignores it there, and would return only the channels of the other kinds.
  const ofKinds = filter.all ? {} : { OR: kinds };
  return { AND: [seenBy(actor), ofKinds, filter.archived ? {} : { isArchived: false }] };
}

/** Returns the matching channels in wire format, sorted by name, each with whether it is a default channel. */
export async function listChannels(
  ctx: Ctx,
  filter: ChannelFilter,
): Promise<{ readonly wire: WireChannel; readonly isDefault: boolean }[]> {
  const { app, viewer } = ctx;
  const actor = await channelActor(app.db, viewer, app.now());
  const channels = sortedByName(await app.db.channel.findMany({ where: await channelsLike(ctx, filter) }));
  const wires = await toWireChannels(app.db, actor, channels);
  return wires.map((wire, i) => ({ wire, isDefault: channels[i]?.isDefault === true }));
}

/**
 * Returns one channel in wire format.
 *
 * @throws BadRequestError if the channel does not exist or the viewer cannot see it.
 */
export async function showChannel(ctx: Ctx, channelId: number): Promise<WireChannel> {
  const { app, viewer } = ctx;
  const channel = await accessChannel(ctx, channelId);
  const [wire] = await toWireChannels(app.db, await channelActor(app.db, viewer, app.now()), [channel]);
  return wire as WireChannel;
}

/**
 * Returns the id of a channel. An id in the key is returned unchecked.
 *
 * @throws BadRequestError if no channel has the name, or the viewer cannot see it.
 */
export async function channelIdOf(ctx: Ctx, key: ChannelKey): Promise<number> {
  const [id = 0] = await channelIdsOf(ctx, [key]);
  return id;
}

/** Returns the ids of several channels, in the order of the keys. Batch version of `channelIdOf`, with two queries. */
export async function channelIdsOf({ app, viewer }: Ctx, keys: readonly ChannelKey[]): Promise<number[]> {
  const names = keys.flatMap((key) => ('name' in key ? [key.name.trim()] : []));
  if (names.length === 0) return keys.flatMap((key) => ('id' in key ? [key.id] : []));
  const asked = [...new Set(names)].filter((name) => !name.includes('\0'));
  const rows = await app.db.$queryRaw<{ place: bigint; id: number }[]>`
    SELECT n.place, c.id FROM unnest(${asked.map((name) => name.toWellFormed())}::text[]) WITH ORDINALITY AS n (name, place)
    JOIN channel c ON c.realm_id = ${viewer.realm.id} AND lower(c.name) = lower(n.name)`;
  const idOf = new Map(rows.map(({ place, id }) => [asked[Number(place) - 1], id]));
  const among = { id: { in: rows.map(({ id }) => id) } };
  const seen = seenBy(await channelActor(app.db, viewer, app.now()));
  const channels = await app.db.channel.findMany({ where: { AND: [seen, among] }, select: { id: true } });
  const visible = new Set(channels.map(({ id }) => id));
  return keys.map((key) => {
    if ('id' in key) return key.id;
    const id = idOf.get(key.name.trim());
    if (id === undefined || !visible.has(id)) throw new BadRequestError(`Invalid channel name '${key.name}'`);
    return id;
  });
}

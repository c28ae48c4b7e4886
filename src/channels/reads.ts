import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { NotFoundError } from '../platform/errors.ts';
import { isGuest } from '../platform/roles.ts';
import { accessChannel, readBy, seenBy } from './access.ts';
import type { ChannelKey } from './keys.ts';
import type { WireChannel } from './wire.ts';
import { sortedByName, toWireChannels } from './wire-channels.ts';

/**
 * A filter for a list of channels. Each field except `archived` adds a set of channels if it is true. A channel matches if it
 * is in at least one of these sets.
 */
export interface ChannelFilter {
  readonly public?: boolean | undefined;
  readonly webPublic?: boolean | undefined;
  readonly subscribed?: boolean | undefined;
  /** Adds the channels to which the owner of the viewer is subscribed, if the viewer is a bot. */
  readonly ownerSubscribed?: boolean | undefined;
  /** Adds the channels that the viewer can read. */
  readonly readable?: boolean | undefined;
  /** Adds all channels that the viewer can see. */
  readonly all?: boolean | undefined;
  /** Whether archived channels of these sets match too. */
  readonly archived?: boolean | undefined;
}

/** Returns the database condition for the channels that match the filter and that the viewer can see. */
export async function channelsLike(
  { app, work, viewer }: Ctx,
  filter: ChannelFilter,
): Promise<Prisma.ChannelWhereInput> {
  const actor = await channelActor(work.db, viewer, app.now());
  const { botOwnerId } = viewer.user;
  const subscribedBy = (userId: number) => ({
    subscriptions: { some: { organizationId: viewer.organization.id, userId, active: true } },
  });
  const kinds: Prisma.ChannelWhereInput[] = [
    ...(filter.public && !isGuest(viewer.role) ? [{ inviteOnly: false }] : []),
    ...(filter.webPublic ? [{ isWebPublic: true }] : []),
    ...(filter.subscribed ? [subscribedBy(viewer.id)] : []),
    ...(filter.ownerSubscribed && botOwnerId !== null ? [subscribedBy(botOwnerId)] : []),
    ...(filter.readable ? [readBy(actor)] : []),
  ];
  // `all` replaces the OR condition. An empty condition within OR would not work, because Prisma ignores it there.
  const ofKinds = filter.all ? {} : { OR: kinds };
  return { AND: [seenBy(actor), ofKinds, filter.archived ? {} : { isArchived: false }] };
}

/** Returns the matching channels in wire format, sorted by name, each with whether it is a default channel. */
export async function listChannels(
  ctx: Ctx,
  filter: ChannelFilter,
): Promise<{ readonly wire: WireChannel; readonly isDefault: boolean }[]> {
  const { app, work, viewer } = ctx;
  const actor = await channelActor(work.db, viewer, app.now());
  const channels = sortedByName(await work.db.channel.findMany({ where: await channelsLike(ctx, filter) }));
  const wires = await toWireChannels(work.db, actor, channels);
  return wires.map((wire, i) => ({ wire, isDefault: channels[i]?.isDefault === true }));
}

/**
 * Returns one channel in wire format.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 */
export async function showChannel(ctx: Ctx, channelId: number): Promise<WireChannel> {
  const { app, work, viewer } = ctx;
  const channel = await accessChannel(ctx, channelId);
  const [wire] = await toWireChannels(work.db, await channelActor(work.db, viewer, app.now()), [channel]);
  return wire as WireChannel;
}

/**
 * Returns the id of a channel by name. If the key contains an id, returns that id without checking that the channel exists.
 *
 * @throws NotFoundError if no channel has the name, or the viewer cannot see it.
 */
export async function channelIdOf(ctx: Ctx, key: ChannelKey): Promise<number> {
  const [id = 0] = await channelIdsOf(ctx, [key]);
  return id;
}

/**
 * Returns the ids of several channels, in the order of the keys. Batch version of `channelIdOf`, with two queries.
 *
 * @param parameterOf Returns the parameter that contains the key at an index.
 */
export async function channelIdsOf(
  { app, work, viewer }: Ctx,
  keys: readonly ChannelKey[],
  parameterOf: (index: number) => string = () => 'stream',
): Promise<number[]> {
  const names = keys.flatMap((key) => ('name' in key ? [key.name.trim()] : []));
  if (names.length === 0) return keys.flatMap((key) => ('id' in key ? [key.id] : []));
  const asked = [...new Set(names)].filter((name) => !name.includes('\0'));
  const rows = await work.db.$queryRaw<{ place: bigint; id: number }[]>`
    SELECT n.place, c.id FROM unnest(${asked.map((name) => name.toWellFormed())}::text[]) WITH ORDINALITY AS n (name, place)
    JOIN channel c ON c.realm_id = ${viewer.organization.id} AND lower(c.name) = lower(n.name)`;
  const idOf = new Map(rows.map(({ place, id }) => [asked[Number(place) - 1], id]));
  const among = { id: { in: rows.map(({ id }) => id) } };
  const seen = seenBy(await channelActor(work.db, viewer, app.now()));
  const channels = await work.db.channel.findMany({ where: { AND: [seen, among] }, select: { id: true } });
  const visible = new Set(channels.map(({ id }) => id));
  return keys.map((key, i) => {
    if ('id' in key) return key.id;
    const id = idOf.get(key.name.trim());
    if (id === undefined || !visible.has(id)) {
      throw new NotFoundError(`Invalid channel name '${key.name}'`, { type: 'Channel', parameter: parameterOf(i) });
    }
    return id;
  });
}

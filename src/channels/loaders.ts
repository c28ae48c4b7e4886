import DataLoader from 'dataloader';
import { signedIn, type Viewer } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { acrossReaders, forAllViewers, type GraphQLContext, perOperation } from '../api/graphql/loading/context.ts';
import type { Loads, RequestedKey } from '../api/graphql/loading/keyed-loader.ts';
import { type Channel, Prisma } from '../generated/prisma/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { channelsOfPairs, readsChannel, seesChannel } from './access.ts';
import { type ChannelActivity, readActivity } from './activity.ts';

/**
 * Returns the viewer with the role groups and the current time, as permission checks need them. Computed once per operation.
 */
export const viewerAsActor = perOperation((ctx) => {
  const { app, work, viewer } = signedIn(ctx);
  return channelActor(work.db, viewer, app.now());
});

/** Loads the fields of channels that are computed from their messages: see `ChannelActivity`. */
export const channelActivities = perOperation(
  (ctx) =>
    new DataLoader<Pick<Channel, 'id' | 'createdAt'>, ChannelActivity, number>(
      async (channels) => {
        const { app, work, viewer } = signedIn(ctx);
        const activityOf = await readActivity(work.db, viewer.organization, channels, app.now());
        return channels.map(({ id }) => activityOf(id));
      },
      { cacheKeyFn: ({ id }) => id },
    ),
);

/** A channel with one viewer's access to it. */
interface HeldChannel {
  readonly channel: Channel;
  readonly isSeen: boolean;
  readonly isReadable: boolean;
}

/**
 * Loads channels by id, with the access of each viewer. Checks whether viewers can see channels (metadata access) and checks
 * whether they can read their messages (content access) share one query.
 */
const heldChannels = acrossReaders<number, HeldChannel | null>(heldFor);

/** Returns the channel for each pair of viewer and channel id. Null if the viewer cannot see the channel. */
export const visibleFor = async (wanted: readonly RequestedKey<number>[]): Promise<readonly (Channel | null)[]> =>
  (await heldFor(wanted)).map(seen);

/** Loads a channel by id. Null if the viewer cannot see the channel. */
export const visibleChannels = (ctx: GraphQLContext) => viewed(heldChannels(ctx), seen);

/** Returns the channel for each pair of viewer and channel id. Null if the viewer cannot read the channel's messages. */
export const readableFor = async (wanted: readonly RequestedKey<number>[]): Promise<readonly (Channel | null)[]> =>
  (await heldFor(wanted)).map(readable);

/** Loads a channel by id. Null if the viewer cannot read its messages. */
export const readableChannels = (ctx: GraphQLContext) => viewed(heldChannels(ctx), readable);

const viewed = (
  { load, loadAll }: Loads<number, HeldChannel | null>,
  view: (held: HeldChannel | null) => Channel | null,
): Loads<number, Channel | null> => ({
  load: async (id) => view(await load(id)),
  loadAll: async (ids) => (await loadAll(ids)).map((held) => (held instanceof Error ? held : view(held))),
});

const seen = (held: HeldChannel | null): Channel | null => (held?.isSeen ? held.channel : null);
const readable = (held: HeldChannel | null): Channel | null => (held?.isReadable ? held.channel : null);

const CHANNEL = fieldsOf('c', 'Channel');

/** Loads a channel by id, without an access check. The caller must have checked that the viewer can see the channel. */
export const channelsById = forAllViewers<number, Channel>(async (db, organizationId, ids) => {
  const rows = await readRows<Channel>(
    db,
    Prisma.sql`SELECT ${CHANNEL} FROM channel c WHERE c.realm_id = ${organizationId} AND c.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((channel) => [channel.id, channel]));
  return (id) => byId.get(id) ?? new Error(`No channel with id ${id}`);
});

async function heldFor(wanted: readonly RequestedKey<number>[]): Promise<readonly (HeldChannel | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, work, organizationId } = first.ctx;
  const viewers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const placed = await channelsOfPairs(
    { db: work.db, organizationId },
    wanted.map(({ ctx, key }) => ({ userId: ctx.viewer.id, channelId: key })),
  );
  const now = app.now();
  const actorOf = async (viewer: Viewer) => [viewer.id, await channelActor(work.db, viewer, now)] as const;
  const actors = new Map(await Promise.all([...viewers.values()].map(actorOf)));
  return wanted.map(({ ctx: { viewer } }, i) => {
    const [found, actor] = [placed[i] ?? null, actors.get(viewer.id)];
    if (found === null || actor === undefined) return null;
    const { channel, isSubscribed } = found;
    return {
      channel,
      isSeen: seesChannel(actor, channel, isSubscribed),
      isReadable: readsChannel(actor, channel, isSubscribed),
    };
  });
}

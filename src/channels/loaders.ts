import DataLoader from 'dataloader';
import { signedIn, type Viewer } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { acrossReaders, forEverybody, type GraphQLContext, perOperation } from '../api/graphql/context.ts';
import type { Loads, Wanted } from '../api/graphql/keyed-loader.ts';
import { type Channel, Prisma } from '../generated/prisma/client.ts';
import { CHANNEL_COLUMNS, fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { placedChannels, readsChannel, seesChannel } from './access.ts';
import { type ChannelActivity, readActivity } from './activity.ts';

/** The viewer as one who holds permissions, once for an operation. */
export const viewerAsActor = perOperation((ctx) => {
  const { app, viewer } = signedIn(ctx);
  return channelActor(app.db, viewer, app.now());
});

/** What goes on in a channel. */
export const channelActivities = perOperation(
  (ctx) =>
    new DataLoader<Pick<Channel, 'id' | 'createdAt'>, ChannelActivity, number>(
      async (channels) => {
        const { app, viewer } = signedIn(ctx);
        const activityOf = await readActivity(app.db, viewer.realm, channels, app.now());
        return channels.map(({ id }) => activityOf(id));
      },
      { cacheKeyFn: ({ id }) => id },
    ),
);

/** A channel, and what one viewer may do with it. */
interface HeldChannel {
  readonly channel: Channel;
  readonly isSeen: boolean;
  readonly isReadable: boolean;
}

/** Channels as each of some viewers has them, by id: read once, whatever is asked about them. */
const heldChannels = acrossReaders<number, HeldChannel | null>(heldFor);

/** Channels, each for one viewer, who sees it; null where they do not. */
export const visibleFor = async (wanted: readonly Wanted<number>[]): Promise<readonly (Channel | null)[]> =>
  (await heldFor(wanted)).map(seen);

/** A channel, by its id; null when the viewer does not see it. */
export const visibleChannels = (ctx: GraphQLContext) => viewed(heldChannels(ctx), seen);

/** Channels, each for one viewer, who may read what is written in it; null where they may not. */
export const readableFor = async (wanted: readonly Wanted<number>[]): Promise<readonly (Channel | null)[]> =>
  (await heldFor(wanted)).map(readable);

/** A channel, by its id; null when the viewer may not read what is written in it. */
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

const CHANNEL = fieldsOf('c', CHANNEL_COLUMNS);

/** A channel, by its id, which the viewer was found to see. */
export const channelsById = forEverybody<number, Channel>(async (db, realmId, ids) => {
  const rows = await readRows<Channel>(
    db,
    Prisma.sql`SELECT ${CHANNEL} FROM channel c WHERE c.realm_id = ${realmId} AND c.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((channel) => [channel.id, channel]));
  return (id) => byId.get(id) ?? new Error(`There is no channel ${id}`);
});

async function heldFor(wanted: readonly Wanted<number>[]): Promise<readonly (HeldChannel | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const viewers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const placed = await placedChannels(
    { db: app.db, realmId },
    wanted.map(({ ctx, key }) => ({ userId: ctx.viewer.id, channelId: key })),
  );
  const now = app.now();
  const actorOf = async (viewer: Viewer) => [viewer.id, await channelActor(app.db, viewer, now)] as const;
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

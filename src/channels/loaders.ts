import DataLoader from 'dataloader';
import { signedIn, type Viewer } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { acrossReaders, forEverybody, type GraphQLContext, perOperation } from '../api/graphql/loading/context.ts';
import type { Loads, RequestedKey } from '../api/graphql/loading/keyed-loader.ts';
import { type Channel, Prisma } from '../generated/prisma/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { placedChannels, readsChannel, seesChannel } from './access.ts';
import { type ChannelActivity, readActivity } from './activity.ts';

/** Returns the viewer in the form that permission checks need. Computed once per operation. */
export const viewerAsActor = perOperation((ctx) => {
  const { app, viewer } = signedIn(ctx);
  return channelActor(app.db, viewer, app.now());
});

/** Loads the activity of channels. */
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

/** A channel with one viewer's access to it. */
interface HeldChannel {
  readonly channel: Channel;
  readonly isSeen: boolean;
  readonly isReadable: boolean;
}

/** Loads channels by id, with the access of each viewer. Checks for seeing and for reading share one read. */
const heldChannels = acrossReaders<number, HeldChannel | null>(heldFor);

/** Returns the channel for each pair of viewer and id. Null if the viewer cannot see it. */
export const visibleFor = async (wanted: readonly RequestedKey<number>[]): Promise<readonly (Channel | null)[]> =>
  (await heldFor(wanted)).map(seen);

/** Loads a channel by id. Null if the viewer cannot see it. */
export const visibleChannels = (ctx: GraphQLContext) => viewed(heldChannels(ctx), seen);

/** Returns the channel for each pair of viewer and id. Null if the viewer cannot read its messages. */
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

/** Loads a channel by id, without an access check. The caller must have checked that the viewer can see it. */
export const channelsById = forEverybody<number, Channel>(async (db, realmId, ids) => {
  const rows = await readRows<Channel>(
    db,
    Prisma.sql`SELECT ${CHANNEL} FROM channel c WHERE c.realm_id = ${realmId} AND c.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((channel) => [channel.id, channel]));
  return (id) => byId.get(id) ?? new Error(`No channel with id ${id}`);
});

async function heldFor(wanted: readonly RequestedKey<number>[]): Promise<readonly (HeldChannel | null)[]> {
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

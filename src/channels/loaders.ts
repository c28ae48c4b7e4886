import DataLoader from 'dataloader';
import { signedIn, type Viewer } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { acrossReaders, type GraphQLContext, perOperation, type Wanted } from '../api/graphql/context.ts';
import { type Channel, Prisma } from '../generated/prisma/client.ts';
import { CHANNEL_COLUMNS, fieldsOf } from '../platform/db/columns.ts';
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
export const visibleChannels = (ctx: GraphQLContext) => ({
  load: (id: number): Promise<Channel | null> => heldChannels(ctx).load(id).then(seen),
});

/** Channels, each for one viewer, who may read what is written in it; null where they may not. */
export const readableFor = async (wanted: readonly Wanted<number>[]): Promise<readonly (Channel | null)[]> =>
  (await heldFor(wanted)).map(readable);

/** A channel, by its id; null when the viewer may not read what is written in it. */
export const readableChannels = (ctx: GraphQLContext) => ({
  load: (id: number): Promise<Channel | null> => heldChannels(ctx).load(id).then(readable),
});

const seen = (held: HeldChannel | null): Channel | null => (held?.isSeen ? held.channel : null);
const readable = (held: HeldChannel | null): Channel | null => (held?.isReadable ? held.channel : null);

const CHANNEL = fieldsOf('c', CHANNEL_COLUMNS);

/** A channel, by its id, which the viewer was found to see. */
export const channelsById = acrossReaders<number, Channel>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const ids = [...new Set(wanted.map(({ key }) => key))];
  const rows = await readRows<Channel>(
    app.db,
    Prisma.sql`SELECT ${CHANNEL} FROM channel c WHERE c.realm_id = ${realmId} AND c.id = ANY(${ids}::int[])`,
  );
  const byId = new Map(rows.map((channel) => [channel.id, channel]));
  return wanted.map(({ key }) => byId.get(key) ?? new Error(`There is no channel ${key}`));
});

async function heldFor(wanted: readonly Wanted<number>[]): Promise<readonly (HeldChannel | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const viewers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const keys = wanted.map(({ key }) => key);
  const placed = await placedChannels(app.db, realmId, [...viewers.keys()], keys);
  const channels = new Map(
    placed.map(({ channel, subscribers }) => [channel.id, { channel, subscribers: new Set(subscribers) }]),
  );
  const now = app.now();
  const actorOf = async (viewer: Viewer) => [viewer.id, await channelActor(app.db, viewer, now)] as const;
  const actors = new Map(await Promise.all([...viewers.values()].map(actorOf)));
  return wanted.map(({ ctx: { viewer }, key }) => {
    const found = channels.get(key);
    const actor = actors.get(viewer.id);
    if (found === undefined || actor === undefined) return null;
    const { channel, subscribers } = found;
    const isSubscribed = subscribers.has(viewer.id);
    return {
      channel,
      isSeen: seesChannel(actor, channel, isSubscribed),
      isReadable: readsChannel(actor, channel, isSubscribed),
    };
  });
}

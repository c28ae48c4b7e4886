import DataLoader from 'dataloader';
import { signedIn, type Viewer } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { acrossReaders, perOperation, type Wanted } from '../api/graphql/context.ts';
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

/** Channels, each for one viewer, who sees it; null where they do not. */
export const visibleFor = (wanted: readonly Wanted<number>[]): Promise<readonly (Channel | null)[]> =>
  channelsFor(wanted, seesChannel);

/** A channel, by its id; null when the viewer does not see it. */
export const visibleChannels = acrossReaders<number, Channel | null>(visibleFor);

/** Channels, each for one viewer, who may read what is written in it; null where they may not. */
export const readableFor = (wanted: readonly Wanted<number>[]): Promise<readonly (Channel | null)[]> =>
  channelsFor(wanted, readsChannel);

/** A channel, by its id; null when the viewer may not read what is written in it. */
export const readableChannels = acrossReaders<number, Channel | null>(readableFor);

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

async function channelsFor(
  wanted: readonly Wanted<number>[],
  mayHave: typeof seesChannel,
): Promise<readonly (Channel | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const viewers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const keys = wanted.map(({ key }) => key);
  const placed = await placedChannels(app.db, realmId, [...viewers.keys()], keys);
  const channels = new Map(
    placed.map(({ channel, subscribers }) => [channel.id, [channel, new Set(subscribers)] as const]),
  );
  const now = app.now();
  const actorOf = async (viewer: Viewer) => [viewer.id, await channelActor(app.db, viewer, now)] as const;
  const actors = new Map(await Promise.all([...viewers.values()].map(actorOf)));
  return wanted.map(({ ctx: { viewer }, key }) => {
    const [channel, subscribers] = channels.get(key) ?? [];
    const actor = actors.get(viewer.id);
    if (channel === undefined || actor === undefined) return null;
    return mayHave(actor, channel, subscribers?.has(viewer.id) === true) ? channel : null;
  });
}

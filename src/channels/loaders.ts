import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { perOperation } from '../api/graphql/context.ts';
import type { Channel } from '../generated/prisma/client.ts';
import { visibleTo } from './access.ts';
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

/** A channel, by its id; null when the viewer does not see it. */
export const visibleChannels = perOperation(
  (ctx) =>
    new DataLoader<number, Channel | null>(async (ids) => {
      const { db } = ctx.app;
      const rows = await db.channel.findMany({
        where: { AND: [{ id: { in: [...ids] } }, await visibleTo(signedIn(ctx))] },
      });
      const channels = new Map(rows.map((channel) => [channel.id, channel]));
      return ids.map((id) => channels.get(id) ?? null);
    }),
);

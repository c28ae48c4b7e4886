import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { holdersOf } from './target.ts';

/**
 * Loads the users whose permissions apply when the viewer sends: the viewer and, for a bot, its owner. Read once per operation.
 */
export const viewerAsSender = perOperation((ctx) => {
  const { app, viewer } = signedIn(ctx);
  return holdersOf(app.db, viewer, app.now());
});

/** Loads whether the owner of the viewer, if the viewer is a bot, is subscribed to a channel. Key: channel id. */
export const ownerIsSubscribed = perOperation(
  (ctx) =>
    new DataLoader<number, boolean>(async (ids) => {
      const { app, realmId, viewer } = signedIn(ctx);
      const { botOwnerId } = viewer.user;
      if (botOwnerId === null) return ids.map(() => false);
      const where = { realmId, userId: botOwnerId, active: true, channelId: { in: [...ids] } };
      const rows = await app.db.subscription.findMany({ where, select: { channelId: true } });
      const subscribed = new Set(rows.map(({ channelId }) => channelId));
      return ids.map((id) => subscribed.has(id));
    }),
);

import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { holdersOf } from './target.ts';

/** Whose permissions the viewer has: their own and, if they are a bot, its owner's. Once for an operation. */
export const viewerAsSender = perOperation((ctx) => {
  const { app, viewer } = signedIn(ctx);
  return holdersOf(app.db, viewer, app.now());
});

/** Whether the owner of the bot that the viewer is is subscribed to a channel, by its id. */
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

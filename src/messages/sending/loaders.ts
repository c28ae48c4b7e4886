import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { usersInConversationWith } from '../direct.ts';
import { holdersOf } from './target.ts';

/**
 * Loads the users whose permissions apply when the viewer sends: the viewer and, for a bot, its owner. The users are read once
 * per operation.
 */
export const viewerAsSender = perOperation((ctx) => {
  const { app, work, viewer } = signedIn(ctx);
  return holdersOf(work.db, viewer, app.now());
});

/** Loads whether the owner of the viewer is subscribed to a channel, by channel id. False if the viewer is not a bot. */
export const ownerIsSubscribed = perOperation(
  (ctx) =>
    new DataLoader<number, boolean>(async (ids) => {
      const { work, organizationId, viewer } = signedIn(ctx);
      const { botOwnerId } = viewer.user;
      if (botOwnerId === null) return ids.map(() => false);
      const where = { organizationId, userId: botOwnerId, active: true, channelId: { in: [...ids] } };
      const rows = await work.db.subscription.findMany({ where, select: { channelId: true } });
      const subscribed = new Set(rows.map(({ channelId }) => channelId));
      return ids.map((id) => subscribed.has(id));
    }),
);

/** Loads whether the viewer has a conversation with one other user, without further members, by the id of the other user. */
export const isInConversationWith = perOperation(
  (ctx) =>
    new DataLoader<number, boolean>(async (ids) => {
      const { work, organizationId, viewer } = signedIn(ctx);
      const found = await usersInConversationWith(work.db, { organizationId, userId: viewer.id }, ids);
      return ids.map((id) => found.has(id));
    }),
);

import DataLoader from 'dataloader';
import { signedIn } from '../app.ts';
import type { MessageEdit, User } from '../generated/prisma/client.ts';
import { perOperation } from '../graphql/context.ts';

/** Every edit and move of a message, by its id, in any order. */
export const editsOf = perOperation(
  (ctx) =>
    new DataLoader<bigint, readonly MessageEdit[], string>(
      async (ids) => {
        const { app, realmId } = signedIn(ctx);
        const rows = await app.db.messageEdit.findMany({ where: { realmId, messageId: { in: [...ids] } } });
        const byMessage = Map.groupBy(rows, ({ messageId }) => messageId);
        return ids.map((id) => byMessage.get(id) ?? []);
      },
      { cacheKeyFn: String },
    ),
);

/** Who wrote or edited a message, by their id: everybody in the organisation may know everybody. */
export const authors = perOperation(
  (ctx) =>
    new DataLoader<number, User>(async (ids) => {
      const { app, realmId } = signedIn(ctx);
      const rows = await app.db.user.findMany({ where: { realmId, id: { in: [...ids] } } });
      const byId = new Map(rows.map((user) => [user.id, user]));
      return ids.map((id) => byId.get(id) ?? new Error(`There is no user ${id}`));
    }),
);

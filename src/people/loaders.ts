import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { perOperation } from '../api/graphql/context.ts';
import type { User } from '../generated/prisma/client.ts';

/** Users by id: everybody in the organisation may know everybody. */
export const usersById = perOperation(
  (ctx) =>
    new DataLoader<number, User>(async (ids) => {
      const { app, realmId } = signedIn(ctx);
      const rows = await app.db.user.findMany({ where: { realmId, id: { in: [...ids] } } });
      const byId = new Map(rows.map((user) => [user.id, user]));
      return ids.map((id) => byId.get(id) ?? new Error(`There is no user ${id}`));
    }),
);

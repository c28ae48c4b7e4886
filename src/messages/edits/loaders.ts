import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/context.ts';
import type { MessageEdit } from '../../generated/prisma/client.ts';

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

import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/context.ts';
import type { ProfileField, ProfileValue } from '../../generated/prisma/client.ts';

/** A value with its field. */
export type ValueOfField = ProfileValue & { readonly field: ProfileField };

/** What a user has in their profile, by their id, in the order of the fields. */
export const profileValues = perOperation(
  (ctx) =>
    // Not cached: a document may change a profile several times, and read it after each.
    new DataLoader<number, readonly ValueOfField[]>(
      async (userIds) => {
        const { app, realmId } = signedIn(ctx);
        const rows = await app.db.profileValue.findMany({
          where: { realmId, userId: { in: [...new Set(userIds)] } },
          include: { field: true },
          orderBy: [{ field: { order: 'asc' } }, { fieldId: 'asc' }],
        });
        const byUser = Map.groupBy(rows, ({ userId }) => userId);
        return userIds.map((id) => byUser.get(id) ?? []);
      },
      { cache: false },
    ),
);

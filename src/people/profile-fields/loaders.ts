import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import type { ProfileField, ProfileValue } from '../../generated/prisma/client.ts';

/** A profile value with its profile field. */
export type ValueOfField = ProfileValue & { readonly field: ProfileField };

/** Loads a user's profile values by user id, sorted by the order of the profile fields. */
export const profileValues = perOperation(
  (ctx) =>
    // The values are not cached: a document may change a profile several times and read it after each change.
    new DataLoader<number, readonly ValueOfField[]>(
      async (userIds) => {
        const { work, organizationId } = signedIn(ctx);
        const rows = await work.db.profileValue.findMany({
          where: { organizationId, userId: { in: [...new Set(userIds)] } },
          include: { field: true },
          orderBy: [{ field: { order: 'asc' } }, { fieldId: 'asc' }],
        });
        // The database client reads the values first and their fields in a second query. If a field is deleted in between,
        // `field` is null.
        const present = rows.filter(({ field }: { field: ProfileField | null }) => field !== null);
        const byUser = Map.groupBy(present, ({ userId }) => userId);
        return userIds.map((id) => byUser.get(id) ?? []);
      },
      { cache: false },
    ),
);

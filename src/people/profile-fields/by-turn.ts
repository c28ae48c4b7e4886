import type { User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readByTurn } from '../../platform/db/read-by-turn.ts';
import { profileDataOf } from './values.ts';

type Owner = Pick<User, 'id' | 'organizationId'>;

/** Loads a user's profile. All calls in one iteration of the event loop share one query for each organization. */
export const profileDataByTurn = readByTurn(async (db: SqlClient, owners: readonly Owner[]) => {
  const byOrganization = Map.groupBy(owners, ({ organizationId }) => organizationId);
  const read = await Promise.all(
    [...byOrganization].map(async ([organizationId, ofOrganization]) => {
      const ids = new Set(ofOrganization.map(({ id }) => id));
      return profileDataOf(db, organizationId, [...ids]);
    }),
  );
  const byUser = new Map(read.flatMap((profiles) => [...profiles]));
  return owners.map(({ id }) => byUser.get(id) ?? {});
});

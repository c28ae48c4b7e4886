import type { App } from '../../access/context.ts';
import type { User } from '../../generated/prisma/client.ts';
import { readByTurn } from '../../platform/db/read-by-turn.ts';
import { profileDataOf } from './values.ts';

type Owner = Pick<User, 'id' | 'realmId'>;

/** Loads a user's profile. All calls in one iteration of the event loop share one query per organization, whatever the user. */
export const profileDataByTurn = readByTurn(async ({ db }: App, owners: readonly Owner[]) => {
  const byRealm = Map.groupBy(owners, ({ realmId }) => realmId);
  const read = await Promise.all(
    [...byRealm].map(async ([realmId, ofRealm]) => {
      const ids = new Set(ofRealm.map(({ id }) => id));
      return profileDataOf(db, realmId, [...ids]);
    }),
  );
  const byUser = new Map(read.flatMap((profiles) => [...profiles]));
  return owners.map(({ id }) => byUser.get(id) ?? {});
});

import DataLoader from 'dataloader';
import type { App } from '../../access/context.ts';
import type { User } from '../../generated/prisma/client.ts';
import { profileDataOf } from './values.ts';
import type { WireProfileData } from './wire.ts';

type Owner = Pick<User, 'id' | 'realmId'>;

const loaders = new WeakMap<App, DataLoader<Owner, WireProfileData>>();

/** Loads a user's profile. All calls in one iteration of the event loop share one query per organization, whatever the user. */
export function profileDataByTurn(app: App, owner: Owner): Promise<WireProfileData> {
  let loader = loaders.get(app);
  if (loader === undefined) {
    loader = new DataLoader((owners) => readAll(app, owners), {
      // With `setImmediate`, the query runs after all requests that have arrived were read, not after each of them.
      cache: false,
      maxBatchSize: 500,
      batchScheduleFn: (run) => void setImmediate(run),
    });
    loaders.set(app, loader);
  }
  return loader.load(owner);
}

async function readAll({ db }: App, owners: readonly Owner[]): Promise<WireProfileData[]> {
  const byRealm = Map.groupBy(owners, ({ realmId }) => realmId);
  const read = await Promise.all(
    [...byRealm].map(async ([realmId, ofRealm]) => {
      const ids = new Set(ofRealm.map(({ id }) => id));
      return profileDataOf(db, realmId, [...ids]);
    }),
  );
  const byUser = new Map(read.flatMap((profiles) => [...profiles]));
  return owners.map(({ id }) => byUser.get(id) ?? {});
}

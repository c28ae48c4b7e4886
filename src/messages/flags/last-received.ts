import DataLoader from 'dataloader';
import type { App } from '../../access/context.ts';
import type { Holder } from './read-state.ts';
import { lastReceivedIds } from './summaries.ts';

const loaders = new WeakMap<App, DataLoader<Holder, number>>();

/** Loads the id of the last message that the user received. -1 if there is none. Concurrent requests share one query. */
export function lastReceivedByTurn(app: App, holder: Holder): Promise<number> {
  let loader = loaders.get(app);
  if (loader === undefined) {
    loader = new DataLoader(
      async (holders) => {
        const last = await lastReceivedIds(app.db, [...new Map(holders.map((one) => [one.userId, one])).values()]);
        return holders.map(({ userId }) => last.get(userId) ?? -1);
      },
      // Runs after all requests that have already arrived, so that they share one query.
      { cache: false, maxBatchSize: 500, batchScheduleFn: (run) => void setImmediate(run) },
    );
    loaders.set(app, loader);
  }
  return loader.load(holder);
}

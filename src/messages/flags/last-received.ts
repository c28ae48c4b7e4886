import DataLoader from 'dataloader';
import type { App } from '../../access/context.ts';
import type { Holder } from './read-state.ts';
import { lastReceivedIds } from './summaries.ts';

const loaders = new WeakMap<App, DataLoader<Holder, number>>();

/** The last message the user received; -1 when there is none. Requests that come in together share one query. */
export function lastReceivedByTurn(app: App, holder: Holder): Promise<number> {
  let loader = loaders.get(app);
  if (loader === undefined) {
    loader = new DataLoader(
      async (holders) => {
        const last = await lastReceivedIds(app.db, [...new Map(holders.map((one) => [one.userId, one])).values()]);
        return holders.map(({ userId }) => last.get(userId) ?? -1);
      },
      // Scheduled after the requests that have arrived by now, so that they share one query.
      { cache: false, maxBatchSize: 500, batchScheduleFn: (run) => void setImmediate(run) },
    );
    loaders.set(app, loader);
  }
  return loader.load(holder);
}

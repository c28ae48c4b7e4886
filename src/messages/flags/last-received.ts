import DataLoader from 'dataloader';
import type { App } from '../../access/context.ts';
import { lastReceivedIds } from './summaries.ts';

const loaders = new WeakMap<App, DataLoader<number, number>>();

/** The last message the user received; -1 when there is none. Requests that come in together share one query. */
export function lastReceivedByTurn(app: App, userId: number): Promise<number> {
  let loader = loaders.get(app);
  if (loader === undefined) {
    loader = new DataLoader(
      async (userIds) => {
        const last = await lastReceivedIds(app.db, [...new Set(userIds)]);
        return userIds.map((id) => last.get(id) ?? -1);
      },
      // Scheduled after the requests that have arrived by now, so that they share one query.
      { cache: false, maxBatchSize: 500, batchScheduleFn: (run) => void setImmediate(run) },
    );
    loaders.set(app, loader);
  }
  return loader.load(userId);
}

import type { App } from '../../access/context.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { deleteUnused } from './objects.ts';
import { deleteUnclaimed } from './service.ts';

/** Time between two runs, in milliseconds: an hour. Files are kept for weeks. */
const EVERY_MS = 3_600_000;

/**
 * Returns the worker that deletes files without links to them, remains of failed uploads, and objects of deleted files in the
 * bucket. Every node runs one.
 */
export const attachmentWorker = (app: Pick<App, 'log' | 'work'>): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    everyMs: EVERY_MS,
    failure: 'deletion of unclaimed files failed, retrying',
    run: async (isOver) => {
      await deleteUnclaimed(app.work, isOver);
      await deleteUnused(app.work.app, isOver);
    },
  });

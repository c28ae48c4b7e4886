import type { App } from '../../access/context.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { eraseDueOrganizations } from './service.ts';

/** Returns a worker that erases deleted organizations whose grace period has ended, about once a minute. */
export const erasureWorker = (app: App): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    everyMs: 60_000,
    failure: 'erasure of a deleted organization failed, retrying',
    run: (isOver) => eraseDueOrganizations(app, isOver),
  });

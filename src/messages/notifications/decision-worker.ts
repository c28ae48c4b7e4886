import { backgroundReading, type ReadingRun, readLogs } from '../../events/background-reader.ts';
import type { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { decisionReader, type NotificationApp } from './decide.ts';

/** Decides the notifications of all messages that were sent since the last run, in all organizations. */
export const decideNotifications = (app: NotificationApp, run: ReadingRun = {}): Promise<void> =>
  readLogs(app, decisionReader(app), run);

/** Returns the worker that decides notifications. Any number of nodes can run it on one database. */
export const decisionWorker = (app: NotificationApp, onDue: () => void): PeriodicWorker =>
  backgroundReading(app, decisionReader(app), { onDue });

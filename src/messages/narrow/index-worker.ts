import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { indexSome } from './message-index.ts';

/**
 * Time between runs, in milliseconds. Messages that are not indexed yet are compared with a search one by one, which takes
 * about ten microseconds for each message.
 */
const EVERY_MS = 5_000;
/**
 * Minimum number of messages to be indexed in an organization. Organizations with fewer are skipped, because a transaction is
 * too expensive for so few messages.
 */
const WORTH_WHILE = 32;

/**
 * Writes the missing and outdated index entries of messages in all organizations. After each batch, pauses for as long as the
 * database took for it. So indexing uses at most half of a processor.
 *
 * @param least Minimum number of messages to be indexed in an organization. Organizations with fewer are skipped.
 */
export async function indexMessages(
  { db }: Pick<App, 'db'>,
  { least = WORTH_WHILE, isOver = () => false }: { least?: number; isOver?: () => boolean } = {},
): Promise<void> {
  const behind = await db.$queryRaw<{ id: number }[]>`
    SELECT p.realm_id AS id FROM search_progress p JOIN realm r ON r.id = p.realm_id WHERE p.from_id > 0 OR EXISTS (
      SELECT FROM message m WHERE m.realm_id = p.realm_id AND m.id > p.through_id
      ORDER BY m.id OFFSET ${least - 1} LIMIT 1)
    OR EXISTS (SELECT FROM search_stale s WHERE s.realm_id = p.realm_id ORDER BY s.id OFFSET ${least - 1} LIMIT 1)`;
  for (const { id } of behind) {
    for (let isMore = true; isMore && !isOver(); ) {
      const batch = await indexSome(db, id);
      ({ isMore } = batch);
      if (isMore && !isOver()) await sleep(batch.tookMs, undefined, { ref: false });
    }
  }
}

/**
 * Creates the worker that keeps messages indexed for searches. Any number of nodes can run it on one database.
 *
 * @see src/messages/README.md
 */
export const indexWorker = (app: Pick<App, 'db' | 'log'>): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    everyMs: EVERY_MS,
    failure: 'message indexing failed, retrying',
    run: (isOver) => indexMessages(app, { isOver }),
  });

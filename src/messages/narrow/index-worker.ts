import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';

/**
 * Time between runs, in milliseconds. Until a message is indexed, each search compares it directly, in about ten microseconds.
 */
const EVERY_MS = 5_000;
/** Number of messages to be indexed from which an organization is indexed. Fewer are not worth a transaction. */
const WORTH_WHILE = 32;
/** Messages per transaction. An index entry takes some 0.3 ms, and deletions of the messages wait for the transaction. */
const AT_ONCE = 128;

/**
 * Indexes the messages of all organizations that have no index entry or an outdated one. After each batch it pauses for as long
 * as the batch took, so that it uses at most half of a processor.
 *
 * @param least Organizations with fewer messages to be indexed are skipped.
 */
export async function indexMessages(
  { db }: Pick<App, 'db'>,
  { least = WORTH_WHILE, isOver = () => false }: { least?: number; isOver?: () => boolean } = {},
): Promise<void> {
  const behind = await db.$queryRaw<{ id: number }[]>`
    SELECT p.realm_id AS id FROM search_progress p WHERE p.from_id > 0 OR EXISTS (
      SELECT FROM message m WHERE m.realm_id = p.realm_id AND m.id > p.through_id
      ORDER BY m.id OFFSET ${least - 1} LIMIT 1)
    OR EXISTS (SELECT FROM search_stale s WHERE s.realm_id = p.realm_id ORDER BY s.id OFFSET ${least - 1} LIMIT 1)`;
  for (const { id } of behind) {
    for (let isMore = true; isMore && !isOver(); ) {
      const startedAt = performance.now();
      const [row] = await db.$queryRaw<{ more: boolean }[]>`SELECT index_messages(${id}::int, ${AT_ONCE}::int) AS more`;
      isMore = row?.more ?? false;
      if (isMore && !isOver()) await sleep(performance.now() - startedAt, undefined, { ref: false });
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

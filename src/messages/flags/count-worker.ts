import type { App } from '../../access/context.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';

/**
 * Time between two runs of the worker, in milliseconds. Messages that no run has counted yet are counted one by one by each
 * request, in a few microseconds per message.
 */
const EVERY_MS = 5_000;
/**
 * Number of messages that one transaction counts. Fewer messages are not worth a transaction. More messages would block moves
 * and deletions for too long.
 */
const AT_ONCE = 256;

/**
 * Counts, in all organizations, the messages that no run has counted yet. Skips organizations with fewer than `AT_ONCE` of
 * these messages.
 *
 * @param isOver Returns whether to stop. Called before each transaction.
 */
export async function countMessages({ db }: Pick<App, 'db'>, isOver: () => boolean = () => false): Promise<void> {
  const behind = await db.$queryRaw<{ id: number }[]>`
    SELECT t.realm_id AS id FROM message_tally t JOIN realm r ON r.id = t.realm_id WHERE EXISTS (
      SELECT FROM message m WHERE m.realm_id = t.realm_id AND m.id > t.through_id
      ORDER BY m.id OFFSET ${AT_ONCE - 1} LIMIT 1)`;
  for (const { id } of behind) {
    for (let isMore = true; isMore && !isOver(); ) {
      const [row] = await db.$queryRaw<{ more: boolean }[]>`SELECT tally_messages(${id}::int, ${AT_ONCE}::int) AS more`;
      isMore = row?.more ?? false;
    }
  }
}

/**
 * Creates the worker that keeps the counts of messages, so that requests can add up stored counts instead of counting unread
 * messages one by one. Any number of nodes can run it on one database.
 *
 * @see src/messages/README.md
 */
export const countWorker = (app: Pick<App, 'db' | 'log'>): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    everyMs: EVERY_MS,
    failure: 'message counting failed, retrying',
    run: (isOver) => countMessages(app, isOver),
  });

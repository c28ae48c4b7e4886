import type { App } from '../../access/context.ts';

/** Our choice: what is sent meanwhile is counted one by one by whoever asks, some microseconds each. */
const LOOK_MS = 5_000;
/** Our choice: fewer are not worth while, and more would be counted in one go only to be held up by. */
const AT_ONCE = 256;

/** Counts the messages of all organisations that are not counted yet, but for the last few of each. */
export async function countMessages({ db }: Pick<App, 'db'>, isOver: () => boolean = () => false): Promise<void> {
  const behind = await db.$queryRaw<{ id: number }[]>`
    SELECT t.realm_id AS id FROM message_tally t WHERE EXISTS (
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
 * Keeps messages counted, so that what is unread need not be. Any number of nodes do so on one database.
 *
 * @see src/messages/README.md
 */
export class CountWorker {
  readonly #app: Pick<App, 'db' | 'log'>;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #working: Promise<void> = Promise.resolve();

  constructor(app: Pick<App, 'db' | 'log'>) {
    this.#app = app;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#working = this.#look();
    }, LOOK_MS).unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  async #look(): Promise<void> {
    try {
      await countMessages(this.#app, () => this.#isStopped);
    } catch (err) {
      this.#app.log.warn({ err }, 'messages could not be counted; trying again');
    }
    if (!this.#isStopped) this.start();
  }
}

import type { Json } from '../helpers/http.ts';

/** Requests that a test sends to a program that runs a published client. */
export interface Chat {
  /** Returns the messages of the displayed channel, read only from the client's cache. */
  screen(): Json[] | Promise<Json[]>;
  /** Sends a message to the displayed channel. */
  send(content: string): Promise<unknown>;
  /**
   * Runs the queries of two components.
   *
   * @returns Their results (`got`), and the data that each query then reads from the cache (`kept`).
   */
  components(): Promise<{ readonly got: readonly Json[]; readonly kept: readonly Json[] }>;
}

/** Values of the environment variables that the test passes to a program. */
export const {
  URL: url = '',
  USERNAME: username = '',
  PASSWORD: password = '',
  CHANNEL_ID: channelId = '',
} = process.env;

/** Answers the requests of the parent process. Exits when the parent process disconnects. */
export function answerWith(chat: Chat): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async ([name, ...args]: [keyof Chat, ...string[]]) => {
    try {
      process.send?.({ answer: (await chat[name](args[0] ?? '')) ?? null });
    } catch (error) {
      process.send?.({ error: String((error as Error).stack) });
    }
  });
  process.send?.('ready');
}

import type { Json } from '../helpers/http.ts';

/** Requests that a test sends to a client's program. */
export interface Chat {
  /** Returns the messages of the channel on the screen, from the client's cache only. */
  screen(): Json[] | Promise<Json[]>;
  /** Sends a message to the channel on the screen. */
  send(content: string): Promise<unknown>;
  /** Runs the queries of two components. Returns their results, and the data that each query reads from the cache afterwards. */
  components(): Promise<{ readonly got: readonly Json[]; readonly kept: readonly Json[] }>;
}

/** Environment variables of the programs. */
export const {
  URL: url = '',
  USERNAME: username = '',
  PASSWORD: password = '',
  CHANNEL_ID: channelId = '',
} = process.env;

/** Answers requests of the parent process, and exits when it disconnects. */
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

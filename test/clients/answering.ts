import type { Json } from '../helpers/http.ts';

/** What a client's program is asked by the test that started it. */
export interface Chat {
  /** The messages of the channel on the screen, from the client's cache alone. */
  screen(): Json[] | Promise<Json[]>;
  /** Sends to the channel on the screen. */
  send(content: string): Promise<unknown>;
  /** What the two components got, and what each reads from the cache afterwards. */
  components(): Promise<{ readonly got: readonly Json[]; readonly kept: readonly Json[] }>;
}

/** What the programs are told. */
export const {
  URL: url = '',
  USERNAME: username = '',
  PASSWORD: password = '',
  CHANNEL_ID: channelId = '',
} = process.env;

/** Answers the process that started this one, and ends with it. */
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

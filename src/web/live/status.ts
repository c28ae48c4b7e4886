import { createStore } from '../api/store.ts';

/**
 * How the page hears of what happens: `connecting` at first and after a cut, `live`, or `offline` where the browser says
 * that there is no network.
 */
export type Connection = 'connecting' | 'live' | 'offline';

export interface LiveStatus {
  readonly connection: Connection;
  /** Of the last event heard, which need not be in the cache yet: `cachedPosition`. -1 before there is one. */
  readonly position: number;
  /** How long the service took to answer when it was last asked over the socket, in milliseconds; null until it was. */
  readonly answerMs: number | null;
  readonly queueId: string | null;
}

export const liveStatus = createStore<LiveStatus>({
  connection: 'connecting',
  position: -1,
  answerMs: null,
  queueId: null,
});

/**
 * Of the last event that is in the cache and was told of; -1 before there is one. Events wait for a moment in which the page
 * is idle, so this comes after the `position` that was heard.
 */
export const cachedPosition = createStore(-1);

export const updateStatus = (part: Partial<LiveStatus>): void => liveStatus.set({ ...liveStatus.get(), ...part });

/**
 * Does something each time that the connection is there again.
 *
 * @returns What ends it.
 */
export function whenLive(act: () => void): () => void {
  let before = liveStatus.get().connection;
  return liveStatus.watch(() => {
    const { connection } = liveStatus.get();
    const isBack = connection === 'live' && before !== 'live';
    before = connection;
    if (isBack) act();
  });
}

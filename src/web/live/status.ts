import { createStore } from '../base/store.ts';

/**
 * State of the event connection: `connecting` at first and after a disconnect, `live`, or `offline` if the browser reports
 * that there is no network.
 */
export type Connection = 'connecting' | 'live' | 'offline';

export interface LiveStatus {
  readonly connection: Connection;
  /**
   * Position in the event log of the last event received; -1 if there is none. The event may not be in the cache yet: see
   * `cachedPosition`.
   */
  readonly position: number;
  /** Round-trip time of the last ping over the socket, in milliseconds; null before the first one. */
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
 * Position in the event log of the last event that the cache and the listeners have processed; -1 if there is none. Received
 * events wait until the browser is idle, so this position can be lower than `position`.
 */
export const cachedPosition = createStore(-1);

export const updateStatus = (part: Partial<LiveStatus>): void => liveStatus.set({ ...liveStatus.get(), ...part });

/** Calls a function each time the connection becomes live. @returns A function that stops the calls. */
export function whenLive(act: () => void): () => void {
  let before = liveStatus.get().connection;
  return liveStatus.watch(() => {
    const { connection } = liveStatus.get();
    const isBack = connection === 'live' && before !== 'live';
    before = connection;
    if (isBack) act();
  });
}

import { createStore } from '../base/store.ts';

/**
 * State of the event connection: `connecting` at first and after a disconnect, `live`, or `offline` if the browser reports
 * that there is no network.
 */
export type Connection = 'connecting' | 'live' | 'offline';

export const connection = createStore<Connection>('connecting');

export const queueId = createStore<string | null>(null);

/** Position in the event log of the last event that the cache and the listeners have processed; -1 if there is none. */
export const position = createStore(-1);

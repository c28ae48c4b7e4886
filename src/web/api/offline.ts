import { OFFLINE_DATA } from '../base/offline.ts';
import { createStore } from '../base/store.ts';

/** Whether the page shows data of stored responses. Such data can be older than the position in the event log. */
export const isFromStore = createStore(false);

/** Deletes the stored responses. Called when the session ends, because the next user must not see them. */
export async function forgetStored(): Promise<void> {
  // Browsers have no caches on insecure connections.
  await globalThis.caches?.delete(OFFLINE_DATA);
}

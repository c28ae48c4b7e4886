import { saveDrafts } from './drafts.ts';

/** Longest time that a reload waits for drafts to be saved. The tab keeps them in any case. */
const SAVING_MS = 2_000;
/** Session storage key with the time of the last automatic reload. */
const KEY = 'reloaded at';
/** Shortest time between two automatic reloads, so that a page that a reload does not repair does not reload forever. */
const ONCE_WITHIN_MS = 60_000;

/** Reloads the page in the service's current version. Drafts and unsent messages are kept. */
export async function reloadPage(): Promise<void> {
  await Promise.race([saveDrafts(), new Promise((resolve) => setTimeout(resolve, SAVING_MS))]);
  location.reload();
}

/** Reloads the page, unless this function has reloaded it within the last minute. */
export async function reloadOnce(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(KEY) ?? 0) < ONCE_WITHIN_MS) return;
  sessionStorage.setItem(KEY, String(Date.now()));
  await reloadPage();
}

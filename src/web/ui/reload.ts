/** Session storage key with the time of the last automatic reload. */
const KEY = 'reloaded at';
/**
 * Minimum time in milliseconds between two automatic reloads. Otherwise the page would reload forever if a reload did not
 * repair it.
 */
const ONCE_WITHIN_MS = 60_000;

type Save = () => Promise<void>;
const saves = new Set<Save>();

/** Registers a function that runs before each reload. @returns A function that removes it. */
export function beforeReload(save: Save): () => void {
  saves.add(save);
  return () => saves.delete(save);
}

/** Reloads the page, to get the current version from the service. Drafts and unsent messages stay in session storage. */
export async function reloadPage(): Promise<void> {
  await Promise.all([...saves].map((save) => save()));
  location.reload();
}

/** Reloads the page, unless this function has reloaded it within the last minute. */
export async function reloadOnce(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(KEY) ?? 0) < ONCE_WITHIN_MS) return;
  sessionStorage.setItem(KEY, String(Date.now()));
  await reloadPage();
}

import { createStore } from '../api/store.ts';

/** Where a browser shows the token of the start address, for a cookie that lets it into the demo. */
const START_PATH = '/start';

/** Whether the page was opened by a start address that is not, or no longer, that of this server. */
export const isStartRefused = createStore(false);

/**
 * Takes the token of the start address out of the address before anything else, so that no history or screen keeps it.
 *
 * @returns Whether there was one.
 */
export async function enterByStartAddress(): Promise<boolean> {
  const token = /^#start=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return false;
  history.replaceState(null, '', location.pathname);
  const body = new URLSearchParams({ token });
  const answer = await fetch(START_PATH, { method: 'POST', body }).catch(() => undefined);
  isStartRefused.set(answer?.ok !== true);
  return true;
}

import { createStore } from '../base/store.ts';

/** Endpoint that exchanges the token of the start URL for a cookie that gives access to the demo. */
const START_PATH = '/start';

/** Whether the page was opened with a start URL that the server refused, such as the URL of an earlier start. */
export const isStartRefused = createStore(false);

/**
 * Exchanges the token of the start URL for a cookie. First removes the token from the page's URL, so that neither the history
 * nor the screen shows it.
 *
 * @returns Whether there was a token.
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

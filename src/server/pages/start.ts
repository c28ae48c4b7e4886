/** Path of the request with which a page sends the token of the start URL. */
export const START_PATH = '/start';

/**
 * Script that sends the token in the start URL to the server, then reloads the page. It removes the token from the URL first,
 * so that no history, bookmark or screen contains it.
 */
export const START_SCRIPT = `
const enter = async () => {
  const token = /^#start=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, '', location.pathname);
  const body = new URLSearchParams({ token });
  const isLetIn = await fetch('${START_PATH}', { method: 'POST', body })
    .then(async (answer) => (await answer.text(), answer.ok))
    .catch(() => false);
  if (isLetIn) location.reload();
  else document.getElementById('refused').hidden = false;
};
addEventListener('hashchange', enter);
enter();
`;

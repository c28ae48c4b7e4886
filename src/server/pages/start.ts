/** Where the start page shows the token it was opened with. */
export const START_PATH = '/start';

/** Takes the token out of the address before anything else, so that no history, bookmark or screen keeps it. */
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

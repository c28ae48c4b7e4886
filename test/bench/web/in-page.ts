// Functions that run in the tested page. Each is serialized separately, so its body cannot use other declarations of this file.

/** Result of `watchFrames`, stored in the page. */
export interface Watch {
  /** Time at which a message and the text field were first present, in ms since the start of the navigation. */
  readyAt: number | undefined;
  /** Time at which the page continued after a pause of more than 5 seconds, in ms since the start of the navigation. */
  wokeAt: number | undefined;
}

declare global {
  var benchWatch: Watch;
}

/** Records when the page becomes usable and when it resumes after sleep. Runs before the page's own scripts. */
export function watchFrames(): void {
  const watch: Watch = { readyAt: undefined, wokeAt: undefined };
  globalThis.benchWatch = watch;
  const look = () => {
    if (watch.readyAt !== undefined) return;
    const isThere =
      document.querySelector('[role=feed] article') !== null && document.querySelector('textarea') !== null;
    if (isThere) requestAnimationFrame(() => (watch.readyAt ??= performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    if (now - last > 5000) watch.wokeAt = now;
    last = now;
  }, 20);
}

/** Records in `benchKeys` the time from each key stroke until the frame that shows it is painted. */
export function timeKeys(): void {
  const times: number[] = [];
  Object.assign(globalThis, { benchKeys: times });
  addEventListener(
    'keydown',
    ({ timeStamp }) => {
      requestAnimationFrame(() => {
        // Runs after the frame's style, layout and paint.
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => times.push(performance.now() - timeStamp);
        port2.postMessage(undefined);
      });
    },
    true,
  );
}

/**
 * Clicks the link of a channel in the sidebar and waits until its messages are rendered.
 *
 * @returns Duration in ms.
 */
export async function switchTo(name: string): Promise<number> {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('nav a')];
  const link = links.find(({ textContent }) => textContent?.startsWith(name));
  if (link === undefined) throw new Error(`No link to ${name}`);
  const began = performance.now();
  link.click();
  const isThere = () =>
    [...document.querySelectorAll('[role=feed] article')].some(({ textContent }) => textContent?.endsWith(name)) ||
    [...document.querySelectorAll('[role=feed] article .message-content')].some(({ textContent }) =>
      textContent?.includes(`of ${name}`),
    );
  const deadline = began + 20_000;
  while (!isThere()) {
    if (performance.now() > deadline) throw new Error(`${name} did not appear`);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}

/**
 * Scrolls up `times` times, each time until older messages are prepended. Measures how far a visible message moves meanwhile.
 *
 * @returns For each prepended page, the largest offset in pixels.
 */
export async function driftOfOlder(times: number): Promise<number[]> {
  const list = document.querySelector<HTMLElement>('[role=feed]');
  if (list === null) throw new Error('No list');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const firstId = () => list.querySelector('article')?.dataset['id'];
  const drifts: number[] = [];
  for (let i = 0; i < times; i++) {
    const before = firstId();
    list.scrollTop = 300;
    await frame();
    const inSight = [...list.querySelectorAll('article')].find(
      (one) => one.getBoundingClientRect().top > list.getBoundingClientRect().top + 20,
    );
    const id = inSight?.dataset['id'];
    const row = () => list.querySelector(`article[data-id="${id}"]`)?.getBoundingClientRect().top ?? Number.NaN;
    const top = row();
    let most = 0;
    const deadline = performance.now() + 5000;
    let framesAfter = 0;
    while (framesAfter < 20 && performance.now() < deadline) {
      await frame();
      most = Math.max(most, Math.abs(row() - top));
      if (firstId() !== before) framesAfter++;
    }
    if (framesAfter > 0) drifts.push(most);
  }
  return drifts;
}

// What runs in the page: each function is handed to it as it stands, so none uses anything from outside itself.

/** What `watchFrames` leaves in the page. */
export interface Watch {
  /** When a message and the field to write in were both there, in ms since the navigation began. */
  readyAt: number | undefined;
  /** When the page's own clock stood for more than seconds, and went on: in ms since the navigation began. */
  wokeAt: number | undefined;
}

declare global {
  var benchWatch: Watch;
}

/** Before the page's own scripts: notes when it can be used, and when it slept. */
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

/** Times each key stroke until the frame that shows it is drawn, into `benchKeys`. */
export function timeKeys(): void {
  const times: number[] = [];
  Object.assign(globalThis, { benchKeys: times });
  addEventListener(
    'keydown',
    ({ timeStamp }) => {
      requestAnimationFrame(() => {
        // After the frame's own work: style, layout, paint.
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => times.push(performance.now() - timeStamp);
        port2.postMessage(undefined);
      });
    },
    true,
  );
}

/**
 * Clicks a channel in the sidebar, and waits until its messages are drawn.
 *
 * @returns In ms.
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
    if (performance.now() > deadline) throw new Error(`${name} does not come`);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}

/**
 * Scrolls up to where older messages are put before, and watches a message that is in sight meanwhile.
 *
 * @returns How far it moved, at most, in pixels, each time that some were put before.
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

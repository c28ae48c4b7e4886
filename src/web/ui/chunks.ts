import { createStore, type Store } from '../base/store.ts';
import { untilWorthTrying } from '../base/worth-trying.ts';

// The page is built in chunks: one for the first view, and one for each other view and dialog. While the network or the service
// is unavailable, no chunk can be loaded. Once an upgrade of the service has renamed a chunk, it can never be loaded.

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];

/**
 * State of a chunk. `absent`: the chunk is not loaded yet. `failed`: the service does not respond, and the page retries to load
 * the chunk. `gone`: the service responds, but the chunk still fails to load.
 */
export type ChunkState<T> =
  | { readonly name: 'absent' | 'failed' | 'gone' }
  | { readonly name: 'loaded'; readonly module: T };

export interface Chunk<T> {
  readonly state: Store<ChunkState<T>>;
  /** Loads the chunk, and retries while the service does not respond. @param signal Stops the retries when aborted. */
  load(signal: AbortSignal): Promise<void>;
}

/** Loaders of the chunks that are not loaded yet. */
const waiting = new Set<() => Promise<unknown>>();

export function chunkOf<T>(importModule: () => Promise<T>): Chunk<T> {
  const state = createStore<ChunkState<T>>({ name: 'absent' });
  const attempt = async (): Promise<boolean> => {
    try {
      await restoreStyles();
      state.set({ name: 'loaded', module: await importModule() });
      waiting.delete(attempt);
      return true;
    } catch {
      return false;
    }
  };
  waiting.add(attempt);
  const load = async (signal: AbortSignal) => {
    if (state.get().name === 'gone') state.set({ name: 'absent' });
    let waitMs = FIRST_WAIT_MS;
    let hasResponded = false;
    while (state.get().name !== 'loaded' && !(await attempt()) && !signal.aborted) {
      // Once the service responds, the load is retried once, because the previous attempt may have failed from a network error
      // that is over.
      if (hasResponded) return state.set({ name: 'gone' });
      hasResponded = await isServiceThere();
      if (hasResponded) continue;
      state.set({ name: 'failed' });
      await untilWorthTrying(waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  };
  return { state, load };
}

/**
 * Loads all chunks while the page is idle, so that views open without the network. Stops at the first failure. Each chunk that
 * is still absent is loaded when its view opens.
 *
 * @returns A function that stops the loading.
 */
export function prefetchChunks(): () => void {
  const stopped = new AbortController();
  const next = async () => {
    for (const attempt of [...waiting]) {
      await untilIdle();
      if (stopped.signal.aborted || !navigator.onLine || !(await attempt())) return;
    }
  };
  void next();
  return () => stopped.abort();
}

/** Waits until the browser is idle, or for a fixed time if the browser has no idle callbacks. */
const untilIdle = (): Promise<unknown> =>
  new Promise((resolve) => {
    if (typeof requestIdleCallback === 'function') requestIdleCallback(resolve);
    else setTimeout(resolve, FIRST_WAIT_MS);
  });

const isServiceThere = (): Promise<boolean> =>
  fetch('/', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Addresses of the style sheets that failed to load. The bundler's loader does not request them a second time. */
const missingStyles = new Set<string>();
addEventListener('vite:preloadError', (event) => {
  const { payload } = event as Event & { readonly payload: Error };
  const [, address] = /^Unable to preload CSS for (\S+)/.exec(payload.message) ?? [];
  if (address !== undefined) missingStyles.add(address);
});

async function restoreStyles(): Promise<void> {
  for (const href of missingStyles) {
    for (const link of document.querySelectorAll(`link[href="${CSS.escape(href)}"]`)) link.remove();
    const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href });
    const loaded = new Promise((resolve, reject) => Object.assign(link, { onload: resolve, onerror: reject }));
    document.head.append(link);
    await loaded;
    missingStyles.delete(href);
  }
}

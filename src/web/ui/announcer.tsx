import { createStore, useStore } from '../api/store.ts';
import { uppermostPlace } from './uppermost.ts';

/** Our choice: what comes so soon after is said together with what came before. */
const TOGETHER_MS = 500;
/** Our choice: screen readers have heard of it by then, and a place that comes to be the uppermost does not say it again. */
const GONE_MS = 5_000;

const said = createStore({ text: '', times: 0 });
let last = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Has a screen reader say something when it is done with what it says. */
export function announce(text: string): void {
  const { text: before, times } = said.get();
  const isTogether = performance.now() - last < TOGETHER_MS;
  last = performance.now();
  said.set({ text: isTogether ? `${before}\n${text}` : text, times: times + 1 });
  clearTimeout(timer);
  timer = setTimeout(() => said.set({ ...said.get(), text: '' }), GONE_MS);
}

const useIsUppermost = uppermostPlace();

/** What `announce` speaks through: on the page, and in each dialog. */
export function Announcer() {
  const { text, times } = useStore(said);
  const isUppermost = useIsUppermost();
  return (
    <div className="only-heard" aria-live="polite">
      {/* Another element, so that the same words are said again. */}
      {isUppermost && <span key={times}>{text}</span>}
    </div>
  );
}

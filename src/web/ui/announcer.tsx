import { createStore, useStore } from '../base/store.ts';
import { uppermostPlace } from './uppermost.ts';

/** Texts that follow one another within this number of milliseconds are announced as one text. */
const TOGETHER_MS = 500;
/**
 * Time in milliseconds after which an announced text is removed. By then, screen readers have read the text. Otherwise they
 * would read it again when another dialog becomes the uppermost one.
 */
const GONE_MS = 5_000;

const said = createStore({ text: '', times: 0 });
let last = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Announces a text to screen readers, after their current speech. */
export function announce(text: string): void {
  const { text: before, times } = said.get();
  const isTogether = performance.now() - last < TOGETHER_MS;
  last = performance.now();
  said.set({ text: isTogether ? `${before}\n${text}` : text, times: times + 1 });
  clearTimeout(timer);
  timer = setTimeout(() => said.set({ ...said.get(), text: '' }), GONE_MS);
}

const useIsUppermost = uppermostPlace();

/** Live region with the text of `announce`. The page and each dialog contain one. */
export function Announcer() {
  const { text, times } = useStore(said);
  const isUppermost = useIsUppermost();
  return (
    <div className="only-heard" aria-live="polite">
      {/* A new element each time, so that the same text is announced again. */}
      {isUppermost && <span key={times}>{text}</span>}
    </div>
  );
}

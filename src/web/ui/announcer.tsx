import { createStore, useStore } from '../api/store.ts';

/** Our choice: what comes so soon after is said together with what came before. */
const TOGETHER_MS = 500;

const said = createStore({ text: '', times: 0 });
let last = 0;

/** Has a screen reader say something when it is done with what it says. */
export function announce(text: string): void {
  const { text: before, times } = said.get();
  const isTogether = performance.now() - last < TOGETHER_MS;
  last = performance.now();
  said.set({ text: isTogether ? `${before}\n${text}` : text, times: times + 1 });
}

/** What `announce` speaks through: once on the page. */
export function Announcer() {
  const { text, times } = useStore(said);
  return (
    <div className="only-heard" aria-live="polite">
      {/* Another element, so that the same words are said again. */}
      <span key={times}>{text}</span>
    </div>
  );
}

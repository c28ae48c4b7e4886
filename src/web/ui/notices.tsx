import { createStore, useStore } from '../api/store.ts';
import './notices.css';
import { uppermostPlace } from './uppermost.ts';

/** Long enough to be read. */
const SHOWN_MS = 6_000;

interface Notice {
  readonly key: number;
  readonly text: string;
}

const notices = createStore<readonly Notice[]>([]);
let last = 0;

/** Says for a moment what became of something: on the screen and to a screen reader. */
export function notify(text: string): void {
  last += 1;
  const notice = { key: last, text };
  notices.set([...notices.get().filter((one) => one.text !== text), notice]);
  setTimeout(() => notices.set(notices.get().filter((one) => one !== notice)), SHOWN_MS);
}

const useIsUppermost = uppermostPlace();

/** Where notices are: on the page, and in each dialog. */
export function Notices() {
  const isUppermost = useIsUppermost();
  const all = useStore(notices);
  return (
    // It is there before there is anything in it: what comes with its words is not said.
    <div className="notices" role="status" aria-label="Notices">
      {isUppermost &&
        all.map(({ key, text }) => (
          <p key={key} className="notice">
            {text}
          </p>
        ))}
    </div>
  );
}

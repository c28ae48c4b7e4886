import { createStore, useStore } from '../api/store.ts';
import './notices.css';

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

/** Where notices are: once on the page. */
export function Notices() {
  return (
    <div className="notices" role="status" aria-label="Notices">
      {useStore(notices).map(({ key, text }) => (
        <p key={key} className="notice">
          {text}
        </p>
      ))}
    </div>
  );
}

import { createStore, useStore } from '../base/store.ts';
import './notices.css';
import { uppermostPlace } from './uppermost.ts';

/** Time in milliseconds for which a notice is shown: long enough to be read. */
const SHOWN_MS = 6_000;

interface Notice {
  readonly key: number;
  readonly text: string;
}

const notices = createStore<readonly Notice[]>([]);
let last = 0;

/** Shows a notice for a short time, and announces it to screen readers. */
export function notify(text: string): void {
  last += 1;
  const notice = { key: last, text };
  notices.set([...notices.get().filter((one) => one.text !== text), notice]);
  setTimeout(() => notices.set(notices.get().filter((one) => one !== notice)), SHOWN_MS);
}

const useIsUppermost = uppermostPlace();

/** Live region with the notices. The page and each dialog contain one. */
export function Notices() {
  const isUppermost = useIsUppermost();
  const all = useStore(notices);
  return (
    // The live region is rendered before its text, because text inserted with its region is not announced.
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

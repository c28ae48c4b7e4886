import { useId, useLayoutEffect } from 'react';
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

/** Where notices can be, by when they came to be there. */
const places = createStore<readonly string[]>([]);

/**
 * Where notices are: on the page, and in each dialog. They are shown in the uppermost place, since of what lies below a modal
 * dialog nothing is heard, and little seen.
 */
export function Notices() {
  const id = useId();
  useLayoutEffect(() => {
    places.set([...places.get(), id]);
    return () => places.set(places.get().filter((one) => one !== id));
  }, [id]);
  const isUppermost = useStore(places, (all) => all.at(-1) === id);
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

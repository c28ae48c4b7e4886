import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import './folded.css';

/** Length of HTML, in characters, below which a message is not measured. Shorter messages are rarely high. */
const SHORT = 1_200;
/** Height in pixels above which a message is folded. Must be more than the height of folded messages in `folded.css`. */
const TALL = 480;

/** IDs of the messages that the user has unfolded. */
const unfolded = new Set<string>();

interface Props {
  readonly id: string;
  readonly html: string;
  readonly children: ReactNode;
}

/** Shows only the beginning of a very long message, with a button for the rest. */
export function Folded({ id, html, children }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const [isFolded, setFolded] = useState(false);
  const isLong = html.length > SHORT || html.split('\n').length > 20;
  // biome-ignore lint/correctness/useExhaustiveDependencies: other HTML has another height.
  useLayoutEffect(() => {
    const height = isLong ? (element.current?.firstElementChild?.scrollHeight ?? 0) : 0;
    setFolded(height > TALL && !unfolded.has(id));
  }, [id, html, isLong]);
  const unfold = () => {
    unfolded.add(id);
    setFolded(false);
  };
  return (
    <>
      <div ref={element} className="foldable" data-long={isLong} data-folded={isFolded}>
        {children}
      </div>
      {isFolded && (
        <button type="button" className="fold-button" tabIndex={-1} onClick={unfold}>
          Show more
        </button>
      )}
    </>
  );
}

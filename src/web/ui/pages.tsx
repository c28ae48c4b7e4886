import { Fragment, type MouseEvent, type ReactNode, useState } from 'react';
import { Button } from './button.tsx';

/** Which page of a list. */
export interface Place {
  /** A cursor: what it follows; null for the first page. */
  readonly after: string | null;
  /** Shows the page after it; undefined where that is shown. */
  readonly onMore: ((cursor: string) => void) | undefined;
}

interface PagesProps {
  /** Which list: of another one the first page alone is shown. */
  readonly of: string;
  /** A component that reads the page and draws its rows, `More` the last of them. */
  readonly children: (place: Place) => ReactNode;
}

/** A list of any length: a page is read when somebody wants to see it. */
export function Pages({ of, children }: PagesProps) {
  const [shown, setShown] = useState<{ readonly of: string; readonly cursors: readonly string[] }>({ of, cursors: [] });
  const cursors = shown.of === of ? shown.cursors : [];
  const onMore = (cursor: string) => setShown({ of, cursors: [...cursors, cursor] });
  return [null, ...cursors].map((after, i) => (
    <Fragment key={after}>{children({ after, onMore: i === cursors.length ? onMore : undefined })}</Fragment>
  ));
}

interface MoreProps {
  readonly place: Place;
  /** Undefined until the page is read. */
  readonly info: { readonly hasNextPage: boolean; readonly endCursor: string | null } | undefined;
  /** What it shows more of: the words on the button. */
  readonly children: string;
}

/** The row of a list that shows what follows it, where something does. */
export function More({ place: { onMore }, info, children }: MoreProps) {
  const { hasNextPage = false, endCursor = null } = info ?? {};
  if (!hasNextPage || endCursor === null || onMore === undefined) return null;
  const show = ({ currentTarget }: MouseEvent) => {
    // The button goes; who has come here by the keyboard goes on from the row before it.
    currentTarget.closest('li')?.previousElementSibling?.querySelector<HTMLElement>('a[href], button')?.focus();
    onMore(endCursor);
  };
  return (
    <li className="row">
      <Button kind="quiet" onClick={show}>
        {children}
      </Button>
    </li>
  );
}

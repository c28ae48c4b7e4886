import { Fragment, type MouseEvent, type ReactNode, useState } from 'react';
import { Button } from './button.tsx';

/** A page of a list: its start, and the function that shows the next page. */
export interface ListPage {
  /** Cursor at the end of the preceding page; null for the first page. */
  readonly after: string | null;
  /** Shows the next page. Undefined if the next page is already shown. */
  readonly onMore: ((cursor: string) => void) | undefined;
}

interface PagesProps {
  /** Identifies the list. If it changes, only the first page is shown. */
  readonly of: string;
  /** Renders the rows of one page. The last row must be a `More`. */
  readonly children: (page: ListPage) => ReactNode;
}

/** A list of any length. Each further page is fetched when the user asks for it. */
export function Pages({ of, children }: PagesProps) {
  const [shown, setShown] = useState<{ readonly of: string; readonly cursors: readonly string[] }>({ of, cursors: [] });
  const cursors = shown.of === of ? shown.cursors : [];
  const onMore = (cursor: string) => setShown({ of, cursors: [...cursors, cursor] });
  return [null, ...cursors].map((after, i) => (
    <Fragment key={after}>{children({ after, onMore: i === cursors.length ? onMore : undefined })}</Fragment>
  ));
}

interface MoreProps {
  readonly page: ListPage;
  /** Page info of the last page that is shown. Undefined until that page is loaded. */
  readonly info: { readonly hasNextPage: boolean; readonly endCursor: string | null } | undefined;
  /** Label of the button. */
  readonly children: string;
}

/** Row with a button that shows the next page. Renders nothing if there is no next page or if it is already shown. */
export function More({ page: { onMore }, info, children }: MoreProps) {
  const { hasNextPage = false, endCursor = null } = info ?? {};
  if (!hasNextPage || endCursor === null || onMore === undefined) return null;
  const show = ({ currentTarget }: MouseEvent) => {
    // The button disappears, so keyboard users continue from the row before it.
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

import type { ReactNode } from 'react';
import { clock } from '../ui/clock.ts';

interface Props {
  /** Where it belongs, or what it is called. */
  readonly title: ReactNode;
  readonly children: ReactNode;
  /** When, or what became of it. */
  readonly detail?: ReactNode;
  /** Whether it was to be sent and could not be. */
  readonly isFailed?: boolean;
  /** What can be done with it: buttons. */
  readonly actions: ReactNode;
}

/** One of what somebody has written. */
export function Item({ title, children, detail, isFailed = false, actions }: Props) {
  return (
    <li className="written">
      <div className="written-head">
        <h2>{title}</h2>
        <span className="written-detail" data-failed={isFailed}>
          {detail}
        </span>
      </div>
      <div className="written-content">{children}</div>
      <div className="written-actions">{actions}</div>
    </li>
  );
}

interface ListProps {
  /** Undefined while it is read. */
  readonly count: number | undefined;
  /** How many there are, where not all are shown. */
  readonly total?: number | null | undefined;
  /** What is said where there are none. */
  readonly empty: string;
  readonly label: string;
  readonly children: ReactNode;
}

export function ItemList({ count, total, empty, label, children }: ListProps) {
  if (count === undefined) return <p className="message-note">Loading…</p>;
  if (count === 0) return <p className="message-note">{empty}</p>;
  const rest = (total ?? count) - count;
  return (
    <>
      <ul className="written-list" aria-label={label}>
        {children}
      </ul>
      {rest > 0 && <p className="message-note">{rest} more are not shown.</p>}
    </>
  );
}

/** @param at ISO 8601. */
export const Moment = ({ at }: { readonly at: string }) => <time dateTime={at}>{momentOf(at)}</time>;

/** In words, in the reader's time. @param at ISO 8601. */
export const momentOf = (at: string): string => clock.get().moment(at);

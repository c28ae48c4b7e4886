import type { ReactNode } from 'react';
import type { Data } from '../api/use-data.ts';
import { clock } from '../ui/clock.ts';
import { NotReady } from '../ui/not-ready.tsx';

interface Props {
  /** Destination or name of the entry. */
  readonly title: ReactNode;
  readonly children: ReactNode;
  /** Time of the entry. If sending has failed, also the reason. */
  readonly detail?: ReactNode;
  /** Whether the service has failed to send the entry. */
  readonly isFailed?: boolean;
  /** Buttons that change or delete the entry. */
  readonly actions: ReactNode;
}

/** An entry in a list of drafts, scheduled messages, snippets or reminders. */
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
  readonly read: Data<unknown>;
  /** Number of entries in the list. Undefined is treated as 0. */
  readonly count: number | undefined;
  /** Total number of entries, if the list does not contain all of them. */
  readonly total?: number | null | undefined;
  /** Text that is shown if there are no entries. */
  readonly empty: string;
  readonly label: string;
  readonly children: ReactNode;
}

export function ItemList({ read, count = 0, total, empty, label, children }: ListProps) {
  if (read.state !== 'ready') return <NotReady of={read} />;
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

/** A time in the viewer's format. @param at In ISO 8601. */
export const Moment = ({ at }: { readonly at: string }) => <time dateTime={at}>{momentOf(at)}</time>;

/** Returns a time in the viewer's format, in the browser's time zone. @param at In ISO 8601. */
export const momentOf = (at: string): string => clock.get().moment(at);

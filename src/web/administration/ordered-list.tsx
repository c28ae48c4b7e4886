import type { ReactNode } from 'react';
import { IconButton } from '../ui/button.tsx';

interface Entry {
  readonly id: string;
  readonly name: string;
}

interface Props<T extends Entry> {
  readonly label: string;
  readonly entries: readonly T[];
  /** Saves the order. Undefined if the viewer cannot change it. */
  readonly onReorder: ((ids: readonly string[]) => void) | undefined;
  /** Text about an entry. */
  readonly detailOf: (entry: T) => string;
  /** Further controls of an entry. */
  readonly children?: (entry: T) => ReactNode;
  readonly empty: string;
}

/** List whose entries can be moved up and down. */
export function OrderedList<T extends Entry>({ label, entries, onReorder, detailOf, children, empty }: Props<T>) {
  const move = (from: number, to: number) => {
    const ids = entries.map(({ id }) => id);
    ids.splice(to, 0, ...ids.splice(from, 1));
    onReorder?.(ids);
  };
  return (
    <ul className="plain-list" aria-label={label}>
      {entries.map((entry, index) => (
        <li key={entry.id} className="row">
          <div className="row-body">
            <strong>
              <bdi>{entry.name}</bdi>
            </strong>
            {detailOf(entry) !== '' && <p className="soft">{detailOf(entry)}</p>}
          </div>
          <div className="row-actions">
            {onReorder !== undefined && (
              <>
                <IconButton
                  icon="up"
                  label={`Move ${entry.name} up`}
                  disabled={index === 0}
                  onClick={() => move(index, index - 1)}
                />
                <IconButton
                  icon="down"
                  label={`Move ${entry.name} down`}
                  disabled={index === entries.length - 1}
                  onClick={() => move(index, index + 1)}
                />
              </>
            )}
            {children?.(entry)}
          </div>
        </li>
      ))}
      {entries.length === 0 && <li className="row soft">{empty}</li>}
    </ul>
  );
}

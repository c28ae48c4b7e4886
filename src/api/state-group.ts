import type { App, Viewer } from '../access/context.ts';
import type { SystemGroups } from '../access/permissions/system-groups.ts';
import type { RenderOptions } from '../events/view.ts';
import type { Tx } from '../platform/db/client.ts';

/** What a data group is read with: one consistent snapshot of the database, and what the client asked for. */
export interface Snapshot {
  readonly app: App;
  /** Who registers, as they are in the snapshot. */
  readonly viewer: Viewer;
  /** The snapshot: read with this alone, and write nothing. */
  readonly db: Tx;
  /** The log's last id in the snapshot. */
  readonly position: number;
  readonly options: RenderOptions;
  /** How far back presence goes; null: as far as it does without a wish. */
  readonly presenceHistoryDays: number | null;
  /** Of the viewer's organisation. Their ids never change, so they need no reading in the snapshot. */
  readonly groups: SystemGroups;
  /**
   * What `read` gives of this snapshot. It is read once, however many groups ask for it.
   *
   * @param read The same function for all who share what it reads.
   */
  shared<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T>;
}

/** A snapshot whose groups share their reads with each other, and with no other snapshot. */
export function toSnapshot(given: Omit<Snapshot, 'shared'>): Snapshot {
  const known = new Map<unknown, Promise<unknown>>();
  const snapshot: Snapshot = {
    ...given,
    shared<T>(read: (of: Snapshot) => Promise<T>): Promise<T> {
      const reading = known.get(read) ?? read(snapshot);
      known.set(read, reading);
      // The value under a function is what that function returned.
      return reading as Promise<T>;
    },
  };
  return snapshot;
}

/**
 * A group of state that registration returns, and that events then keep current: the snapshot, with the events after
 * its id applied, equals a fresh snapshot.
 */
export interface StateGroup {
  /** The name in `fetch_event_types`. */
  readonly name: string;
  /** Another name that must be there too. */
  readonly besides?: string;
  /** A newer group of the same: who names both wants that one alone, of state and of events. */
  readonly replacedBy?: string;
  /** The group's fields, in the document's names and units; those that are JSON already, as `JsonBytes`. */
  read(snapshot: Snapshot): Promise<Record<string, unknown>>;
}

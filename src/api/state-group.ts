import type { App, Viewer } from '../access/context.ts';
import type { SystemGroups } from '../access/permissions/system-groups.ts';
import type { RenderOptions } from '../events/view.ts';
import type { Tx } from '../platform/db/client.ts';

/** The input of a state group: a consistent snapshot of the database, and the options of the registration. */
export interface Snapshot {
  readonly app: App;
  /** The user who registers the queue, as stored in the snapshot. */
  readonly viewer: Viewer;
  /** The read-only transaction of the snapshot. Groups must read only from it. */
  readonly db: Tx;
  /** Id of the last event in the snapshot. */
  readonly position: number;
  readonly options: RenderOptions;
  /** Maximum age of presences, in days; null for the default. */
  readonly presenceHistoryDays: number | null;
  /** Role groups of the viewer's organization. Their ids never change, so they are not read in the snapshot. */
  readonly groups: SystemGroups;
  /**
   * Returns the result of `read` for this snapshot. `read` runs once, however many groups need its result.
   *
   * @param read Must be the same function in all groups that share the result.
   */
  shared<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T>;
}

/** Returns a snapshot whose groups share their reads with each other, and with no other snapshot. */
export function toSnapshot(given: Omit<Snapshot, 'shared'>): Snapshot {
  const known = new Map<unknown, Promise<unknown>>();
  const snapshot: Snapshot = {
    ...given,
    shared<T>(read: (of: Snapshot) => Promise<T>): Promise<T> {
      const reading = known.get(read) ?? read(snapshot);
      known.set(read, reading);
      // The cast is safe: the value stored for a function is the result of that function.
      return reading as Promise<T>;
    },
  };
  return snapshot;
}

/**
 * A group of state that a registration returns and that events then keep current. The snapshot with all later events applied
 * equals a new snapshot.
 */
export interface StateGroup {
  /** Name of the group in `fetch_event_types`. */
  readonly name: string;
  /** Another name that must be in `fetch_event_types` as well. */
  readonly besides?: string;
  /** A newer group with the same state. If a client requests both names, it gets only the newer one, for state and for events. */
  readonly replacedBy?: string;
  /**
   * Reads the group's fields, in the documented names and units. Fields that are already JSON are returned as `JsonBytes`.
   */
  read(snapshot: Snapshot): Promise<Record<string, unknown>>;
}

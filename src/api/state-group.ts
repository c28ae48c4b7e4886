import type { Runtime, Viewer } from '../access/context.ts';
import type { SystemGroups } from '../access/system-groups.ts';
import type { RenderOptions } from '../events/view.ts';
import type { Tx } from '../platform/db/client.ts';

/** The input of a state group: a consistent snapshot of the database, and the options of the queue registration. */
export interface Snapshot {
  readonly app: Runtime;
  /** The user who registers the queue, as stored in the snapshot. */
  readonly viewer: Viewer;
  /** The read-only transaction of the snapshot. State groups must read only from this transaction. */
  readonly db: Tx;
  /** Id of the last event whose changes the snapshot contains. */
  readonly position: number;
  readonly options: RenderOptions;
  /** Maximum age of the presences to return, in days. Older ones are omitted. Null: 14 days. */
  readonly presenceHistoryDays: number | null;
  /**
   * The role groups of the viewer's organization, such as its administrators. Their ids never change, so they are not read from
   * the snapshot.
   */
  readonly groups: SystemGroups;
  /**
   * Returns the result of `read` for this snapshot. `read` runs once, however many state groups need its result.
   *
   * @param read Must be the same function object in all state groups that share the result.
   */
  shared<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T>;
}

/** Returns the given snapshot with the method `shared`, which caches results for this snapshot only. */
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
 * A part of the initial state that the registration of an event queue returns, such as the channels. If a client applies all
 * later events to this part, the result equals the state that a new registration would return.
 */
export interface StateGroup {
  /** Name by which clients request the group in `fetch_event_types`. */
  readonly name: string;
  /** A second name. If set, the group is returned only if `fetch_event_types` contains both names. */
  readonly besides?: string;
  /**
   * Name of a newer group that replaces this group. If a client requests both names, it gets only the state and events of the
   * newer group.
   */
  readonly replacedBy?: string;
  /**
   * Returns the group's fields from the snapshot, with the names and units of the REST documentation. A field that is already
   * serialized JSON is returned as `JsonBytes`.
   */
  read(snapshot: Snapshot): Promise<Record<string, unknown>>;
}

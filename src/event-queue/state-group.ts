import type { App, Viewer } from '../app.ts';
import type { Tx } from '../db/client.ts';
import type { RenderOptions } from '../events/view.ts';

/** What a data group is read with: one consistent snapshot of the database, and what the client asked for. */
export interface Snapshot {
  readonly app: App;
  /** Who registers, as they are in the snapshot. */
  readonly viewer: Viewer;
  /** The snapshot: read with this alone, and write nothing. */
  readonly db: Tx;
  readonly options: RenderOptions;
}

/**
 * A group of state that registration returns, and that events then keep current: the snapshot, with the events after
 * its id applied, equals a fresh snapshot.
 *
 * @see registration-and-events companion 1.4
 */
export interface StateGroup {
  /** The name in `fetch_event_types`. */
  readonly name: string;
  /** The group's fields, in the document's names and units. */
  read(snapshot: Snapshot): Promise<Record<string, unknown>>;
}

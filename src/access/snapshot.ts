import { requireLive } from '../events/context.ts';
import { readCounter } from '../events/log-reads.ts';
import { type Tx, withinTransaction } from '../platform/db/client.ts';
import { transaction } from '../platform/db/rows.ts';
import { readAccount } from './accounts.ts';
import type { Ctx, LiveWork, Snapshot, Viewer } from './context.ts';
import { requireActive } from './sign-in.ts';

/**
 * Time limits of a snapshot's transaction, in milliseconds: for the wait for a connection, and for the reads. Beyond them, the
 * transaction fails. Reading the state of any organization takes less time, including yields to the event loop.
 */
const LIMITS = { maxWait: 5_000, timeout: 30_000 };

/** A database snapshot of an organization's state. */
export interface Moment {
  /** Reads the data that was committed when the snapshot was taken, and nothing later. Read-only. */
  readonly db: Tx;
  /** The last id of the log in the snapshot. The state includes the effect of every event up to it, and of none after it. */
  readonly position: number;
  /** Returns the viewer as stored in the snapshot. Their role may have changed since they signed in. */
  viewer(): Promise<Viewer>;
}

/**
 * Calls `read` with a database snapshot and the log's last id in the snapshot, and returns the result. A snapshot waits for no
 * change, and no change waits for a snapshot. But a snapshot holds a connection until `read` completes, so `database.snapshots`
 * limits the concurrent snapshots per organization.
 *
 * @param read Must use only the `db` of the snapshot.
 * @throws RequestTimeoutError if `database.snapshots` grants no permit in time.
 */
export async function readOnSnapshot<T>(
  { work, viewer }: Pick<Ctx, 'work' | 'viewer'>,
  read: (moment: Moment) => Promise<T>,
): Promise<T> {
  const { database, db: client } = requireLive(work).app;
  const reading = () =>
    transaction(
      client,
      async (db) => {
        await db.$executeRaw`SET TRANSACTION READ ONLY`;
        const { lastId } = await readCounter(db, viewer.organization.id);
        return read({ db, position: lastId, viewer: () => viewerIn(db, viewer) });
      },
      { isolationLevel: 'RepeatableRead', ...LIMITS },
    );
  return database.snapshots.run(viewer.organization.id, () => withinTransaction(reading));
}

async function viewerIn(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.organization.id, viewer.id);
  return { ...viewer, ...account, role: account.user.role };
}

/**
 * Answers a request from one database snapshot, whatever services the request calls. In-memory log tails, queues and changes
 * are refused: they need a second connection, and the embedded database has only one.
 *
 * @param answer Receives the viewer as stored in the snapshot, and a unit of work that reads from the snapshot. Actions that
 *   `answer` defers with `afterwards` run after `answer` has returned. They do not run if `answer` throws.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the viewer could no longer sign in.
 * @throws RequestTimeoutError if `database.snapshots` grants no permit in time.
 */
export async function answerAtOnce<T>(ctx: Ctx, answer: (ctx: Ctx) => Promise<T>): Promise<T> {
  const work = requireLive(ctx.work);
  const deferred: ((work: LiveWork) => Promise<unknown>)[] = [];
  const reply = await readOnSnapshot({ work, viewer: ctx.viewer }, async ({ db, position, viewer: readViewer }) => {
    const viewer = await readViewer();
    requireActive(viewer);
    const snapshot: Snapshot = { position, afterwards: (act) => void deferred.push(act) };
    return answer({ ...ctx, viewer, work: { db, snapshot } });
  });
  for (const act of deferred) await act(work);
  return reply;
}

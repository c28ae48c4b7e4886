import { readCounter } from '../events/log-reads.ts';
import { type Db, type Tx, withinTransaction } from '../platform/db/client.ts';
import { transaction } from '../platform/db/rows.ts';
import { BadRequestError } from '../platform/errors.ts';
import { readAccount } from './accounts.ts';
import type { App, Ctx, Snapshot, Viewer } from './context.ts';
import { requireActive } from './sign-in.ts';

/**
 * Time limits of the transaction, in milliseconds: longer than reading the state of any organization, with yields in between.
 */
const LIMITS = { maxWait: 5_000, timeout: 30_000 };

/** A database snapshot of an organization's state. */
export interface Moment {
  /** Reads the data that was committed when the snapshot was taken, and nothing later. Read-only. */
  readonly db: Tx;
  /** The last id of the log in the snapshot. The state includes the effect of every event up to it, and of none after it. */
  readonly position: number;
  /** Returns the viewer in the snapshot. Their role may have changed since they signed in. */
  viewer(): Promise<Viewer>;
}

/**
 * Calls `read` with a database snapshot and the position of the log in it, and returns the result. A snapshot waits for no
 * change, and no change waits for it. But it holds a connection until it completes, so `database.snapshots` limits the
 * concurrent snapshots per organization.
 *
 * @param read Must use only the `db` of the snapshot.
 * @throws RequestTimeoutError if no permit is granted in time.
 */
export function readOnSnapshot<T>({ app, viewer }: Ctx, read: (moment: Moment) => Promise<T>): Promise<T> {
  const reading = () =>
    transaction(
      app.db,
      async (db) => {
        await db.$executeRaw`SET TRANSACTION READ ONLY`;
        const { lastId } = await readCounter(db, viewer.realm.id);
        return read({ db, position: lastId, viewer: () => viewerIn(db, viewer) });
      },
      { isolationLevel: 'RepeatableRead', ...LIMITS },
    );
  return app.database.snapshots.run(viewer.realm.id, () => withinTransaction(reading));
}

async function viewerIn(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.realm.id, viewer.id);
  return { ...viewer, ...account, role: account.user.role };
}

/**
 * Answers a request from one database snapshot, whatever services it calls. In-memory log tails, queues and changes are
 * refused: they need other connections, of which the embedded database has none.
 *
 * @param answer Receives the viewer in the snapshot, and an app that reads from it. Work that it defers with `afterwards` runs
 *   after it has returned, and does not run if it throws.
 * @throws RealmDeactivatedError, UserDeactivatedError if the viewer could no longer sign in.
 * @throws RequestTimeoutError if no permit is granted in time.
 */
export async function answerAtOnce<T>(ctx: Ctx, answer: (ctx: Ctx) => Promise<T>): Promise<T> {
  const left: ((app: App) => Promise<unknown>)[] = [];
  const reply = await readOnSnapshot(ctx, async ({ db, position, viewer: readViewer }) => {
    const viewer = await readViewer();
    requireActive(viewer);
    const snapshot: Snapshot = { position, afterwards: (act) => void left.push(act) };
    // A transaction can do everything that a client can, except begin another transaction.
    const app = { ...ctx.app, db: db as Db, snapshot, hub: NO_PART, queues: NO_PART, database: NO_PART };
    return answer({ ...ctx, viewer, app });
  });
  for (const act of left) await act(ctx.app);
  return reply;
}

/** A placeholder for services that are not part of a snapshot: every access throws. */
const NO_PART = new Proxy(
  {},
  {
    get() {
      throw new BadRequestError('This field is not part of the snapshot: select it in a separate operation');
    },
  },
) as never;

import { readCounter } from '../events/log-reads.ts';
import { type Db, type Tx, withinTransaction } from '../platform/db/client.ts';
import { transaction } from '../platform/db/rows.ts';
import { BadRequestError } from '../platform/errors.ts';
import { readAccount } from './accounts.ts';
import type { App, Ctx, Snapshot, Viewer } from './context.ts';
import { requireActive } from './sign-in.ts';

/** Our choice: longer than the state of any organisation takes to read, with others let in between. */
const LIMITS = { maxWait: 5_000, timeout: 30_000 };

/** The state of an organisation at one moment. */
export interface Moment {
  /** Sees what was committed by then, and nothing later. Reads only. */
  readonly db: Tx;
  /** The log's last id: what later events tell of is not in the state, and all else is. */
  readonly position: number;
  /** The viewer, who may have got another role since they signed in. */
  viewer(): Promise<Viewer>;
}

/**
 * Reads what is so at one moment, and where the log stands. It waits for no change, and none waits for it; but it has a
 * connection until it is over, so that of each organisation some are read at a time.
 *
 * @param read Must use the moment's `db` alone.
 * @throws RequestTimeoutError when its turn does not come in time.
 */
export function readAtOnce<T>({ app, viewer }: Ctx, read: (moment: Moment) => Promise<T>): Promise<T> {
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
  return app.database.snapshots.take(viewer.realm.id, () => withinTransaction(reading));
}

async function viewerIn(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.realm.id, viewer.id);
  return { ...viewer, ...account, role: account.user.role };
}

/**
 * Answers a request from the state at one moment, whichever services it asks. What is no part of it is refused: the log's
 * window, queues and changes are asked for on other connections, of which the embedded database has none.
 *
 * @param answer Given the viewer as of the moment, and the app that reads there. What it leaves for afterwards is done when
 *   it has answered, and not when it throws.
 * @throws RealmDeactivatedError, UserDeactivatedError when the viewer could not sign in any more.
 * @throws RequestTimeoutError when its turn does not come in time.
 */
export async function answerAtOnce<T>(ctx: Ctx, answer: (ctx: Ctx) => Promise<T>): Promise<T> {
  const left: ((app: App) => Promise<unknown>)[] = [];
  const reply = await readAtOnce(ctx, async ({ db, position, viewer: readViewer }) => {
    const viewer = await readViewer();
    requireActive(viewer);
    const snapshot: Snapshot = { position, afterwards: (act) => void left.push(act) };
    // A transaction can do all a client can, but begin another.
    const app = { ...ctx.app, db: db as Db, snapshot, hub: NO_PART, queues: NO_PART, database: NO_PART };
    return answer({ ...ctx, viewer, app });
  });
  for (const act of left) await act(ctx.app);
  return reply;
}

/** What is not read at one moment. */
const NO_PART = new Proxy(
  {},
  {
    get() {
      throw new BadRequestError('This is no part of the state at one moment: ask for it in an operation of its own');
    },
  },
) as never;

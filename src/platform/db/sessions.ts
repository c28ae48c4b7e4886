import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';

/** The address leads to a server that takes no changes: a standby, which may be promoted in a moment. */
export class StandbyError extends Error {
  override name = 'StandbyError';
  /** As of a server that is only just starting, whose message the ORM passes on. */
  readonly code = '57P03';
  readonly severity = 'FATAL';

  constructor() {
    super('This is a standby, which takes no changes. Name the primary by DATABASE_URL, or promote this one.');
  }
}

/** Our choice: more than making a connection takes on a busy machine. */
const CONNECT_WITHIN_MS = 5_000;
/** Our choice: of a statement that takes longer it is asked whether its server still knows of it. */
const SILENCE_MS = 3_000;

/** What the driver has, and its types do not tell. */
interface Inside {
  readonly connection: EventEmitter & { readonly stream: Socket };
  readonly connectionParameters: { application_name?: string };
  /** Not while a statement is under way. */
  readonly readyForQuery: boolean;
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/**
 * A connection to PostgreSQL, to a server that takes changes. A standby is not read either: what was acknowledged may not
 * have come there yet.
 *
 * When the database moves to another server, nobody may tell of it: what is sent to the one that is gone is never
 * answered, for a quarter of an hour by the rules of the network. So when a statement is silent for long, the server that
 * the address leads to is asked for the connection, by its name; and one that it does not know is given up.
 */
export class Session extends pg.Client {
  readonly #name = `chat-${randomBytes(12).toString('hex')}`;
  readonly #config: pg.ClientConfig;
  #isStandby = false;

  constructor(config: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_WITHIN_MS });
    this.#config = config;
    const { connection, connectionParameters: parameters } = this.#inside;
    // Of a long one the server keeps the beginning.
    parameters.application_name = `${this.#name} ${parameters.application_name ?? ''}`.trim();
    // It is the statement that fails.
    this.on('error', () => {});
    connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'in_hot_standby') this.#isStandby = parameterValue === 'on';
    });
    connection.once('readyForQuery', () => {
      // Not as an argument of `setTimeout`, which takes it for the first silence alone.
      connection.stream.on('timeout', () => void this.#heardNothing());
      connection.stream.setTimeout(SILENCE_MS);
    });
  }

  /**
   * To be called when it is connected.
   *
   * @throws StandbyError when its server takes no changes.
   */
  requirePrimary(): void {
    if (this.#isStandby) throw new StandbyError();
  }

  get #inside(): Inside {
    return this as unknown as Inside;
  }

  async #heardNothing(): Promise<void> {
    const { stream } = this.#inside.connection;
    const isWaiting = () => !this.#inside.readyForQuery && !stream.destroyed;
    const isKnown = !isWaiting() || (await knows(this.#config, this.#name).catch(() => true));
    if (!isKnown && isWaiting()) stream.destroy(new Error('Connection terminated: the database does not know of it'));
    // It is told once, and what is sent later does not begin it anew.
    else if (!stream.destroyed) stream.setTimeout(SILENCE_MS);
  }
}

/** Whether the server to which the address leads has a connection of this name. */
async function knows({ connectionString }: pg.ClientConfig, name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: SILENCE_MS, query_timeout: SILENCE_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_stat_activity WHERE starts_with(application_name, $1)', [
      name,
    ]);
    return rowCount !== 0;
  } finally {
    await client.end().catch(() => {});
  }
}

/** A connection besides those of the pool, for `work`. */
export async function withSession<T>(connectionString: string, work: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session({ connectionString });
  try {
    await session.connect();
    session.requirePrimary();
    return await work(session);
  } finally {
    await session.end().catch(() => {});
  }
}

/** A pooler stands before the database that gives a statement whichever connection is free. */
export class PooledDatabaseError extends Error {
  override name = 'PooledDatabaseError';

  constructor() {
    super(
      'DATABASE_URL leads to a connection pooler that shares connections by the transaction. Name PostgreSQL itself, or a ' +
        'pool in session mode: prepared statements, LISTEN and the lock for migrations belong to a session, which the ' +
        'service would share with others.',
    );
  }
}

/** Our choice: with others at the same pooler, one look could find two connections that are free by chance. */
const LOOKS = 3;

/**
 * Makes sure that a connection is a session: that all its statements go to one process of the server, and those of another
 * connection to another.
 *
 * @throws PooledDatabaseError when it is not.
 */
export async function requireSessions(connectionString: string): Promise<void> {
  await withSession(connectionString, (one) =>
    withSession(connectionString, async (other) => {
      const [ofOne, ofOther] = [new Set<string>(), new Set<string>()];
      for (let look = 0; look < LOOKS; look++) {
        ofOne.add(await processOf(one));
        ofOther.add(await processOf(other));
      }
      const [first] = ofOne;
      if (ofOne.size > 1 || ofOther.size > 1 || ofOther.has(first ?? '')) throw new PooledDatabaseError();
    }),
  );
}

/** Processes of two servers may have the same number. */
async function processOf(session: Session): Promise<string> {
  const { rows } = await session.query(`SELECT pg_backend_pid() || ' ' || pg_postmaster_start_time() AS process`);
  return rows[0].process;
}

import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { applySettings, SESSION_SETTINGS } from './session-settings.ts';

/** Thrown if the server accepts no changes: it is a standby, which can be promoted at any time. */
export class StandbyError extends Error {
  override name = 'StandbyError';
  /** SQLSTATE of a server that is starting. The ORM passes on the message of an error with this code. */
  readonly code = '57P03';
  readonly severity = 'FATAL';

  constructor() {
    super(
      'The database is a standby, which accepts no changes. Set DATABASE_URL to the primary, or promote the standby.',
    );
  }
}

/**
 * Maximum time for connecting, in milliseconds: longer than connecting takes on a machine under load. Afterwards, connecting
 * fails.
 */
const CONNECT_WITHIN_MS = 5_000;
/**
 * Maximum time without a reply to a statement, in milliseconds. After that time, a query on another connection checks whether
 * the server still has this connection.
 */
const SILENCE_MS = 3_000;

/**
 * Part of the names of connections. It differs from that of earlier versions, which do not know organizations that move between
 * databases: `org move` refuses to run beside their nodes.
 */
const GENERATION = 'b';

/** Members of the driver's client that the driver's types do not declare. */
interface Inside {
  readonly connection: EventEmitter & { readonly stream: Socket };
  readonly connectionParameters: { application_name?: string; query_timeout?: number | undefined };
  /** Whether the connection can run a statement. False while a statement is in progress. */
  readonly readyForQuery: boolean;
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/**
 * A connection to a PostgreSQL server that accepts changes. On a standby, `prepare` throws an error, because the data of a
 * standby may lack acknowledged changes.
 *
 * If the database moves to another server, the old connection may stay open without any reply. The operating system reports
 * such a broken connection only after a quarter of an hour. So if a statement gets no reply within `SILENCE_MS`, this class
 * opens another connection to the configured address. If the server there has no connection with the name of this session, this
 * connection is closed.
 */
export class Session extends pg.Client {
  readonly #name = `chat-${randomBytes(12).toString('hex')}-${GENERATION}`;
  readonly #config: pg.ClientConfig;
  #isStandby = false;

  constructor(config: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_WITHIN_MS });
    this.#config = config;
    const { connection, connectionParameters: parameters } = this.#inside;
    // The server truncates long names, and keeps the beginning.
    parameters.application_name = `${this.#name} ${parameters.application_name ?? ''}`.trim();
    // The driver prefers `query_timeout` of the connection string, so its own field is set here.
    parameters.query_timeout = config.query_timeout;
    // Ignores errors here: the driver rejects the statement in progress with the same error.
    this.on('error', () => {});
    connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'in_hot_standby') this.#isStandby = parameterValue === 'on';
    });
    connection.once('readyForQuery', () => {
      // The handler is not passed to `setTimeout`, which would call it for the first timeout only.
      connection.stream.on('timeout', () => void this.#checkConnection());
      connection.stream.setTimeout(SILENCE_MS);
    });
  }

  /**
   * Applies the service's settings and `settings` to the session. Call it after connecting.
   *
   * @throws StandbyError if the server does not accept changes.
   */
  async prepare(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.#isStandby) throw new StandbyError();
    const { application_name = this.#name } = this.#inside.connectionParameters;
    await applySettings(this, { ...SESSION_SETTINGS, application_name, ...settings });
  }

  get #inside(): Inside {
    return this as unknown as Inside;
  }

  async #checkConnection(): Promise<void> {
    const { stream } = this.#inside.connection;
    const isWaiting = () => !this.#inside.readyForQuery && !stream.destroyed;
    const isKnown = !isWaiting() || (await hasConnection(this.#config, this.#name).catch(() => true));
    if (!isKnown && isWaiting()) stream.destroy(new Error('Connection terminated: the server no longer has it'));
    // The timeout fires only once, and later traffic does not restart it.
    else if (!stream.destroyed) stream.setTimeout(SILENCE_MS);
  }
}

/** Returns whether the server that now has the configured address has a connection of this name. */
async function hasConnection({ connectionString }: pg.ClientConfig, name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: SILENCE_MS, query_timeout: SILENCE_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    await applySettings(client, { statement_timeout: '0' });
    const { rowCount } = await client.query('SELECT FROM pg_stat_activity WHERE starts_with(application_name, $1)', [
      name,
    ]);
    return rowCount !== 0;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Runs `work` with a connection outside the pool, to which the service's settings and `settings` are applied. Resolves to the
 * result of `work`.
 */
export async function withSession<T>(
  connectionString: string,
  work: (session: Session) => Promise<T>,
  settings: Readonly<Record<string, string>> = {},
): Promise<T> {
  const session = new Session({ connectionString });
  try {
    await session.connect();
    await session.prepare(settings);
    return await work(session);
  } finally {
    await session.end().catch(() => {});
  }
}

/** Thrown if a connection pooler sends the statements of one session to any free connection. */
export class PooledDatabaseError extends Error {
  override name = 'PooledDatabaseError';

  constructor() {
    super(
      'DATABASE_URL leads to a connection pooler in transaction mode. Use PostgreSQL directly, or a pool in session mode: ' +
        'prepared statements, LISTEN and the lock for migrations belong to a session, which the service would share with ' +
        'other clients.',
    );
  }
}

/**
 * Number of times that `requireSessions` compares two connections. If a pooler has other clients, a single comparison could
 * succeed by chance.
 */
const LOOKS = 3;

/**
 * Checks that each connection is a session of its own: one server process runs all statements of the connection, and no
 * statement of another connection.
 *
 * @throws PooledDatabaseError if a connection pooler shares sessions between connections.
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

/**
 * Returns the process id of a session's PostgreSQL backend, with the start time of its server, because backends of two servers
 * can have the same process id.
 */
async function processOf(session: Session): Promise<string> {
  const { rows } = await session.query(`SELECT pg_backend_pid() || ' ' || pg_postmaster_start_time() AS process`);
  return rows[0].process;
}

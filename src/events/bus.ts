import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import { Session } from '../platform/db/sessions.ts';
import { REDIS_PATIENCE_MS, RedisBreaker } from '../platform/redis-breaker.ts';
import { RedisConnection } from '../platform/redis-connection.ts';
import { redisPrefix } from '../platform/redis-names.ts';

/**
 * Notifications between nodes, called hints. A hint says only that the logs of some organizations have grown. A hint may get
 * lost.
 */
export interface Bus {
  /** Notifies the other nodes soon. Never waits and never throws. */
  publish(organizationId: number): void;
  /** Registers a callback that runs for each organization in a hint from another node. */
  onHint(listen: (organizationId: number) => void): void;
  close(): Promise<void>;
}

/** Name of the channel on PostgreSQL and, after this service's prefix, on Redis. */
const CHANNEL = 'event_log';
/**
 * Time, in milliseconds, for which hints are collected and then sent as one. Each sent hint causes a read on every node, and
 * NOTIFY takes a lock that all commits share.
 */
const DEBOUNCE_MS = 10;
const RECONNECT_MS = 1_000;
/**
 * Maximum interval, in milliseconds, between queries on the connection that listens for hints. These queries detect a dead
 * connection.
 */
const LISTENING_CHECK_MS = 5_000;
/**
 * Maximum number of organizations in one hint: a NOTIFY payload holds 8,000 bytes. Further organizations are sent with the next
 * hint.
 */
const ORGANIZATIONS_PER_HINT = 500;

/**
 * Opens a bus on Redis if `REDIS_URL` is set, else on LISTEN/NOTIFY of PostgreSQL. The embedded database has only one node, so
 * its bus does nothing.
 */
export function openBus(config: Config, log: Logger): Bus {
  if (config.redisUrl !== undefined)
    return new DebouncedBus(redisWire(config.redisUrl, `${redisPrefix(config)}${CHANNEL}`, log));
  if (config.databaseUrl !== undefined) return new DebouncedBus(postgresWire(config.databaseUrl, log));
  return { publish() {}, onHint() {}, async close() {} };
}

/** A transport that sends texts from one node to all other nodes. */
interface Wire {
  send(text: string): void;
  receive(listen: (text: string) => void): void;
  close(): Promise<void>;
}

class DebouncedBus implements Bus {
  readonly #wire: Wire;
  readonly #node = randomUUID();
  readonly #waiting = new Set<number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  publish(organizationId: number): void {
    this.#waiting.add(organizationId);
    this.#timer ??= setTimeout(() => this.#send(), DEBOUNCE_MS).unref();
  }

  #send(): void {
    this.#timer = undefined;
    const realms = [...this.#waiting].slice(0, ORGANIZATIONS_PER_HINT);
    for (const organizationId of realms) this.#waiting.delete(organizationId);
    this.#wire.send(JSON.stringify({ node: this.#node, realms }));
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#send(), DEBOUNCE_MS).unref();
  }

  onHint(listen: (organizationId: number) => void): void {
    this.#wire.receive((text) => {
      const hint = readHint(text);
      if (hint !== undefined && hint.node !== this.#node)
        for (const organizationId of hint.realms) listen(organizationId);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#wire.close();
  }
}

/** Parses a hint. Returns undefined for any other text: every client of the database can write to the channel. */
function readHint(text: string): { node: unknown; realms: readonly number[] } | undefined {
  try {
    const { node, realms } = JSON.parse(text) as { node: unknown; realms: unknown };
    return Array.isArray(realms) ? { node, realms: realms.filter(Number.isSafeInteger) } : undefined;
  } catch {
    return undefined;
  }
}

function redisWire(url: string, channel: string, log: Logger): Wire {
  // Hints that cannot be sent now are not queued, because nodes compare the counters every second anyway.
  const sender = new RedisConnection(
    url,
    { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: REDIS_PATIENCE_MS },
    (err) => log.warn({ err }, 'redis unavailable'),
  );
  // While Redis is unavailable, the breaker drops hints immediately. Otherwise unsent hints would accumulate in memory.
  const breaker = new RedisBreaker(sender.redis, { log, without: 'nodes check the event log once a second' });
  const receiver = new RedisConnection(url, { maxRetriesPerRequest: null }, (err) =>
    log.warn({ err }, 'redis subscription failed'),
  );
  return {
    send(text) {
      // The breaker logs the errors that it rejects with.
      breaker.ask(() => sender.redis.publish(channel, text)).catch(() => {});
    },
    receive(listen) {
      receiver.redis.on('message', (_channel: string, text: string) => listen(text));
      receiver.redis.subscribe(channel).catch((error: Error) => receiver.report(error));
    },
    async close() {
      breaker.close();
      sender.close();
      receiver.close();
    },
  };
}

/**
 * Opens a dedicated connection, because LISTEN is bound to a connection, and NOTIFY must not run in the transactions that write
 * events.
 */
function postgresWire(connectionString: string, log: Logger): Wire {
  let client: Session | undefined;
  let closed = false;
  let sending = Promise.resolve();
  let listen: (text: string) => void = () => {};
  const connect = async (): Promise<void> => {
    const fresh = new Session({ connectionString });
    let isOver = false;
    const again = () => {
      // `again` is called twice if the connection ends during its first queries.
      if (isOver) return;
      isOver = true;
      if (client === fresh) client = undefined;
      fresh.removeAllListeners('end');
      fresh.end().catch(() => {});
      if (!closed) setTimeout(() => void connect(), RECONNECT_MS).unref();
    };
    fresh.on('error', (err) => log.warn({ err }, 'notification connection failed, reconnecting'));
    fresh.once('end', again);
    fresh.on('notification', ({ payload }) => listen(payload ?? ''));
    try {
      await fresh.connect();
      await fresh.prepare();
      await fresh.query(`LISTEN ${CHANNEL}`);
      client = fresh;
      // If the bus was closed meanwhile, an open connection would keep the process alive.
      if (closed) await fresh.end();
    } catch (err) {
      if (!closed) log.warn({ err }, 'listening for notifications failed, retrying');
      again();
    }
  };
  void connect();
  // Runs queries one after another: a connection runs only one query at a time.
  const run = (sql: string, values: string[] = []) => {
    sending = sending.then(async () => {
      await client?.query(sql, values).catch(() => {});
    });
  };
  const check = setInterval(() => run('SELECT 1'), LISTENING_CHECK_MS).unref();
  return {
    send: (text) => run('SELECT pg_notify($1, $2)', [CHANNEL, text]),
    receive(to) {
      listen = to;
    },
    async close() {
      closed = true;
      clearInterval(check);
      await client?.end().catch(() => {});
    },
  };
}

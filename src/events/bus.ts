import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import { Session } from '../platform/db/sessions.ts';
import { REDIS_PATIENCE_MS, RedisBreaker } from '../platform/redis-breaker.ts';
import { redisPrefix } from '../platform/redis-names.ts';

/** Wake-ups between nodes. A hint says that a realm's log has grown; it carries nothing and may get lost. */
export interface Bus {
  /** Tells the other nodes, soon; never waits and never throws. */
  publish(realmId: number): void;
  /** Called for each realm another node told of. */
  onHint(listen: (realmId: number) => void): void;
  close(): Promise<void>;
}

/** The channel's name, on PostgreSQL and, behind this service's prefix, on Redis. */
const CHANNEL = 'event_log';
/** Hints of this long go out as one. A hint costs every node a read, and NOTIFY a lock that all commits share. */
const DEBOUNCE_MS = 10;
const RECONNECT_MS = 1_000;
/** How often the connection for them is used at the least: one that is dead is found out by that. */
const LISTENING_CHECK_MS = 5_000;
/** NOTIFY takes 8,000 bytes; the rest waits for the next turn. */
const REALMS_PER_HINT = 500;

/** Redis where `REDIS_URL` names one, else PostgreSQL's own LISTEN/NOTIFY; the embedded database has one node only. */
export function openBus(config: Config, log: Logger): Bus {
  if (config.redisUrl !== undefined)
    return new DebouncedBus(redisWire(config.redisUrl, `${redisPrefix(config)}${CHANNEL}`, log));
  if (config.databaseUrl !== undefined) return new DebouncedBus(postgresWire(config.databaseUrl, log));
  return { publish() {}, onHint() {}, async close() {} };
}

/** What carries texts between nodes. */
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

  publish(realmId: number): void {
    this.#waiting.add(realmId);
    this.#timer ??= setTimeout(() => this.#send(), DEBOUNCE_MS).unref();
  }

  #send(): void {
    this.#timer = undefined;
    const realms = [...this.#waiting].slice(0, REALMS_PER_HINT);
    for (const realmId of realms) this.#waiting.delete(realmId);
    this.#wire.send(JSON.stringify({ node: this.#node, realms }));
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#send(), DEBOUNCE_MS).unref();
  }

  onHint(listen: (realmId: number) => void): void {
    this.#wire.receive((text) => {
      const hint = readHint(text);
      if (hint !== undefined && hint.node !== this.#node) for (const realmId of hint.realms) listen(realmId);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#wire.close();
  }
}

/** Undefined for what is not a hint: anybody with access to the database may write to the channel. */
function readHint(text: string): { node: unknown; realms: readonly number[] } | undefined {
  try {
    const { node, realms } = JSON.parse(text) as { node: unknown; realms: unknown };
    return Array.isArray(realms) ? { node, realms: realms.filter(Number.isSafeInteger) } : undefined;
  } catch {
    return undefined;
  }
}

function redisWire(url: string, channel: string, log: Logger): Wire {
  // A hint that cannot go out now is of no use later: the counters are compared every second anyway.
  const sender = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: REDIS_PATIENCE_MS,
  });
  // Nobody waits for hints, but what nobody takes would pile up here.
  const breaker = new RedisBreaker(sender, { log, without: 'nodes look by themselves once a second' });
  const receiver = new Redis(url, { maxRetriesPerRequest: null });
  for (const redis of [sender, receiver]) redis.on('error', (err: Error) => log.warn({ err }, 'Redis is out of reach'));
  return {
    send(text) {
      breaker.ask(() => sender.publish(channel, text)).catch(() => {});
    },
    receive(listen) {
      receiver.on('message', (_channel: string, text: string) => listen(text));
      receiver.subscribe(channel).catch((err: unknown) => log.warn({ err }, 'could not subscribe to wake-ups'));
    },
    async close() {
      breaker.close();
      sender.disconnect();
      receiver.disconnect();
    },
  };
}

/** One connection of its own: LISTEN belongs to a connection, and NOTIFY must stay out of the writing transactions. */
function postgresWire(connectionString: string, log: Logger): Wire {
  let client: Session | undefined;
  let closed = false;
  let sending = Promise.resolve();
  let listen: (text: string) => void = () => {};
  const connect = async (): Promise<void> => {
    const fresh = new Session({ connectionString });
    let isOver = false;
    const again = () => {
      // A connection that ends amid what it is asked first is told of twice.
      if (isOver) return;
      isOver = true;
      if (client === fresh) client = undefined;
      fresh.removeAllListeners('end');
      fresh.end().catch(() => {});
      if (!closed) setTimeout(() => void connect(), RECONNECT_MS).unref();
    };
    fresh.on('error', (err) => log.warn({ err }, 'the connection for wake-ups broke; connecting again'));
    fresh.once('end', again);
    fresh.on('notification', ({ payload }) => listen(payload ?? ''));
    try {
      await fresh.connect();
      fresh.requirePrimary();
      await fresh.query(`LISTEN ${CHANNEL}`);
      client = fresh;
      // Nobody else ends what was closed while it was made, and it would keep the process.
      if (closed) await fresh.end();
    } catch (err) {
      if (!closed) log.warn({ err }, 'could not listen for wake-ups; trying again');
      again();
    }
  };
  void connect();
  // One after another: a connection runs one query at a time.
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

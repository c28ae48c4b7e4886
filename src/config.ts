import { z } from 'zod';

const seconds = (fallback: number) => z.coerce.number().positive().default(fallback);
const hostAndPort = z
  .string()
  .regex(/^[a-z0-9.-]+(:\d+)?$/i, 'must be a host name, with a port if it is not the default');

/** The environment: every variable the service reads, with its default. */
const Environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65535).default(4000),
  EXTERNAL_HOST: hostAndPort.optional(),
  DATA_DIR: z.string().default('./data'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(10),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, 'must be a redis:// URL')
    .optional(),
  SECRET_KEY: z.string().min(32, 'must hold at least 32 characters').optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  DEMO: z.enum(['on', 'off']).default('on'),
  GUARD_TRANSACTIONS: z.enum(['on', 'off']).default('off'),
  EVENT_HEARTBEAT_SECONDS: seconds(45),
  EVENT_QUEUE_WRITE_SECONDS: seconds(5),
  EVENT_LOG_DAYS: seconds(8),
  EVENT_LOG_ROWS_PER_REALM: z.coerce.number().int().positive().default(1_000_000),
});

/** How this process runs: the environment, checked and named. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** The server's own domain, with its port; undefined: loopback names at the port served. */
  readonly externalHost: string | undefined;
  readonly dataDir: string;
  /** PostgreSQL; undefined: the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly databasePoolSize: number;
  readonly redisUrl: string | undefined;
  /** Undefined: made and kept in `dataDir` (embedded database only). */
  readonly secretKey: string | undefined;
  readonly logLevel: string;
  /** Whether an empty database gets the demo organisation, and GraphiQL opens signed in for loopback visitors. */
  readonly demo: boolean;
  /** For tests: whether a query beside the transaction under way fails instead of hanging. */
  readonly guardsTransactions: boolean;
  /** Shortest silence before a heartbeat; a fifth of it is added at random. */
  readonly heartbeatMs: number;
  /** How often queue positions are written; positions lost in a crash are at most this old. */
  readonly queueWriteMs: number;
  readonly logRetentionMs: number;
  readonly logRowsPerRealm: number;
}

/** The environment holds something the service cannot run with. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Reads and checks the environment.
 *
 * @throws ConfigError with one line for each variable that is wrong.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = Environment.safeParse(present);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
  }
  const e = parsed.data;
  if (e.DATABASE_URL !== undefined && e.SECRET_KEY === undefined) {
    throw new ConfigError('SECRET_KEY: required with DATABASE_URL, because every node must share it');
  }
  return {
    host: e.HOST,
    port: e.PORT,
    externalHost: e.EXTERNAL_HOST?.toLowerCase(),
    dataDir: e.DATA_DIR,
    databaseUrl: e.DATABASE_URL,
    databasePoolSize: e.DATABASE_POOL_SIZE,
    redisUrl: e.REDIS_URL,
    secretKey: e.SECRET_KEY,
    logLevel: e.LOG_LEVEL,
    demo: e.DEMO === 'on',
    guardsTransactions: e.GUARD_TRANSACTIONS === 'on',
    heartbeatMs: e.EVENT_HEARTBEAT_SECONDS * 1000,
    queueWriteMs: e.EVENT_QUEUE_WRITE_SECONDS * 1000,
    logRetentionMs: e.EVENT_LOG_DAYS * 86_400_000,
    logRowsPerRealm: e.EVENT_LOG_ROWS_PER_REALM,
  };
}

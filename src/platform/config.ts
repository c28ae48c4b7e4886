import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type JwtKeys, readJwtKeys } from './jwt-keys.ts';
import { TOTALS } from './totals.ts';

/** So many seconds, or days. */
const seconds = (fallback: number) => z.coerce.number().positive().default(fallback);
/** Requests a minute, or null: as many as come. */
const rateLimit = (fallback: number) =>
  z
    .union([z.literal('off').transform(() => null), z.coerce.number().int().positive()], {
      error: 'must be a number of requests a minute, or "off"',
    })
    .default(fallback);
/** So many, or null: as many as come. */
const bound = (fallback: number) =>
  z
    .union([z.literal('off').transform(() => null), z.coerce.number().int().positive()], {
      error: 'must be a number, or "off"',
    })
    .default(fallback);
/** What the name and the port of a host may look like, where a URL of it can be read besides. */
const HOST_AND_PORT = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9]\d*)?$/i;
const isHost = (text: string): boolean =>
  HOST_AND_PORT.test(text) && !text.includes('..') && URL.canParse(`http://${text}`);

/** `chat.example`, `chat.example:8443`, or with the scheme before it. */
const externalHost = z
  .string()
  .refine((text) => isHost(text.replace(/^https?:\/\//i, '')), {
    error:
      'must be a host name, with a port if it is not the default, and http:// before it where people reach it without TLS',
  })
  .transform((text) => {
    const [, scheme, host = ''] = /^(?:(https?):\/\/)?(.*)$/.exec(text.toLowerCase()) ?? [];
    return { scheme: scheme as 'http' | 'https' | undefined, host };
  });

/** Web pages' own addresses, as browsers send them: scheme, host and port, and nothing behind. */
const origins = z
  .string()
  .default('')
  .transform((text) => text.split(/[\s,]+/).filter((origin) => origin !== ''))
  .refine((list) => list.every((origin) => /^https?:/.test(origin) && URL.parse(origin)?.origin === origin), {
    error: 'must be origins, as https://app.example, joined by commas',
  });

/** Whether drivers can read a URL, who decode the name and the password in it. PostgreSQL's may have no host. */
function isReadable(text: string): boolean {
  const url = URL.parse(text.replace('@/', '@localhost/'));
  try {
    return url !== null && decodeURIComponent(url.username + url.password) !== undefined;
  } catch {
    return false;
  }
}

/** The address of something that the service uses. */
const serverUrl = (scheme: RegExp, name: string) =>
  z.string().refine((text) => scheme.test(text) && isReadable(text), {
    error: `must be ${name} URL; what is special in a password stands there as %23 for # and the like`,
  });

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Secrets are sent to these and tokens come from them: plain http is taken only for this machine itself. */
const providerUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL.has(url.hostname));
}, 'must be an https:// URL');

/** Our choice: connections there may be beside sockets. Most are long polls. */
const BESIDE_SOCKETS = 10_000;

/** The environment: every variable the service reads, with its default. */
const Environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65535).default(4000),
  EXTERNAL_HOST: externalHost.optional(),
  ALLOWED_ORIGINS: origins,
  DATA_DIR: z.string().default('./data'),
  DATABASE_URL: serverUrl(/^postgres(ql)?:\/\//, 'a postgres://').optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(10),
  REDIS_URL: serverUrl(/^rediss?:\/\//, 'a redis://').optional(),
  SECRET_KEY: z.string().min(32, 'must hold at least 32 characters').optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  DEMO: z.enum(['on', 'off']).default('on'),
  GUARD_TRANSACTIONS: z.enum(['on', 'off']).default('off'),
  CHECK_REPLIES: z.enum(['on', 'off']).default('off'),
  SMTP_URL: serverUrl(/^smtps?:\/\//, 'an smtp:// or smtps://').optional(),
  MAIL_FROM: z
    .string()
    .regex(/^\P{Cc}*@\P{Cc}*$/u, 'must be an e-mail address, with a name before it if you like')
    .optional(),
  RATE_LIMIT_PER_USER: rateLimit(200),
  RATE_LIMIT_PER_IP: rateLimit(100),
  SOCKETS_PER_USER: bound(100),
  SOCKETS_PER_IP: bound(100),
  MAX_SOCKETS: z.coerce.number().int().positive().default(20_000),
  CONNECTIONS_PER_IP: bound(250),
  MAX_CONNECTIONS: z.coerce.number().int().positive().optional(),
  TRUST_PROXY: z.coerce.number().int().min(0).max(10).default(0),
  PERSISTED_DOCUMENTS: z.string().optional(),
  PERSISTED_DOCUMENTS_ONLY: z.enum(['on', 'off']).default('off'),
  AVATAR_PROVIDER_URL: z.url({ protocol: /^https?$/ }).optional(),
  ANONYMOUS_INTROSPECTION: z.enum(['on', 'off']).optional(),
  METRICS_ADDRESS: z
    .string()
    .regex(/^([a-z0-9.-]+|\[[0-9a-f:]+\]):\d{1,5}$/i, 'must be an address to listen on: <host>:<port>')
    .refine((text) => Number(text.split(':').at(-1)) < 65_536, 'must have a port below 65536')
    .optional(),
  METRICS_TOKEN: z.string().min(16, 'must hold at least 16 characters').optional(),
  PASSWORD_HASH_COST: z.coerce
    .number()
    .int()
    .min(1_024)
    .max(2 ** 20)
    .refine((cost) => Number.isInteger(Math.log2(cost)), 'must be a power of two')
    .default(32_768),
  JWT_AUTH_KEYS: z.string().optional(),
  VIDEO_PROVIDER_CLIENT_ID: z.string().optional(),
  VIDEO_PROVIDER_CLIENT_SECRET: z.string().optional(),
  VIDEO_PROVIDER_AUTHORIZE_URL: providerUrl.optional(),
  VIDEO_PROVIDER_TOKEN_URL: providerUrl.optional(),
  VIDEO_PROVIDER_CREATE_URL: providerUrl.optional(),
  SESSION_IDLE_DAYS: seconds(14),
  SESSION_DAYS: seconds(90),
  EVENT_HEARTBEAT_SECONDS: seconds(45),
  EVENT_QUEUE_WRITE_SECONDS: seconds(5),
  EVENT_QUEUES_PER_USER: z.coerce.number().int().positive().default(TOTALS.event_queues.max),
  EVENT_LOG_DAYS: seconds(8),
  EVENT_LOG_ROWS_PER_REALM: z.coerce.number().int().positive().default(1_000_000),
});

/** Where video calls are made: an OAuth 2 client, and the provider's three addresses. */
export interface VideoProvider {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where users allow calls to be made in their name. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly createUrl: string;
}

/** How this process runs: the environment, checked and named. */
export interface Config {
  readonly host: string;
  /** 0 takes any that is free; the one thing that is filled in, once it is known. */
  port: number;
  /** The server's own domain, with its port; undefined: loopback names at the port served. */
  readonly externalHost: string | undefined;
  /** How people reach it there; undefined: over TLS, unless it is this machine. */
  readonly externalScheme: 'http' | 'https' | undefined;
  /** Origins besides its own whose pages may use it, with its cookies. */
  readonly allowedOrigins: ReadonlySet<string>;
  readonly dataDir: string;
  /** PostgreSQL; undefined: the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly databasePoolSize: number;
  readonly redisUrl: string | undefined;
  /** Undefined: made and kept in `dataDir` (embedded database only). */
  readonly secretKey: string | undefined;
  readonly logLevel: string;
  /** Whether an empty database gets the demo organisation, and the start address signs in to it. */
  readonly demo: boolean;
  /** For tests: whether a query beside the transaction under way fails instead of hanging. */
  readonly guardsTransactions: boolean;
  /** For tests: whether a REST reply that is not as its endpoint declares is an error, and does not go out. */
  readonly checksReplies: boolean;
  /** Where mail is handed in; undefined: it stays queued. */
  readonly smtpUrl: string | undefined;
  /** Whom mail is from: "Name <address>" or the address; undefined: an address of the server's own domain. */
  readonly mailFrom: string | undefined;
  /** Requests a minute of one account; undefined: as many as come. */
  readonly rateLimitPerUser: number | undefined;
  /** Requests a minute that one address sends without an account; undefined: as many as come. */
  readonly rateLimitPerIp: number | undefined;
  /** Sockets one account has open on this process; undefined: as many as come. */
  readonly socketsPerUser: number | undefined;
  /** Sockets one address has open on this process without a sign-in; undefined: as many as come. */
  readonly socketsPerIp: number | undefined;
  /** Sockets this process has open, for everybody together. */
  readonly maxSockets: number;
  /** Connections one address has open to this process without a sign-in; undefined: as many as come. */
  readonly connectionsPerIp: number | undefined;
  /** Connections this process has open, sockets included, for everybody together. */
  readonly maxConnections: number;
  /** How many proxies of ours every request passes, each adding to X-Forwarded-For. */
  readonly trustedProxies: number;
  /** A JSON file of GraphQL documents by their SHA-256; undefined: none. */
  readonly persistedDocuments: string | undefined;
  /** Whether no other documents are executed. */
  readonly persistedDocumentsOnly: boolean;
  /** Whether GraphQL tells its schema, and what somebody may have meant, to those who are not signed in. */
  readonly anonymousIntrospection: boolean;
  /** Where metrics are served, and nothing else; undefined: at the service's own address. */
  readonly metricsAddress: { readonly host: string; readonly port: number } | undefined;
  /** What is asked of who reads metrics, as a bearer; undefined: nothing. */
  readonly metricsToken: string | undefined;
  /** What hashing a password costs: N of scrypt, a power of two. */
  readonly passwordHashCost: number;
  /** How long a browser stays signed in that is not seen. */
  readonly sessionIdleMs: number;
  /** How long a browser stays signed in at the most. */
  readonly sessionMs: number;
  /** How web tokens are verified that are exchanged for API keys; empty: nowhere. */
  readonly jwtKeys: JwtKeys;
  /** Undefined: no video calls. */
  readonly videoProvider: VideoProvider | undefined;
  /** Where hosted avatars are: the SHA-256 of an address goes behind its path. Undefined: nowhere. */
  readonly avatarProviderUrl: string | undefined;
  /** Shortest silence before a heartbeat; a fifth of it is added at random. */
  readonly heartbeatMs: number;
  /** How often queue positions are written; positions lost in a crash are at most this old. */
  readonly queueWriteMs: number;
  /** Live queues of one user: the least recently used goes for one more. */
  readonly queuesPerUser: number;
  readonly logRetentionMs: number;
  readonly logRowsPerRealm: number;
}

/** The environment holds something the service cannot run with. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** What may stand in a file of its own, whose name the variable with `_FILE` behind it holds: as containers are given secrets. */
const SECRETS = [
  'SECRET_KEY',
  'DATABASE_URL',
  'REDIS_URL',
  'SMTP_URL',
  'METRICS_TOKEN',
  'JWT_AUTH_KEYS',
  'VIDEO_PROVIDER_CLIENT_SECRET',
] as const;

/** Adds to the environment what a file `.env` in the working directory sets, where there is one. What is set already stays. */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw new ConfigError(`.env: ${(error as Error).message}`);
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment with what stands in files. @throws ConfigError for a file that cannot be read, and one that is empty. */
function withFiles(env: Variables): Variables {
  const read = SECRETS.flatMap((name) => {
    const path = env[`${name}_FILE`];
    if (path === undefined || path === '') return [];
    if (env[name]) throw new ConfigError(`${name}_FILE: ${name} is set as well`);
    return [[name, secretIn(`${name}_FILE`, path)] as const];
  });
  return { ...env, ...Object.fromEntries(read) };
}

function secretIn(variable: string, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`${variable}: ${(error as Error).message}`);
  }
  if (text === '') throw new ConfigError(`${variable}: ${path} is empty`);
  return text;
}

/**
 * Reads and checks the environment.
 *
 * @throws ConfigError with one line for each variable that is wrong.
 */
export function readConfig(env: Variables = process.env): Config {
  const present = Object.fromEntries(
    Object.entries(withFiles(env)).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = Environment.safeParse(present);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
  }
  const e = parsed.data;
  if (e.DATABASE_URL !== undefined && e.SECRET_KEY === undefined) {
    throw new ConfigError('SECRET_KEY: required with DATABASE_URL, because every node must share it');
  }
  if (e.PERSISTED_DOCUMENTS_ONLY === 'on' && e.PERSISTED_DOCUMENTS === undefined) {
    throw new ConfigError('PERSISTED_DOCUMENTS_ONLY: without PERSISTED_DOCUMENTS nothing could be executed');
  }
  const metricsAddress = addressOf(e.METRICS_ADDRESS);
  if (metricsAddress?.host === e.HOST && metricsAddress.port === e.PORT) {
    throw new ConfigError('METRICS_ADDRESS: must be another address than that of HOST and PORT');
  }
  return {
    host: e.HOST,
    port: e.PORT,
    externalHost: e.EXTERNAL_HOST?.host,
    externalScheme: e.EXTERNAL_HOST?.scheme,
    allowedOrigins: new Set(e.ALLOWED_ORIGINS),
    dataDir: e.DATA_DIR,
    databaseUrl: e.DATABASE_URL,
    databasePoolSize: e.DATABASE_POOL_SIZE,
    redisUrl: e.REDIS_URL,
    secretKey: e.SECRET_KEY,
    logLevel: e.LOG_LEVEL,
    demo: e.DEMO === 'on',
    guardsTransactions: e.GUARD_TRANSACTIONS === 'on',
    checksReplies: e.CHECK_REPLIES === 'on',
    smtpUrl: e.SMTP_URL,
    mailFrom: e.MAIL_FROM,
    rateLimitPerUser: e.RATE_LIMIT_PER_USER ?? undefined,
    rateLimitPerIp: e.RATE_LIMIT_PER_IP ?? undefined,
    socketsPerUser: e.SOCKETS_PER_USER ?? undefined,
    socketsPerIp: e.SOCKETS_PER_IP ?? undefined,
    maxSockets: e.MAX_SOCKETS,
    connectionsPerIp: e.CONNECTIONS_PER_IP ?? undefined,
    maxConnections: e.MAX_CONNECTIONS ?? e.MAX_SOCKETS + BESIDE_SOCKETS,
    trustedProxies: e.TRUST_PROXY,
    persistedDocuments: e.PERSISTED_DOCUMENTS,
    persistedDocumentsOnly: e.PERSISTED_DOCUMENTS_ONLY === 'on',
    anonymousIntrospection: (e.ANONYMOUS_INTROSPECTION ?? (e.DATABASE_URL === undefined ? 'on' : 'off')) === 'on',
    metricsAddress,
    metricsToken: e.METRICS_TOKEN,
    passwordHashCost: e.PASSWORD_HASH_COST,
    sessionIdleMs: e.SESSION_IDLE_DAYS * 86_400_000,
    sessionMs: e.SESSION_DAYS * 86_400_000,
    jwtKeys: jwtKeysOf(e),
    videoProvider: videoProviderOf(e),
    avatarProviderUrl: e.AVATAR_PROVIDER_URL,
    heartbeatMs: e.EVENT_HEARTBEAT_SECONDS * 1000,
    queueWriteMs: e.EVENT_QUEUE_WRITE_SECONDS * 1000,
    queuesPerUser: e.EVENT_QUEUES_PER_USER,
    logRetentionMs: e.EVENT_LOG_DAYS * 86_400_000,
    logRowsPerRealm: e.EVENT_LOG_ROWS_PER_REALM,
  };
}

function addressOf(text: string | undefined): Config['metricsAddress'] {
  const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(text ?? '') ?? [];
  return port === undefined ? undefined : { host, port: Number(port) };
}

type Read = z.output<typeof Environment>;

function jwtKeysOf({ JWT_AUTH_KEYS: text }: Read): JwtKeys {
  try {
    return readJwtKeys(text ?? '{}');
  } catch (error) {
    throw new ConfigError(`JWT_AUTH_KEYS: ${(error as Error).message}`);
  }
}

/** All of it, or nothing. */
function videoProviderOf(e: Read): VideoProvider | undefined {
  const given = {
    VIDEO_PROVIDER_CLIENT_ID: e.VIDEO_PROVIDER_CLIENT_ID,
    VIDEO_PROVIDER_CLIENT_SECRET: e.VIDEO_PROVIDER_CLIENT_SECRET,
    VIDEO_PROVIDER_AUTHORIZE_URL: e.VIDEO_PROVIDER_AUTHORIZE_URL,
    VIDEO_PROVIDER_TOKEN_URL: e.VIDEO_PROVIDER_TOKEN_URL,
    VIDEO_PROVIDER_CREATE_URL: e.VIDEO_PROVIDER_CREATE_URL,
  };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === Object.keys(given).length) return undefined;
  if (missing.length > 0)
    throw new ConfigError(`${missing.join(', ')}: required with the other VIDEO_PROVIDER_ variables`);
  const all = given as { [K in keyof typeof given]: string };
  return {
    clientId: all.VIDEO_PROVIDER_CLIENT_ID,
    clientSecret: all.VIDEO_PROVIDER_CLIENT_SECRET,
    authorizeUrl: all.VIDEO_PROVIDER_AUTHORIZE_URL,
    tokenUrl: all.VIDEO_PROVIDER_TOKEN_URL,
    createUrl: all.VIDEO_PROVIDER_CREATE_URL,
  };
}

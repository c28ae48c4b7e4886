import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type DeclaredProvider, readDeclaredProviders } from './declared-providers.ts';
import { type JwtKeys, readJwtKeys } from './jwt-keys.ts';
import { TOTALS } from './totals.ts';

/** Schema of a variable with a positive number of seconds or days. */
const seconds = (fallback: number) => z.coerce.number().positive().default(fallback);
/** Schema of a number of requests per minute. The value "off" becomes null: unlimited. */
const rateLimit = (fallback: number) =>
  z
    .union([z.literal('off').transform(() => null), z.coerce.number().int().positive()], {
      error: 'must be a number of requests per minute, or "off"',
    })
    .default(fallback);
/** Schema of a limit on a number of objects, such as connections. The value "off" becomes null: unlimited. */
const bound = (fallback: number) =>
  z
    .union([z.literal('off').transform(() => null), z.coerce.number().int().positive()], {
      error: 'must be a number, or "off"',
    })
    .default(fallback);
/** Matches a host name with an optional port. `isHost` also requires that a URL with this host can be parsed. */
const HOST_AND_PORT = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9]\d*)?$/i;
const isHost = (text: string): boolean =>
  HOST_AND_PORT.test(text) && !text.includes('..') && URL.canParse(`http://${text}`);

/** Schema of EXTERNAL_HOST: `chat.example`, `chat.example:8443`, or with a scheme before it. */
const externalHost = z
  .string()
  .refine((text) => isHost(text.replace(/^https?:\/\//i, '')), {
    error:
      'must be a host name, with its port if that is not the default, and with http:// before it if users connect without TLS',
  })
  .transform((text) => {
    const [, scheme, host = ''] = /^(?:(https?):\/\/)?(.*)$/.exec(text.toLowerCase()) ?? [];
    return { scheme: scheme as 'http' | 'https' | undefined, host };
  });

/** Schema of a list of origins of web pages, as browsers send them: scheme, host and port only. */
const origins = z
  .string()
  .default('')
  .transform((text) => text.split(/[\s,]+/).filter((origin) => origin !== ''))
  .refine((list) => list.every((origin) => /^https?:/.test(origin) && URL.parse(origin)?.origin === origin), {
    error: 'must be a comma-separated list of origins, such as https://app.example',
  });

/** Schema of a list of headers, as OpenTelemetry writes it: `name=value,name=value`, with values in percent-encoding. */
const otlpHeaders = z
  .string()
  .default('')
  .transform((text, { addIssue }) => {
    const headers: Record<string, string> = {};
    for (const pair of text.split(',').filter((part) => part.trim() !== '')) {
      const [, name = '', value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      if (name === '' || !isDecodable(value)) addIssue('must be a list of headers: name=value,name=value');
      else headers[name] = decodeURIComponent(value);
    }
    return headers;
  });

function isDecodable(text: string): boolean {
  try {
    return /^[ -~]*$/.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

/** Returns whether drivers can parse a URL, and decode the user name and password in it. PostgreSQL URLs may omit the host. */
function isReadable(text: string): boolean {
  const url = URL.parse(text.replace('@/', '@localhost/'));
  try {
    return url !== null && decodeURIComponent(url.username + url.password) !== undefined;
  } catch {
    return false;
  }
}

/** Schema of a URL by which the service connects to another server, such as PostgreSQL. */
const serverUrl = (scheme: RegExp, name: string) =>
  z.string().refine((text) => scheme.test(text) && isReadable(text), {
    error: `must be ${name} URL, with special characters in its password percent-encoded, such as %23 for #`,
  });

/** Schema of CLAMD_URL: the TCP address or the Unix socket of a virus scanner. */
const scannerUrl = z.string().transform((text, { addIssue }): ScannerAddress => {
  if (/^unix:\/[^\0]+$/.test(text)) return { path: text.slice('unix:'.length).replace(/^\/\/(?=\/)/, '') };
  const [, name, port] = /^tcp:\/\/(\[[0-9a-f:]+\]|[a-z0-9._-]+):(\d{1,5})\/?$/i.exec(text) ?? [];
  if (name !== undefined && Number(port) > 0 && Number(port) < 65_536)
    return { host: name.replace(/^\[|\]$/g, ''), port: Number(port) };
  addIssue('must be tcp://<host>:<port> or unix:<path of a socket>');
  return z.NEVER;
});

/** Returns whether a text is the URL of a server without path, user name or query. */
function isBareUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
}

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);
/**
 * Schema of a URL to which the service sends secrets, or from which it receives tokens. Plain http is accepted only for this
 * machine.
 */
const providerUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL.has(url.hostname));
}, 'must be an https:// URL');

/** Schema of the URL of a push service, without a path. */
const serverOrigin = providerUrl
  .refine(isBareUrl, 'must be a URL without a path')
  .transform((text) => new URL(text).origin);

/** Returns the private key in a text of PEM. Undefined if it is none of the type. */
function privateKeyIn(text: string, type: 'ec' | 'rsa'): KeyObject | undefined {
  try {
    // Variables that are written in one line have "\\n" for line breaks.
    const key = createPrivateKey(text.replaceAll('\\n', '\n'));
    const isUsable = type === 'rsa' || key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    return key.asymmetricKeyType === type && isUsable ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Schema of a private key in PEM. */
const privateKey = (type: 'ec' | 'rsa', error: string) =>
  z.string().transform((text, { addIssue }): KeyObject => {
    const key = privateKeyIn(text, type);
    if (key !== undefined) return key;
    addIssue(error);
    return z.NEVER;
  });

const ServiceAccount = z.object({
  project_id: z.string().min(1),
  client_email: z.string().min(1),
  private_key: privateKey('rsa', 'must be an RSA private key in PEM'),
  private_key_id: z.string().min(1).optional(),
  token_uri: providerUrl.default('https://oauth2.googleapis.com/token'),
});

/** Schema of FCM_SERVICE_ACCOUNT: the JSON of a service account. */
const serviceAccount = z.string().transform((text, { addIssue }): z.output<typeof ServiceAccount> => {
  try {
    const { success, data, error } = ServiceAccount.safeParse(JSON.parse(text));
    if (success) return data;
    const [first] = error.issues;
    addIssue(`must be the JSON of a service account: ${first?.path.join('.')}: ${first?.message}`);
  } catch {
    addIssue('must be the JSON of a service account');
  }
  return z.NEVER;
});

/** Schema of PUSH_REGISTRATION_KEYS: private keys of X25519 in base64, with commas between them. */
const registrationKeys = z
  .string()
  .default('')
  .transform((text, { addIssue }): readonly Uint8Array[] => {
    const keys = text.split(/[\s,]+/).filter((one) => one !== '');
    const bytes = keys.map((one) => Buffer.from(one, 'base64'));
    if (bytes.every((one, i) => one.length === 32 && one.toString('base64') === keys[i])) return bytes;
    addIssue('must be private keys of X25519: 32 bytes each in base64, with commas between them');
    return z.NEVER;
  });

/**
 * Number of connections besides WebSockets that the default of `maxConnections` permits. Most of these are long polls. @see
 * Config.maxConnections
 */
const BESIDE_SOCKETS = 10_000;

/** Schema of the environment: every variable that the service reads, with its default. */
const Environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65535).default(4000),
  EXTERNAL_HOST: externalHost.optional(),
  ALLOWED_ORIGINS: origins,
  DATA_DIR: z.string().default('./data'),
  DATABASE_URL: serverUrl(/^postgres(ql)?:\/\//, 'a postgres://').optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(10),
  REDIS_URL: serverUrl(/^rediss?:\/\//, 'a redis://').optional(),
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  SECRET_KEY_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  DEMO: z.enum(['on', 'off']).default('on'),
  GUARD_TRANSACTIONS: z.enum(['on', 'off']).default('off'),
  CHECK_REPLIES: z.enum(['on', 'off']).default('off'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders,
  OTEL_SERVICE_NAME: z.string().default('team-chat'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  S3_ENDPOINT: z
    .string()
    .refine(
      isBareUrl,
      'must be the URL of the S3 server without the bucket, such as https://s3.eu-central-1.amazonaws.com',
    )
    .optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'must be the name of a bucket: 3 to 63 lower-case letters, digits, dots, dashes',
    )
    .optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_FORCE_PATH_STYLE: z.enum(['on', 'off']).default('off'),
  CLAMD_URL: scannerUrl.optional(),
  APNS_KEY: privateKey('ec', 'must be a private key of the curve P-256 in PEM, as in the file AuthKey_….p8').optional(),
  APNS_KEY_ID: z
    .string()
    .regex(/^[A-Z0-9]{10}$/, 'must be the id of the key: 10 letters and digits')
    .optional(),
  APNS_TEAM_ID: z
    .string()
    .regex(/^[A-Z0-9]{10}$/, 'must be the id of the team: 10 letters and digits')
    .optional(),
  APNS_TOPIC: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,255}$/, 'must be the bundle id of the app, such as com.example.chat')
    .optional(),
  APNS_URL: serverOrigin.default('https://api.push.apple.com'),
  FCM_SERVICE_ACCOUNT: serviceAccount.optional(),
  FCM_URL: serverOrigin.default('https://fcm.googleapis.com'),
  PUSH_REGISTRATION_KEYS: registrationKeys,
  SMTP_URL: serverUrl(/^smtps?:\/\//, 'an smtp:// or smtps://').optional(),
  MAIL_FROM: z
    .string()
    .regex(/^\P{Cc}*@\P{Cc}*$/u, 'must be an email address, with an optional name before it')
    .optional(),
  INVITATIONS_PER_DAY: bound(500),
  ORGANIZATION_CREATION: z.enum(['on', 'off']).default('off'),
  AUDIT_LOG_DAYS: z.coerce.number().positive().max(36_500).default(365),
  RATE_LIMIT_PER_USER: rateLimit(200),
  RATE_LIMIT_PER_IP: rateLimit(100),
  SOCKETS_PER_USER: bound(100),
  SOCKETS_PER_IP: bound(100),
  MAX_SOCKETS: z.coerce.number().int().positive().default(20_000),
  CONNECTIONS_PER_IP: bound(250),
  MAX_CONNECTIONS: z.coerce.number().int().positive().optional(),
  TRUST_PROXY: z.coerce.number().int().min(0).max(10).default(0),
  PERSISTED_DOCUMENTS: z.string().optional(),
  QUERY_PLANS: z.enum(['on', 'off']).default('on'),
  PERSISTED_DOCUMENTS_ONLY: z.enum(['on', 'off']).default('off'),
  AVATAR_PROVIDER_URL: z.url({ protocol: /^https?$/ }).optional(),
  ANONYMOUS_INTROSPECTION: z.enum(['on', 'off']).optional(),
  METRICS_ADDRESS: z
    .string()
    .regex(/^([a-z0-9.-]+|\[[0-9a-f:]+\]):\d{1,5}$/i, 'must be an address to listen on: <host>:<port>')
    .refine((text) => Number(text.split(':').at(-1)) < 65_536, 'must have a port below 65536')
    .optional(),
  METRICS_BY_ORGANIZATION: z.coerce.number().int().min(0).max(100).default(0),
  METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  PASSWORD_HASH_COST: z.coerce
    .number()
    .int()
    .min(1_024)
    .max(2 ** 20)
    .refine((cost) => Number.isInteger(Math.log2(cost)), 'must be a power of two')
    .default(32_768),
  JWT_AUTH_KEYS: z.string().optional(),
  OPENID_CONNECT_PROVIDERS: z.string().optional(),
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
  EVENT_LOG_ROWS_PER_ORGANIZATION: z.coerce.number().int().positive().optional(),
  /** Previous name of EVENT_LOG_ROWS_PER_ORGANIZATION. Nodes of the previous version read it. */
  EVENT_LOG_ROWS_PER_REALM: z.coerce.number().int().positive().default(1_000_000),
});

/** Provider of video calls: an OAuth 2 client, and the provider's three URLs. */
export interface VideoProvider {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Page on which users allow the service to create calls in their name. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly createUrl: string;
}

/** Address of a virus scanner that has the protocol of clamd. */
export type ScannerAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/** A bucket of an S3-compatible object store, and the credentials for it. */
export interface Bucket {
  /** URL of the server, without a slash at its end. */
  readonly endpoint: string;
  readonly region: string;
  readonly name: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether the bucket is the first segment of the path. If not, it is the first label of the host name. */
  readonly isInPath: boolean;
}

/** Access to the Apple Push Notification service, with a key that signs tokens. */
export interface ApnsAccess {
  /** Origin of the service. */
  readonly url: string;
  /** Private key: P-256. */
  readonly key: KeyObject;
  readonly keyId: string;
  readonly teamId: string;
  /** Bundle id of the app, for devices that were registered without one. */
  readonly topic: string;
}

/** Access to Firebase Cloud Messaging as a service account. */
export interface FcmAccess {
  /** Origin of the service. */
  readonly url: string;
  readonly projectId: string;
  readonly clientEmail: string;
  /** Private key of the service account: RSA. */
  readonly key: KeyObject;
  readonly keyId: string | undefined;
  /** URL at which signed assertions are exchanged for access tokens. */
  readonly tokenUrl: string;
}

/** Configuration of this process: the validated environment. */
export interface Config {
  readonly host: string;
  /** Port on which the service listens. 0 selects any free port: the field is then set to the port that is used. */
  port: number;
  /** The server's own domain, with its port. Undefined: clients use a loopback name, such as localhost, with `port`. */
  readonly externalHost: string | undefined;
  /** Scheme that clients use for `externalHost`. Undefined: http for loopback hosts, https for all other hosts. */
  readonly externalScheme: 'http' | 'https' | undefined;
  /** Origins of other sites whose pages may use the service with its cookies. */
  readonly allowedOrigins: ReadonlySet<string>;
  readonly dataDir: string;
  /** URL of the PostgreSQL database. Undefined: the service uses the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Id of the service in the names of its cookies, from the database. Undefined until the service listens. */
  cookieId?: string;
  readonly databasePoolSize: number;
  readonly redisUrl: string | undefined;
  /** Secret from which keys are derived. Undefined: generated and stored in `dataDir` (embedded database only). */
  readonly secretKey: string | undefined;
  /** A second key that is accepted during a change of SECRET_KEY: the former or the future one. */
  readonly previousSecretKey: string | undefined;
  readonly logLevel: string;
  /** The export of OpenTelemetry spans. Undefined: no spans are recorded. */
  readonly tracing:
    | {
        /** URL to which spans are sent over OTLP, as protobuf over HTTP. */
        readonly url: string;
        readonly headers: Readonly<Record<string, string>>;
        /** The resource attribute `service.name` of the spans. */
        readonly serviceName: string;
        /** Share of recorded traces, from 0 to 1, among those that begin at this service. */
        readonly share: number;
      }
    | undefined;
  /** Whether an empty database is filled with the demo organization, and the start URL signs in to it. */
  readonly demo: boolean;
  /** For tests: whether a query outside the current transaction fails instead of hanging. */
  readonly guardsTransactions: boolean;
  /** For tests: whether a REST response that does not match its declaration is an error and is not sent. */
  readonly checksReplies: boolean;
  /** Bucket in which the content of uploaded files is stored. Undefined: it is stored in the database. */
  readonly bucket: Bucket | undefined;
  /** Virus scanner of uploaded files and pictures. Undefined: they are not scanned. */
  readonly scanner: ScannerAddress | undefined;
  /** Access to the push service of Apple. Undefined: its devices get no push notifications. */
  readonly apns: ApnsAccess | undefined;
  /** Access to the push service of Google. Undefined: its devices get no push notifications. */
  readonly fcm: FcmAccess | undefined;
  /** Private keys (X25519) with which registrations of apps for encrypted push notifications are decrypted. */
  readonly pushRegistrationKeys: readonly Uint8Array[];
  /** URL of the mail server. Undefined: emails stay queued. */
  readonly smtpUrl: string | undefined;
  /** Sender of emails: an email address, or "Name <email address>". Undefined: an email address of the server's own domain. */
  readonly mailFrom: string | undefined;
  /** Whether visitors can create organizations on a page. */
  readonly allowsOrganizationCreation: boolean;
  /** Maximum number of emails with invitations that each organization can send within 24 hours. Undefined: unlimited. */
  readonly invitationsPerDay: number | undefined;
  /** Time for which entries of the audit log are kept, in milliseconds. */
  readonly auditLogMs: number;
  /**
   * Maximum number of requests per minute of one account. Further requests are refused with `RateLimitHitError`. Undefined:
   * unlimited.
   */
  readonly rateLimitPerUser: number | undefined;
  /**
   * Maximum number of requests per minute from one IP address, for requests without an account. Further requests are refused
   * with `RateLimitHitError`. Undefined: unlimited.
   */
  readonly rateLimitPerIp: number | undefined;
  /** Maximum number of open WebSockets of one account on this process. Further WebSockets are closed. Undefined: unlimited. */
  readonly socketsPerUser: number | undefined;
  /**
   * Maximum number of open unauthenticated WebSockets of one IP address on this process. Further WebSockets are refused with
   * `RateLimitHitError`. Undefined: unlimited.
   */
  readonly socketsPerIp: number | undefined;
  /** Maximum number of open WebSockets of this process. Further WebSockets are refused with `RequestTimeoutError`. */
  readonly maxSockets: number;
  /**
   * Maximum number of open unauthenticated connections of one IP address to this process. Requests on further connections are
   * refused with `RateLimitHitError`. Undefined: unlimited.
   */
  readonly connectionsPerIp: number | undefined;
  /** Maximum number of open connections of this process, including WebSockets. Further connections are closed. */
  readonly maxConnections: number;
  /** Number of the operator's proxies that every request passes. Each appends to X-Forwarded-For. */
  readonly trustedProxies: number;
  /**
   * Whether the service compiles GraphQL operations to query plans and executes the plans. If not, graphql-js executes the
   * operations, with the same data.
   */
  readonly queryPlans: boolean;
  /** Path of a JSON file with GraphQL documents by their SHA-256. Undefined: no persisted documents. */
  readonly persistedDocuments: string | undefined;
  /** Whether GraphQL documents that are not in the file `persistedDocuments` are refused. */
  readonly persistedDocumentsOnly: boolean;
  /** Whether unauthenticated clients can introspect the GraphQL schema and get suggestions for misspelled names. */
  readonly anonymousIntrospection: boolean;
  /** Host and port that serve metrics and nothing else. Undefined: metrics are at the service's own host and port. */
  readonly metricsAddress: { readonly host: string; readonly port: number } | undefined;
  /** Bearer token that is required to read metrics. Undefined: metrics require no token. */
  readonly metricsToken: string | undefined;
  /** Number of organizations that have metrics of their own: those with the most people. 0 for none. */
  readonly metricsByOrganization: number;
  /** Cost of hashing a password: N of scrypt, a power of two. */
  readonly passwordHashCost: number;
  /** Time without requests, in milliseconds, after which a browser's session expires. */
  readonly sessionIdleMs: number;
  /**
   * Maximum lifetime of a browser's session, in milliseconds, even if the browser is active. Afterwards, the user must sign in
   * again.
   */
  readonly sessionMs: number;
  /** Keys that verify web tokens (JWT), which clients can exchange for API keys. Empty: no organization accepts web tokens. */
  readonly jwtKeys: JwtKeys;
  /** OpenID Connect providers of organizations, besides those that owners add. They are applied at the start. */
  readonly openidConnectProviders: readonly DeclaredProvider[] | undefined;
  /** Provider of video calls. Undefined: video calls are not available. */
  readonly videoProvider: VideoProvider | undefined;
  /** URL of hosted avatars. The SHA-256 of an email address is appended to its path. Undefined: no hosted avatars. */
  readonly avatarProviderUrl: string | undefined;
  /**
   * Minimum time, in milliseconds, for which a client receives no event before it is sent a heartbeat. Up to 22 % is added to
   * this time at random.
   */
  readonly heartbeatMs: number;
  /**
   * Interval, in milliseconds, at which the positions of event queues in the event log are written to the database. After a
   * crash, the stored positions are at most about this old.
   */
  readonly queueWriteMs: number;
  /** Maximum number of live event queues of one user. If one more is created, the least recently used queue is deleted. */
  readonly queuesPerUser: number;
  readonly logRetentionMs: number;
  readonly logRowsPerOrganization: number;
}

/** Thrown if the environment contains a value with which the service cannot run. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Names of the variables whose values can be read from files, because containers receive secrets as files. A variable with the
 * suffix `_FILE` contains the path of the file.
 */
const SECRETS = [
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'DATABASE_URL',
  'REDIS_URL',
  'SMTP_URL',
  'S3_SECRET_ACCESS_KEY',
  'APNS_KEY',
  'FCM_SERVICE_ACCOUNT',
  'PUSH_REGISTRATION_KEYS',
  'METRICS_TOKEN',
  'JWT_AUTH_KEYS',
  'OPENID_CONNECT_PROVIDERS',
  'VIDEO_PROVIDER_CLIENT_SECRET',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const;

/** Returns the folder in which the user called npm. npm itself runs scripts in the folder of the package. */
export const startFolder = (): string => process.env['INIT_CWD'] ?? process.cwd();

/**
 * Loads the file `.env` of the working directory, if it exists. Variables that are already set do not change.
 *
 * @throws ConfigError if the file cannot be read.
 */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw new ConfigError(`.env: ${(error as Error).message}`);
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Returns the environment, including the variables that are read from files.
 *
 * @throws ConfigError if a file is empty or cannot be read, or if both a variable and its file are set.
 */
function withFiles(env: Variables): Variables {
  const read = SECRETS.flatMap((name) => {
    const path = env[`${name}_FILE`];
    if (path === undefined || path === '') return [];
    if (env[name]) throw new ConfigError(`${name}_FILE: ${name} is also set. Set only one of them`);
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
 * Reads and validates the environment.
 *
 * @throws ConfigError with one line for each invalid variable.
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
    throw new ConfigError(
      'PERSISTED_DOCUMENTS_ONLY: requires PERSISTED_DOCUMENTS. Without it, no document could be executed',
    );
  }
  const metricsAddress = addressOf(e.METRICS_ADDRESS);
  if (metricsAddress?.host === e.HOST && metricsAddress.port === e.PORT) {
    throw new ConfigError('METRICS_ADDRESS: must differ from the address of HOST and PORT');
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
    previousSecretKey: e.SECRET_KEY_PREVIOUS,
    logLevel: e.LOG_LEVEL,
    tracing: tracingOf(e),
    demo: e.DEMO === 'on',
    guardsTransactions: e.GUARD_TRANSACTIONS === 'on',
    checksReplies: e.CHECK_REPLIES === 'on',
    bucket: bucketOf(e),
    scanner: e.CLAMD_URL,
    apns: apnsOf(e),
    fcm: fcmOf(e),
    pushRegistrationKeys: e.PUSH_REGISTRATION_KEYS,
    smtpUrl: e.SMTP_URL,
    mailFrom: e.MAIL_FROM,
    allowsOrganizationCreation: e.ORGANIZATION_CREATION === 'on',
    invitationsPerDay: e.INVITATIONS_PER_DAY ?? undefined,
    auditLogMs: e.AUDIT_LOG_DAYS * 86_400_000,
    rateLimitPerUser: e.RATE_LIMIT_PER_USER ?? undefined,
    rateLimitPerIp: e.RATE_LIMIT_PER_IP ?? undefined,
    socketsPerUser: e.SOCKETS_PER_USER ?? undefined,
    socketsPerIp: e.SOCKETS_PER_IP ?? undefined,
    maxSockets: e.MAX_SOCKETS,
    connectionsPerIp: e.CONNECTIONS_PER_IP ?? undefined,
    maxConnections: e.MAX_CONNECTIONS ?? e.MAX_SOCKETS + BESIDE_SOCKETS,
    trustedProxies: e.TRUST_PROXY,
    queryPlans: e.QUERY_PLANS === 'on',
    persistedDocuments: e.PERSISTED_DOCUMENTS,
    persistedDocumentsOnly: e.PERSISTED_DOCUMENTS_ONLY === 'on',
    anonymousIntrospection: (e.ANONYMOUS_INTROSPECTION ?? (e.DATABASE_URL === undefined ? 'on' : 'off')) === 'on',
    metricsAddress,
    metricsToken: e.METRICS_TOKEN,
    metricsByOrganization: e.METRICS_BY_ORGANIZATION,
    passwordHashCost: e.PASSWORD_HASH_COST,
    sessionIdleMs: e.SESSION_IDLE_DAYS * 86_400_000,
    sessionMs: e.SESSION_DAYS * 86_400_000,
    jwtKeys: jwtKeysOf(e),
    openidConnectProviders: declaredProvidersOf(e),
    videoProvider: videoProviderOf(e),
    avatarProviderUrl: e.AVATAR_PROVIDER_URL,
    heartbeatMs: e.EVENT_HEARTBEAT_SECONDS * 1000,
    queueWriteMs: e.EVENT_QUEUE_WRITE_SECONDS * 1000,
    queuesPerUser: e.EVENT_QUEUES_PER_USER,
    logRetentionMs: e.EVENT_LOG_DAYS * 86_400_000,
    logRowsPerOrganization: e.EVENT_LOG_ROWS_PER_ORGANIZATION ?? e.EVENT_LOG_ROWS_PER_REALM,
  };
}

function addressOf(text: string | undefined): Config['metricsAddress'] {
  const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(text ?? '') ?? [];
  return port === undefined ? undefined : { host, port: Number(port) };
}

type Read = z.output<typeof Environment>;

function tracingOf(e: Read): Config['tracing'] {
  const endpoint = e.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return undefined;
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const { OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_SERVICE_NAME: serviceName } = e;
  return { url, headers, serviceName, share: e.OTEL_TRACES_SAMPLER_ARG };
}

function jwtKeysOf({ JWT_AUTH_KEYS: text }: Read): JwtKeys {
  try {
    return readJwtKeys(text ?? '{}');
  } catch (error) {
    throw new ConfigError(`JWT_AUTH_KEYS: ${(error as Error).message}`);
  }
}

function declaredProvidersOf({ OPENID_CONNECT_PROVIDERS: text }: Read): readonly DeclaredProvider[] | undefined {
  try {
    return text === undefined ? undefined : readDeclaredProviders(text);
  } catch (error) {
    throw new ConfigError(`OPENID_CONNECT_PROVIDERS: ${(error as Error).message}`);
  }
}

/**
 * Returns the access to the push service of Apple. Undefined if neither the key nor its ids are set.
 *
 * @throws ConfigError if only some of these variables are set.
 */
function apnsOf({ APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC, APNS_URL }: Read): ApnsAccess | undefined {
  const given = { APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === Object.keys(given).length) return undefined;
  if (APNS_KEY === undefined || APNS_KEY_ID === undefined || APNS_TEAM_ID === undefined || APNS_TOPIC === undefined) {
    throw new ConfigError(`${missing.join(', ')}: required with the other APNS_ variables`);
  }
  return { url: APNS_URL, key: APNS_KEY, keyId: APNS_KEY_ID, teamId: APNS_TEAM_ID, topic: APNS_TOPIC };
}

function fcmOf({ FCM_SERVICE_ACCOUNT: account, FCM_URL: url }: Read): FcmAccess | undefined {
  return (
    account && {
      url,
      projectId: account.project_id,
      clientEmail: account.client_email,
      key: account.private_key,
      keyId: account.private_key_id,
      tokenUrl: account.token_uri,
    }
  );
}

/**
 * Returns the bucket of uploaded files. Undefined if neither endpoint, bucket nor credentials are set.
 *
 * @throws ConfigError if only some of these variables are set.
 */
function bucketOf(e: Read): Bucket | undefined {
  const { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = e;
  const given = { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === Object.keys(given).length) return undefined;
  if (
    S3_ENDPOINT === undefined ||
    S3_BUCKET === undefined ||
    S3_ACCESS_KEY_ID === undefined ||
    S3_SECRET_ACCESS_KEY === undefined
  ) {
    throw new ConfigError(`${missing.join(', ')}: required with the other S3_ variables`);
  }
  return {
    endpoint: new URL(S3_ENDPOINT).origin,
    region: e.S3_REGION,
    name: S3_BUCKET,
    accessKeyId: S3_ACCESS_KEY_ID,
    secretAccessKey: S3_SECRET_ACCESS_KEY,
    isInPath: e.S3_FORCE_PATH_STYLE === 'on',
  };
}

/**
 * Returns the provider of video calls. Undefined if no VIDEO_PROVIDER_ variable is set.
 *
 * @throws ConfigError if only some of the VIDEO_PROVIDER_ variables are set.
 */
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

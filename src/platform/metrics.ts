import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DATABASE_ERROR_KINDS, databaseErrorKind } from './db/errors.ts';
import { ERROR_CODES } from './errors.ts';

/**
 * Metrics of this process for GET /metrics. Labels contain no users, organizations or values from clients, with two exceptions:
 * the first GraphQL operation names that authenticated clients use, and the organizations of `METRICS_BY_ORGANIZATION`.
 */
export const metrics = new Registry();

collectDefaultMetrics({ register: metrics });
// Removes gauges that have names of counters. No value is lost: other default metrics contain these values, separated by type.
for (const kind of ['handles', 'requests', 'resources']) metrics.removeSingleMetric(`nodejs_active_${kind}_total`);

const requestSeconds = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the request head to the end of the response, in seconds, including the wait of long polls.',
  labelNames: ['method', 'route', 'status'] as const,
  // The buckets range from a cached read to the longest long poll.
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  registers: [metrics],
});

const operationSeconds = new Histogram({
  name: 'graphql_operation_duration_seconds',
  help: 'Execution time of queries and mutations in seconds, over all transports.',
  labelNames: ['operation', 'type'] as const,
  // Fewer buckets than for requests, because there are many names.
  buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10],
  registers: [metrics],
});

const refusals = new Counter({
  name: 'requests_refused_total',
  help: 'Number of errors sent to clients, by code.',
  labelNames: ['api', 'code'] as const,
  registers: [metrics],
});

const databaseErrors = new Counter({
  name: 'database_errors_total',
  help: 'Number of failed statements, commits and rollbacks. Some of them are retried, and some are expected.',
  labelNames: ['kind'] as const,
  registers: [metrics],
});
for (const kind of DATABASE_ERROR_KINDS) databaseErrors.inc({ kind }, 0);

const objectStoreRequests = new Counter({
  name: 'object_store_requests_total',
  help: 'Number of requests to the object store, by outcome after all attempts.',
  labelNames: ['operation', 'outcome'] as const,
  registers: [metrics],
});

/** Counts a request to the object store. */
export const observeObjectStore = (
  operation: 'put' | 'get' | 'head' | 'delete',
  outcome: 'ok' | 'absent' | 'refused' | 'unavailable',
): void => objectStoreRequests.inc({ operation, outcome });

/** Counter of scanned uploads. */
export const virusScans = new Counter({
  name: 'virus_scans_total',
  help: 'Number of uploads that were sent to the virus scanner, by result.',
  labelNames: ['result'] as const,
  registers: [metrics],
});

/** Counter of log lines that were lost because they could not be written. */
export const lostLogLines = new Counter({
  name: 'log_lines_lost_total',
  help: 'Number of log lines that could not be written, for example because the disk of standard error was full.',
  registers: [metrics],
});

/** Histogram of the durations of hashing passwords, the main cost of signing in. */
export const passwordHashSeconds = new Histogram({
  name: 'password_hash_duration_seconds',
  help: 'Time to hash a password in seconds, without the wait in the queue.',
  // The buckets range from a hash on an idle core to hashes on two busy cores.
  buckets: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2],
  registers: [metrics],
});

/** Metrics on the deletion of old messages (message retention) by this process. */
export const retention = {
  deleted: new Counter({
    name: 'message_retention_deleted_total',
    help: 'Number of messages deleted because they exceeded the retention of their channel or organization.',
    registers: [metrics],
  }),
  passes: new Counter({
    name: 'message_retention_passes_total',
    help: 'Number of retention passes over all organizations that ended without a failure.',
    registers: [metrics],
  }),
  overdueSeconds: new Gauge({
    name: 'message_retention_overdue_seconds',
    help: 'Time by which the most overdue message of the last round of batches exceeded its limit, in seconds. 0 if none did.',
    registers: [metrics],
  }),
};

/** Outcomes of the delivery of a push message to one device. */
export const PUSH_OUTCOMES = ['sent', 'gone', 'refused', 'failed'] as const;

/** Counter of attempts to send push messages. */
export const pushMessages = new Counter({
  name: 'push_messages_total',
  help: 'Number of attempts to send a push message to a device. Outcomes: sent, gone (the device no longer exists), refused (never accepted), failed (can be retried).',
  labelNames: ['outcome'] as const,
  registers: [metrics],
});
for (const outcome of PUSH_OUTCOMES) pushMessages.inc({ outcome }, 0);

/** Registers a gauge whose value is the result of `count`, called each time the metrics are read. */
export function observeCount(name: string, help: string, count: () => number): void {
  new Gauge({
    name,
    help,
    registers: [metrics],
    collect() {
      this.set(count());
    },
  });
}

/**
 * Records one answered request.
 *
 * @param route The path with its parameters in braces, never the path that was sent.
 */
export function observeRequest(method: string, route: string, status: number, seconds: number): void {
  requestSeconds.observe({ method, route, status }, seconds);
}

const organizationRequests = new Counter({
  name: 'organization_requests_total',
  help: 'Number of requests and operations of signed-in clients, by organization.',
  labelNames: ['organization'] as const,
  registers: [metrics],
});
let labelled: ReadonlySet<string> = new Set();

/** Label of requests of organizations without metrics of their own. No subdomain has a colon. */
const OTHERS = ':other';

/**
 * Sets the organizations that have metrics of their own, by subdomain. Removes the metrics of all others, so that the number of
 * labels is bounded.
 */
export function labelOrganizations(subdomains: ReadonlySet<string>): void {
  for (const organization of labelled) if (!subdomains.has(organization)) organizationRequests.remove({ organization });
  labelled = subdomains;
}

/** Counts a request of a signed-in client, if organizations have metrics of their own. */
export function observeOrganizationRequest(subdomain: string): void {
  if (labelled.size === 0) return;
  organizationRequests.inc({ organization: labelled.has(subdomain) ? subdomain : OTHERS });
}

/**
 * Maximum number of GraphQL operation names in labels. Further names are counted under `other`. No application needs more
 * names.
 */
const MAX_OPERATIONS = 100;
/** Maximum length of a GraphQL operation name in a label, in UTF-16 code units. Longer names are counted under `other`. */
const MAX_NAME_LENGTH = 60;
const operations = new Set<string>();

/**
 * Records one query or mutation that was executed.
 *
 * @param name Name from the client. Undefined if there is none.
 * @param isKnown Whether the client is authenticated. A name from an unauthenticated client has its own label only if an
 *   authenticated client has used it before.
 */
export function observeOperation(
  { name, type, isKnown }: { readonly name: string | undefined; readonly type: string; readonly isKnown: boolean },
  seconds: number,
): void {
  operationSeconds.observe({ operation: name === undefined ? 'anonymous' : labelOf(name, isKnown), type }, seconds);
}

function labelOf(name: string, isKnown: boolean): string {
  if (isKnown && operations.size < MAX_OPERATIONS && name.length <= MAX_NAME_LENGTH) operations.add(name);
  return operations.has(name) ? name : 'other';
}

const counted = new WeakSet<object>();
/** Error codes with which only GraphQL documents are refused. */
const OF_DOCUMENTS = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'DOCUMENT_LIMIT_EXCEEDED',
  'PERSISTED_QUERY_NOT_FOUND',
];
const CODES: ReadonlySet<unknown> = new Set([...ERROR_CODES, ...OF_DOCUMENTS, 'INTERNAL_SERVER_ERROR']);

/**
 * Records an error that is sent to a client.
 *
 * @param error The error object, which is recorded only once. Undefined: the call always records an error.
 */
export function observeRefusal(api: 'rest' | 'graphql', code: unknown, error?: object): void {
  if (error !== undefined && counted.has(error)) return;
  if (error !== undefined) counted.add(error);
  refusals.inc({ api, code: CODES.has(code) ? String(code) : 'other' });
}

/** Returns whether `observeRefusal` has already recorded an error. */
export const isRefusalObserved = (error: object): boolean => counted.has(error);

/** Counts an error of the database by its kind. */
export function observeDatabaseError(error: unknown): void {
  databaseErrors.inc({ kind: databaseErrorKind(error) });
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DATABASE_ERROR_KINDS, databaseErrorKind } from './db/errors.ts';
import { ERROR_CODES } from './errors.ts';

/**
 * What GET /metrics shows of this process. Labels never name a user or an organisation, nor anything a client made up, but
 * for the operations of clients that are signed in, the first of them.
 */
export const metrics = new Registry();

collectDefaultMetrics({ register: metrics });
// Gauges under the names of counters. By type, which can be summed, they are there as well.
for (const kind of ['handles', 'requests', 'resources']) metrics.removeSingleMetric(`nodejs_active_${kind}_total`);

const requestSeconds = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'From the request head to the finished answer; for a long poll, its wait.',
  labelNames: ['method', 'route', 'status'] as const,
  // Our choice: from a cached read to the longest a long poll waits.
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  registers: [metrics],
});

const operationSeconds = new Histogram({
  name: 'graphql_operation_duration_seconds',
  help: 'Queries and mutations, from the beginning of their execution to their result, over all transports.',
  labelNames: ['operation', 'type'] as const,
  // Our choice: fewer than of requests, as there are many names.
  buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10],
  registers: [metrics],
});

const refusals = new Counter({
  name: 'requests_refused_total',
  help: 'Errors that clients were answered with, by their code.',
  labelNames: ['api', 'code'] as const,
  registers: [metrics],
});

const databaseErrors = new Counter({
  name: 'database_errors_total',
  help: 'Statements, and ends of transactions, that the database did not do. Some are tried again, some are expected.',
  labelNames: ['kind'] as const,
  registers: [metrics],
});
for (const kind of DATABASE_ERROR_KINDS) databaseErrors.inc({ kind }, 0);

/** Passwords hashed, which is what signing in costs. */
export const passwordHashSeconds = new Histogram({
  name: 'password_hash_duration_seconds',
  help: 'From the turn of a password to be hashed to its hash.',
  // Our choice: from an idle core to two cores with much else to do.
  buckets: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2],
  registers: [metrics],
});

/** Counts something anew whenever it is looked at. */
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
 * @param route The path with its slots in braces, never the path sent.
 */
export function observeRequest(method: string, route: string, status: number, seconds: number): void {
  requestSeconds.observe({ method, route, status }, seconds);
}

/** Our choices: more operations than an application has, and longer names than people give. */
const MAX_OPERATIONS = 100;
const MAX_NAME_LENGTH = 60;
const operations = new Set<string>();

/**
 * Records one query or mutation that was executed.
 *
 * @param name As the client calls it; undefined where it does not.
 * @param isKnown Whether the client is signed in: the names of others are counted apart only if such a one has used them.
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
/** What is refused of documents has codes of its own. */
const OF_DOCUMENTS = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'DOCUMENT_LIMIT_EXCEEDED',
  'PERSISTED_QUERY_NOT_FOUND',
];
const CODES: ReadonlySet<unknown> = new Set([...ERROR_CODES, ...OF_DOCUMENTS, 'INTERNAL_SERVER_ERROR']);

/**
 * Records an error that a client is answered with, once.
 *
 * @param error By which it is known again, where it comes by here more than once.
 */
export function observeRefusal(api: 'rest' | 'graphql', code: unknown, error?: object): void {
  if (error !== undefined && counted.has(error)) return;
  if (error !== undefined) counted.add(error);
  refusals.inc({ api, code: CODES.has(code) ? String(code) : 'other' });
}

/** Whether an error is recorded already. */
export const isRefusalObserved = (error: object): boolean => counted.has(error);

/** Records a failure of the database. */
export function observeDatabaseError(error: unknown): void {
  databaseErrors.inc({ kind: databaseErrorKind(error) });
}

import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { App } from '../access/context.ts';
import { countAddress } from '../api/rate-limits.ts';
import type { Web } from '../api/rest/router.ts';
import type { Config } from '../platform/config.ts';
import { readMigrations } from '../platform/db/migrate.ts';
import { isSameSecret, type KeyVault } from '../platform/key-vault.ts';
import { metrics } from '../platform/metrics.ts';
import { objectStoreOf, StoreRefusedError } from '../platform/object-store.ts';
import { pingScanner } from '../platform/virus-scanner.ts';
import { lookAtOrganizations } from './organization-metrics.ts';
import { lookAtService } from './service-metrics.ts';

/**
 * Timeout of database queries, and of the checks of file store and virus scanner, in milliseconds. It is shorter than the timeouts
 * of load balancers for /readyz.
 */
const PATIENCE_MS = 2_000;

const HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** Response header of /healthz that identifies the deployment to which the node belongs. */
export const DEPLOYMENT_HEADER = 'X-Deployment';

/**
 * Returns the ids of the deployment, that of this node first. An id is equal on all nodes with the same SECRET_KEY, but does not
 * reveal the key. During a change of the key, other nodes can have the id by SECRET_KEY_PREVIOUS.
 */
export const deploymentsOf = (keys: KeyVault): string[] => keys.tokens('deployment').map((token) => token.slice(0, 16));

/**
 * Adds the routes for operators: /healthz (the process is running) and /readyz (it can serve requests). Also adds /metrics
 * (Prometheus) if `servesMetrics` is true. Requests for /metrics without its token count towards the limit of the client's IP
 * address, because the metrics are collected for each request.
 */
export function addHealth(web: Web, app: App): void {
  const migrations = readMigrations().map(({ name }) => name);
  const missingParts = shared(() => missingForService(app, migrations));
  const impairedParts = shared(() => impairedOf(app));
  const alive = { ...HEADERS, [DEPLOYMENT_HEADER]: deploymentsOf(app.keys)[0] ?? '' };
  web.get('/healthz', () => new Response('ok\n', { headers: alive }));
  web.get('/readyz', async () => {
    const missing = await missingParts();
    const impaired = missing.length === 0 ? await impairedParts() : [];
    const ready = ['ready\n', ...impaired.map((part) => `impaired: ${part}\n`)].join('');
    const text = missing.length === 0 ? ready : missing.map((part) => `not ready: ${part}\n`).join('');
    return new Response(text, { status: missing.length === 0 ? 200 : 503, headers: HEADERS });
  });
  if (servesMetrics(app.config)) addMetrics(web, app, { countsRequests: true });
}

/** Returns a function that calls `make`, or returns the result of a call that is still in progress. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= make().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

/**
 * Returns whether the main host and port serve /metrics. If METRICS_ADDRESS is set, they do not. Without a token, metrics are
 * public, so only trial installations serve them: those without EXTERNAL_HOST and DATABASE_URL.
 */
function servesMetrics({ metricsAddress, metricsToken, externalHost, databaseUrl }: Config): boolean {
  if (metricsAddress !== undefined) return false;
  return metricsToken !== undefined || (externalHost === undefined && databaseUrl === undefined);
}

function addMetrics(web: Web, app: App, { countsRequests }: { readonly countsRequests: boolean }): void {
  const { metricsToken: token } = app.config;
  web.get('/metrics', async ({ req, env }) => {
    const shown = /^bearer +(.+)$/i.exec(req.header('authorization') ?? '')?.[1];
    const hasToken = token !== undefined && isSameSecret(shown ?? '', token);
    if (countsRequests && !hasToken) await countAddress(app, env.incoming);
    if (token !== undefined && !hasToken) {
      return new Response('Unauthorized\n', { status: 401, headers: { ...HEADERS, 'WWW-Authenticate': 'Bearer' } });
    }
    await inTime(Promise.all([lookAtService(app), lookAtOrganizations(app)])).catch(() => {});
    return new Response(await metrics.metrics(), { headers: { ...HEADERS, 'Content-Type': metrics.contentType } });
  });
}

/** Starts a server that serves only /metrics, at METRICS_ADDRESS. @returns Undefined if METRICS_ADDRESS is not set. */
export async function serveMetrics(app: App): Promise<Server | undefined> {
  const { metricsAddress: address } = app.config;
  if (address === undefined) return undefined;
  const web: Web = new Hono();
  addMetrics(web, app, { countsRequests: false });
  const server = createServer(getRequestListener(web.fetch, { hostname: 'localhost' }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(address.port, address.host, () => resolve());
  });
  return server;
}

async function missingForService(app: App, migrations: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  try {
    const applied = new Set(await inTime(appliedMigrations(app)));
    if (migrations.some((name) => !applied.has(name))) missing.push('migrations');
  } catch {
    missing.push('database');
  }
  if (app.database.diskSpace.isLacking) missing.push('disk space of the database');
  if (!app.hub.ready) missing.push('event log');
  return missing;
}

/**
 * Returns the failing parts that only some requests need: file store and virus scanner. They do not make the node unready: all
 * nodes share them, so a load balancer would exclude every node.
 */
async function impairedOf({ config }: App): Promise<string[]> {
  const store = objectStoreOf(config);
  const { scanner } = config;
  const problems = await Promise.all([
    store === undefined ? undefined : problemOf('file store', store.probe()),
    scanner === undefined ? undefined : problemOf('virus scanner', pingScanner(scanner)),
  ]);
  return problems.filter((problem) => problem !== undefined);
}

/**
 * Returns the name of a part if its check fails. If the store refuses the request, the reason follows. Undefined if the check
 * succeeds.
 */
async function problemOf(name: string, check: Promise<void>): Promise<string | undefined> {
  try {
    await inTime(check);
    return undefined;
  } catch (error) {
    return error instanceof StoreRefusedError ? `${name} (${error.reason})` : name;
  }
}

async function appliedMigrations({ db }: App): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  return rows.map(({ name }) => name);
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('No reply in time')), PATIENCE_MS);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

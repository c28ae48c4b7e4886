import type { App } from './app.ts';
import { readMigrations } from './db/migrate.ts';
import { metrics } from './metrics.ts';
import type { Web } from './rest/router.ts';

/** Our choice: shorter than the time-outs of the load balancers that ask. */
const DATABASE_PATIENCE_MS = 2_000;

const HEADERS = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' } as const;

/** Adds what operators ask: /healthz (the process is up), /readyz (it can serve), /metrics (Prometheus). */
export function addHealth(web: Web, app: App): void {
  const migrations = readMigrations().map(({ name }) => name);
  web.get('/healthz', () => new Response('ok\n', { headers: HEADERS }));
  web.get('/readyz', async () => {
    const missing = await missingForService(app, migrations);
    const text = missing.length === 0 ? 'ready\n' : missing.map((part) => `not ready: ${part}\n`).join('');
    return new Response(text, { status: missing.length === 0 ? 200 : 503, headers: HEADERS });
  });
  web.get('/metrics', async () => {
    return new Response(await metrics.metrics(), { headers: { ...HEADERS, 'Content-Type': metrics.contentType } });
  });
}

async function missingForService(app: App, migrations: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  try {
    const applied = new Set(await inTime(appliedMigrations(app)));
    if (migrations.some((name) => !applied.has(name))) missing.push('migrations');
  } catch {
    missing.push('database');
  }
  if (!app.hub.ready) missing.push('event log');
  return missing;
}

async function appliedMigrations({ db }: App): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  return rows.map(({ name }) => name);
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('Too late')), DATABASE_PATIENCE_MS);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

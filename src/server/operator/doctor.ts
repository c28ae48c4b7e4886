import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { App } from '../../access/context.ts';
import { readMigrations } from '../../platform/db/migrate.ts';

/** One thing that must be right for the service to run. */
interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Looks at everything the service needs. */
export async function examine(app: App): Promise<{ ok: boolean; findings: Finding[] }> {
  const findings: Finding[] = [];
  for (const [check, look] of CHECKS) findings.push(await find(check, look, app));
  return { ok: findings.every(({ ok }) => ok), findings };
}

/** Each check says what it found, or throws what is wrong. */
const CHECKS: readonly (readonly [string, (app: App) => string | Promise<string>])[] = [
  ['runtime', () => `Node ${process.version}`],
  ['data directory', checkDataDirectory],
  ['database', checkDatabase],
  ['migrations', checkMigrations],
  ['secret key', checkSecretKey],
  ['organizations', checkOrganizations],
];

async function find(check: string, look: (app: App) => string | Promise<string>, app: App): Promise<Finding> {
  try {
    return { check, ok: true, detail: await look(app) };
  } catch (error) {
    return { check, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

function checkDataDirectory({ config }: App): string {
  accessSync(config.dataDir, constants.R_OK | constants.W_OK);
  return resolve(config.dataDir);
}

async function checkDatabase({ database }: App): Promise<string> {
  const [row] = await database.db.$queryRaw<{ version: string }[]>`SELECT version()`;
  return `${database.kind}, ${row?.version.split(' ').slice(0, 2).join(' ')}`;
}

async function checkMigrations({ db }: App): Promise<string> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  const applied = new Set(rows.map(({ name }) => name));
  const missing = readMigrations().filter(({ name }) => !applied.has(name));
  if (missing.length > 0) throw new Error(`not applied: ${missing.map(({ name }) => name).join(', ')}`);
  return `${applied.size} applied`;
}

/** A server that lost its SECRET_KEY still signs people in, but can hand out no key it made before. */
async function checkSecretKey({ db, keys }: App): Promise<string> {
  const sample = await db.apiKey.findFirst({ orderBy: { createdAt: 'desc' } });
  if (sample === null) return 'there are no API keys yet';
  try {
    keys.open(sample.sealed);
  } catch {
    throw new Error('SECRET_KEY is not the one the API keys were sealed with');
  }
  return 'opens the API keys';
}

async function checkOrganizations({ db }: App): Promise<string> {
  const count = await db.realm.count({ where: { deactivatedAt: null } });
  if (count === 0) throw new Error('there is none: make one with "org create"');
  return String(count);
}

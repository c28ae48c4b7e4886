import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { App } from '../../access/context.ts';
import { readMigrations } from '../../platform/db/migrate.ts';
import { countOpened } from '../secret-key.ts';
import { checkAddress, checkDisk, checkMail, checkRedis } from './reach.ts';

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
  ['disk', checkDisk],
  ['redis', checkRedis],
  ['mail', checkMail],
  ['address', checkAddress],
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

/** Those of a time with another SECRET_KEY still sign in, but can be shown to nobody. */
async function checkSecretKey(app: App): Promise<string> {
  const { opened, closed } = await countOpened(app);
  if (closed === 0) return opened === 0 ? 'there are no API keys yet' : `opens the API keys, ${opened}`;
  throw new Error(`does not open ${closed} of ${opened + closed} API keys: "secret-key renew" makes these anew`);
}

async function checkOrganizations({ db }: App): Promise<string> {
  const count = await db.realm.count({ where: { deactivatedAt: null } });
  if (count === 0) throw new Error('there is none: make one with "org create"');
  return String(count);
}

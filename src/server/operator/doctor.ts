import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { App } from '../../access/context.ts';
import type { Config } from '../../platform/config.ts';
import { openDatabase } from '../../platform/db/client.ts';
import { requireMigrated } from '../../platform/db/migrate.ts';
import { countOpened } from '../secret-key.ts';
import { checkAddress, checkDisk, checkMail, checkRedis } from './reach.ts';
import { checkTimes } from './times.ts';

/** The result of one check: its name, whether it passed, and a value or problem. */
interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** The parts of a service that checks use without reading its tables. */
type Examined = Pick<App, 'config' | 'database' | 'db'>;

interface Findings {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Runs all checks of the command `doctor`. */
export async function examine(app: App): Promise<Findings> {
  const findings: Finding[] = [];
  for (const [check, look] of CHECKS) findings.push(await find(check, () => look(app)));
  for (const [check, look] of CHECKS_OF_TABLES) findings.push(await find(check, () => look(app)));
  return { ok: findings.every(({ ok }) => ok), findings };
}

/**
 * Runs the checks that do not read tables, for a database with the migrations of an older or newer version. Changes nothing.
 * The result is never `ok`.
 */
export async function examineOtherVersion(config: Config): Promise<Findings> {
  const database = await openDatabase(config);
  try {
    const examined = { config, database, db: database.db };
    const findings: Finding[] = [];
    for (const [check, look] of CHECKS) findings.push(await find(check, () => look(examined)));
    for (const [check] of CHECKS_OF_TABLES) {
      findings.push({ check, ok: false, detail: 'not checked: the database has the migrations of another version' });
    }
    return { ok: false, findings };
  } finally {
    await database.close();
  }
}

/**
 * The checks that do not read the tables of the service. Each returns a text for the operator, or throws an error that
 * describes the problem.
 */
const CHECKS: readonly (readonly [string, (examined: Examined) => string | Promise<string>])[] = [
  ['runtime', () => `Node ${process.version}`],
  ['data directory', checkDataDirectory],
  ['database', checkDatabase],
  ['migrations', checkMigrations],
  ['disk', checkDisk],
  ['redis', checkRedis],
  ['mail', checkMail],
];

/** The checks that read the tables of the service. */
const CHECKS_OF_TABLES: readonly (readonly [string, (app: App) => string | Promise<string>])[] = [
  ['secret key', checkSecretKey],
  ['organizations', checkOrganizations],
  ['times', checkTimes],
  ['address', checkAddress],
];

async function find(check: string, look: () => string | Promise<string>): Promise<Finding> {
  try {
    return { check, ok: true, detail: await look() };
  } catch (error) {
    return { check, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

function checkDataDirectory({ config }: Examined): string {
  accessSync(config.dataDir, constants.R_OK | constants.W_OK);
  return resolve(config.dataDir);
}

async function checkDatabase({ database }: Examined): Promise<string> {
  const [row] = await database.db.$queryRaw<{ version: string }[]>`SELECT version()`;
  const schema = database.kind === 'embedded' ? '' : `, schema ${database.schema()}`;
  return `${database.kind}, ${row?.version.split(' ').slice(0, 2).join(' ')}${schema}`;
}

async function checkMigrations({ database }: Examined): Promise<string> {
  return `${await requireMigrated(database)} applied`;
}

/**
 * Checks that the current SECRET_KEY can decrypt all stored API keys. API keys sealed with a previous SECRET_KEY still
 * authenticate but can no longer be displayed.
 */
async function checkSecretKey(app: App): Promise<string> {
  const { opened, closed } = await countOpened(app);
  if (closed === 0) return opened === 0 ? 'there are no API keys yet' : `opens all API keys (${opened})`;
  throw new Error(`cannot open ${closed} of ${opened + closed} API keys: "secret-key renew" replaces them`);
}

async function checkOrganizations({ db }: App): Promise<string> {
  const count = await db.realm.count({ where: { deactivatedAt: null } });
  if (count === 0) throw new Error('there is none: create one with "org create"');
  return String(count);
}

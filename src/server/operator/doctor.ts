import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { App } from '../../access/context.ts';
import type { Config } from '../../platform/config.ts';
import { openDatabase } from '../../platform/db/client.ts';
import { requireMigrated } from '../../platform/db/migrate.ts';
import { readSlots } from '../../platform/db/replication.ts';
import { requireUnsealed } from '../../platform/db/seal.ts';
import { countOpened } from '../secret-key.ts';
import { checkCell } from './cells.ts';
import { leftDataWarning } from './left-data.ts';
import { checkAddress, checkDisk, checkFiles, checkMail, checkRedis, checkScanner } from './reach.ts';
import { checkTimes } from './times.ts';

/** The result of one check: its name, whether it passed, and a value or problem. */
interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** The parts of the app that a check can use if it does not read the tables of the service. */
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
 * Runs the checks that do not read tables, for a sealed database, and for one of an older or newer version. Changes nothing.
 * The result is never `ok`.
 */
export async function examineOtherVersion(config: Config): Promise<Findings> {
  const database = await openDatabase(config);
  try {
    const examined = { config, database, db: database.db };
    const findings: Finding[] = [];
    for (const [check, look] of CHECKS) findings.push(await find(check, () => look(examined)));
    for (const [check] of CHECKS_OF_TABLES) {
      findings.push({ check, ok: false, detail: 'not checked: this version cannot use the database as it is' });
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
  ['seal', checkSeal],
  ['migrations', checkMigrations],
  ['disk', checkDisk],
  ['redis', checkRedis],
  ['mail', checkMail],
  ['virus scanner', checkScanner],
];

/** The checks that read the tables of the service. */
const CHECKS_OF_TABLES: readonly (readonly [string, (app: App) => string | Promise<string>])[] = [
  ['secret key', checkSecretKey],
  ['organizations', checkOrganizations],
  ['moves', checkMoves],
  ['replication slots', checkSlots],
  ['cell', checkCell],
  ['times', checkTimes],
  ['files', checkFiles],
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

/** Checks that the data of the database was not copied to another one. */
async function checkSeal({ database }: Examined): Promise<string> {
  await requireUnsealed(database);
  return 'not sealed';
}

async function checkMigrations({ database }: Examined): Promise<string> {
  return `${await requireMigrated(database)} applied`;
}

/**
 * Checks that the current SECRET_KEY can decrypt all stored API keys. API keys sealed with a previous SECRET_KEY still
 * authenticate but can no longer be displayed.
 */
async function checkSecretKey(app: App): Promise<string> {
  const { opened, closed, previous } = await countOpened(app);
  if (closed === 0) {
    if (opened === 0) return 'there are no API keys yet';
    const rest = previous === 0 ? 'none with SECRET_KEY_PREVIOUS' : `${previous} with SECRET_KEY_PREVIOUS`;
    return `opens all API keys (${opened})${app.config.previousSecretKey === undefined ? '' : `; ${rest}`}`;
  }
  throw new Error(`cannot open ${closed} of ${opened + closed} API keys: "secret-key renew" replaces them`);
}

/**
 * Checks that no move of an organization is unfinished. A move in progress counts as unfinished. The error message contains the
 * command that completes or undoes the move.
 */
async function checkMoves({ db }: App): Promise<string> {
  const moves = await db.organizationMove.findMany({ orderBy: { organizationId: 'asc' } });
  const unfinished = moves.filter(({ state, organization }) => state !== 'moved' || organization !== null);
  if (unfinished.length > 0) {
    const listed = unfinished.map(({ subdomain, state, place }) => {
      const command = `npm run cli -- org move "${subdomain}"`;
      if (state === 'arriving') {
        return (
          `"${subdomain}" is being copied from ${place} to here, where it is not in use. Finish or undo it there; or if that ` +
          `cannot be reached, remove the copy: ${command} --abort`
        );
      }
      if (state === 'leaving') {
        return (
          `"${subdomain}" is being copied to ${place}, and in use here. Repeat the command to finish, add --abort to undo it; or ` +
          `if the other database cannot be reached: ${command} --abort`
        );
      }
      return (
        `"${subdomain}" has moved to ${place}. Requests there are answered as soon as its server has applied the switch. ` +
        `Remove the rows here: ${command} --to -`
      );
    });
    throw new Error(`${listed.join('. ')}. If a command is running, wait for its end`);
  }
  return moves.map(({ subdomain, place }) => `"${subdomain}" moved to ${place}`).join(', ') || 'none';
}

/** Checks that no replication slot of a move that has ended keeps the write-ahead log of the server. */
async function checkSlots({ database, db }: App): Promise<string> {
  if (database.kind === 'embedded') return 'none';
  const slots = await database.session(readSlots);
  const leaving = await db.organizationMove.count({ where: { state: 'leaving' } });
  const listed = slots.map(
    ({ name, bytes }) => `${name} keeps ${bytes === null ? 'no log' : `${Math.ceil(bytes / 2 ** 20)} MB of the log`}`,
  );
  const left = slots.filter(({ name, isActive }) => !isActive && (leaving === 0 || !name.startsWith('chat_move_')));
  if (left.length > 0) {
    const names = left.map(({ name }) => `SELECT pg_drop_replication_slot('${name}')`);
    throw new Error(
      `${listed.join('; ')}. The log of a slot that is not in use fills the disk. If no command is running: ${names.join('; ')}`,
    );
  }
  return listed.join('; ') || 'none';
}

async function checkOrganizations(app: App): Promise<string> {
  const warning = await leftDataWarning(app);
  if (warning !== undefined) throw new Error(warning);
  const { db } = app;
  const count = await db.organization.count({ where: { deactivatedAt: null } });
  if (count === 0) throw new Error('there is none: create one with "org create"');
  return String(count);
}

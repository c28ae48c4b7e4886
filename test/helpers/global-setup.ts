import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openRunFolder, useTemplate } from './data-dir.ts';
import { chooseSeed, IS_WHOLE } from './part.ts';
import { ServerProcess } from './process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server most tests share, each with an organisation of its own. */
    server: { readonly url: string; readonly dataDir: string };
  }
}

const ROOT = join(import.meta.dirname, '../..');
/** What one run leaves for the next. */
const CACHE = join(ROOT, 'node_modules/.cache/tests');
/** Where Node keeps compiled modules. */
const COMPILE_CACHE = 'NODE_COMPILE_CACHE';
/** Our choice: nobody runs tests for so long. */
const STALE_MS = 86_400_000;

/** Log levels of pino from which on something went wrong that should not. */
const ERROR = 50;

/** Starts the one server all tests share, on a database of its own, and ends both. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Everything the run starts compiles the same modules.
  process.env[COMPILE_CACHE] ??= join(CACHE, 'compiled');
  const removeFolder = openRunFolder();
  if (!IS_WHOLE)
    console.log(`A part of the wide matrices: TEST_SEED=${chooseSeed()} makes the same again, TEST_WHOLE=on all`);
  useTemplate(await findTemplate());
  const server = await ServerProcess.start();
  project.provide('server', { url: server.url, dataDir: server.dataDir });
  return async () => {
    const code = await server.stop();
    const lines = server.log().trimEnd().split('\n');
    const errors = lines.filter(isError);
    await server[Symbol.asyncDispose]();
    removeFolder();
    if (code !== 0) throw new Error(`The server ended with ${code ?? 'a signal'}:\n${lines.slice(-20).join('\n')}`);
    // Whatever the tests sent: an error here is a fault of the server's own.
    if (errors.length > 0) throw new Error(`The server logged ${errors.length} errors:\n${errors.join('\n')}`);
  };
}

/** A migrated database takes seconds to make, and is the same until a migration, or what runs it, changes. */
async function findTemplate(): Promise<string> {
  const template = join(CACHE, `database-${fingerprint()}`);
  if (existsSync(template)) return template;
  mkdirSync(CACHE, { recursive: true });
  const made = mkdtempSync(join(CACHE, 'making-'));
  const config = readConfig({ DATA_DIR: made });
  const database = await openDatabase(config);
  await migrate(config, database);
  await database.close();
  try {
    // Whole or not at all, even when a run is broken off.
    renameSync(made, template);
  } catch (error) {
    if (!existsSync(template)) throw error;
    // Another run was quicker.
    rmSync(made, { recursive: true, force: true });
  }
  for (const name of readdirSync(CACHE)) dropIfStale(join(CACHE, name));
  return template;
}

/** Other runs may still copy what was made lately. */
function dropIfStale(path: string): void {
  if (/(database|making)-\w+$/.test(path) && Date.now() - statSync(path).mtimeMs > STALE_MS) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Of all that decides what an empty database holds. */
function fingerprint(): string {
  const hash = createHash('sha256').update(process.version);
  const sources = globSync(['prisma/**/*.{sql,prisma}', 'src/platform/db/*.ts', 'package-lock.json'], { cwd: ROOT });
  for (const file of sources.toSorted()) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

function isError(line: string): boolean {
  return line.startsWith('{') && (JSON.parse(line) as { level: number }).level >= ERROR;
}

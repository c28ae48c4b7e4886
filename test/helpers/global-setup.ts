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
import { type Config, readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openRunFolder, useTemplate } from './data-dir.ts';
import { openTemplateDatabase } from './database.ts';
import { ServerProcess } from './process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server that most tests share, each with its own organizations. */
    server: { readonly url: string; readonly dataDir: string };
  }
}

const ROOT = join(import.meta.dirname, '../..');
/** Folder of files that are reused by later runs. */
const CACHE = join(ROOT, 'node_modules/.cache/tests');
/** Environment variable with the folder in which Node caches compiled modules. */
const COMPILE_CACHE = 'NODE_COMPILE_CACHE';
/** Age in milliseconds at which cached files are removed: longer than any run. */
const STALE_MS = 86_400_000;

/** Lowest pino level that counts as an error. */
const ERROR = 50;

/**
 * Starts the server that all tests share, on its own database. Returns a function that stops it and checks its log for
 * errors.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Shared by all processes of the run, because all of them compile the same modules.
  process.env[COMPILE_CACHE] ??= join(CACHE, 'compiled');
  const removeFolder = openRunFolder();
  useTemplate(await findTemplate());
  const { DATABASE_URL } = process.env;
  const dropTemplate = DATABASE_URL ? await openTemplateDatabase(DATABASE_URL, migrateAt) : undefined;
  const server = await ServerProcess.start();
  project.provide('server', { url: server.url, dataDir: server.dataDir });
  return async () => {
    const code = await server.stop();
    const lines = server.log().trimEnd().split('\n');
    const errors = lines.filter(isError);
    await server[Symbol.asyncDispose]();
    await dropTemplate?.();
    removeFolder();
    if (code !== 0) throw new Error(`The server ended with ${code ?? 'a signal'}:\n${lines.slice(-20).join('\n')}`);
    // No input may cause an error in the log.
    if (errors.length > 0) throw new Error(`The server logged ${errors.length} errors:\n${errors.join('\n')}`);
  };
}

/**
 * Returns a data directory with a migrated database. It takes seconds to create, and is cached until the migrations or
 * their runner change.
 */
async function findTemplate(): Promise<string> {
  const template = join(CACHE, `database-${fingerprint()}`);
  if (existsSync(template)) return template;
  mkdirSync(CACHE, { recursive: true });
  const made = mkdtempSync(join(CACHE, 'making-'));
  await migrated(readConfig({ DATA_DIR: made }));
  try {
    // The rename is atomic, even if a run is interrupted.
    renameSync(made, template);
  } catch (error) {
    if (!existsSync(template)) throw error;
    // Another run has created the template first.
    rmSync(made, { recursive: true, force: true });
  }
  for (const name of readdirSync(CACHE)) dropIfStale(join(CACHE, name));
  return template;
}

async function migrated(config: Config): Promise<void> {
  const database = await openDatabase(config);
  try {
    await migrate(config, database);
  } finally {
    await database.close();
  }
}

/** Creates the tables in a database of PostgreSQL. The key is for no data. */
const migrateAt = (url: string) => migrated(readConfig({ DATABASE_URL: url, SECRET_KEY: '0'.repeat(64) }));

/** Removes a cached folder if it is too old to be in use by another run. */
function dropIfStale(path: string): void {
  if (/(database|making)-\w+$/.test(path) && Date.now() - statSync(path).mtimeMs > STALE_MS) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Returns a hash of everything that determines the content of an empty database. */
function fingerprint(): string {
  const hash = createHash('sha256').update(process.version);
  const sources = globSync(['prisma/**/*.{sql,prisma}', 'src/platform/db/*.ts', 'package-lock.json'], { cwd: ROOT });
  for (const file of sources.toSorted()) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

function isError(line: string): boolean {
  return line.startsWith('{') && (JSON.parse(line) as { level: number }).level >= ERROR;
}

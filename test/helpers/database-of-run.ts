import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'vite';

const ROOT = join(import.meta.dirname, '..');
/** Helper that starts services on embedded databases, whatever the run uses. */
const IN_PROCESS = join(ROOT, 'helpers/in-process.ts');
/** Helper with the shared server. Its functions that use the database of the run call `requireDatabaseOfRun`. */
const SERVER = join(ROOT, 'helpers/server.ts');

/**
 * Matches names of the database of the run, and code that reads or passes on the environment, in a test file or its helpers.
 */
const OF_RUN = /DATABASE_URL|REDIS_URL|readConfig\(\)|child_process|worker_threads|\binject\(|\bimport\(/;
/** Matches further names, in test files only. Helpers contain them too, but only for callers that pass no service. */
const OF_RUN_IN_TEST = /\bserverOf\b|\bstartServer\b|process\.env/;

/** Matches the start of a call that creates an organization on the shared server, unless it passes a service as `on`. */
const CREATES = /\b(?:createOrganization|makeScene)\(/g;

/** Returns whether a module creates an organization on the shared server. */
function usesSharedServer(text: string): boolean {
  return [...text.matchAll(CREATES)].some(({ index, 0: start }) => {
    let [end, depth] = [index + start.length, 1];
    for (; depth > 0 && end < text.length; end++) depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
    return !/\bon\b/.test(text.slice(index, end));
  });
}

/** Returns the paths of the modules that a module imports by relative paths, without imports of types only. */
function importsOf(path: string, text: string): readonly string[] {
  const { staticImports } = parseSync(path, text).module;
  return staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => join(dirname(path), specifier));
}

const known = new Map<string, boolean>();

/**
 * Returns whether the tests of a file can differ between the embedded database and PostgreSQL. They cannot if the file uses
 * no service and no environment variables, or only services of `helpers/in-process.ts`, which have embedded databases in each
 * run.
 *
 * @param path Absolute path of the test file.
 */
export function usesDatabaseOfRun(path: string): boolean {
  const before = known.get(path);
  if (before !== undefined) return before;
  const result = readsRun(path);
  known.set(path, result);
  return result;
}

function readsRun(path: string): boolean {
  const text = readFileSync(path, 'utf8');
  if (OF_RUN.test(text) || OF_RUN_IN_TEST.test(text) || usesSharedServer(text)) return true;
  const reached = new Set(importsOf(path, text));
  const isInProcess = reached.has(IN_PROCESS);
  for (const module of reached) {
    if (module === SERVER && !isInProcess) return true;
    // The imports of these two helpers do not count: services in the process get their whole environment from the test, and
    // functions of the shared server throw in files that do not use the database of the run.
    if (module === SERVER || module === IN_PROCESS || isOutside(module)) continue;
    const source = readFileSync(module, 'utf8');
    if (OF_RUN.test(source) || usesSharedServer(source)) return true;
    for (const next of importsOf(module, source)) reached.add(next);
  }
  return false;
}

/** Returns whether a module does not belong to the tests. Modules of `src` read the environment only if a caller passes it. */
const isOutside = (module: string): boolean => relative(ROOT, module).startsWith('..') || !existsSync(module);

/**
 * Throws if `npm run test:postgres` leaves the running test file out. Called by helpers that use the database of the run, so
 * that a file with such tests is never left out.
 *
 * @param path Path of the running test file.
 * @throws {Error} If `usesDatabaseOfRun` is false for the file.
 */
export function requireDatabaseOfRun(path: string | undefined): void {
  if (path === undefined || usesDatabaseOfRun(path)) return;
  throw new Error(
    `${relative(ROOT, path)} uses the shared server, but is left out on PostgreSQL: pass \`on: serverOf()\`, or a service`,
  );
}

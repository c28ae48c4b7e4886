/**
 * Compares the schema and the SQL functions with the released ones. Fails if `CHANGES.md` does not list a breaking change of the
 * schema, or if nodes of the released version could not work with the functions. With the argument `release`, the current ones
 * become the released ones.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema, type GraphQLSchema, parse, print, visit } from 'graphql';
import { readMigrations } from '../src/platform/db/migrate.ts';
import { type FunctionFile, readFunctionFiles } from '../src/platform/db/sql-functions.ts';

const ROOT = join(import.meta.dirname, '..');
const RELEASED = 'test/released.graphql';
const RELEASED_FUNCTIONS = 'test/released-functions.json';
const CHANGES = 'src/api/CHANGES.md';

/** Heading of the changes that are not released yet. */
const NEXT = '## The next release\n';
/** Matches an entry: the date, the changed item, and the steps that clients must take. */
const ENTRY = /^\| (\d{4}-\d\d-\d\d) \| `([\w.@]+)`[^|]* \| [^|]*\w[^|]* \|$/;

/**
 * Compares the listed changes with the actual changes of the schema.
 *
 * @param changes Content of `CHANGES.md`. Entries of previous releases are ignored.
 * @returns One line for each breaking change that is not listed, for each incomplete entry, and for each entry about a
 * compatible change.
 */
export async function faultsOf(released: GraphQLSchema, now: GraphQLSchema, changes: string): Promise<string[]> {
  const breaking = (await diff(released, now)).filter(
    ({ criticality: { level } }) => level === CriticalityLevel.Breaking,
  );
  const [, next] = changes.split(NEXT);
  if (next === undefined) return [`${CHANGES} does not have the heading "${NEXT.trim()}"`];
  const rows = (next.split(/^## /m)[0] ?? '').split('\n').filter((line) => /^\| (?!Date |---)/.test(`${line} `));
  const entries = rows.map((row) => ({ row, path: ENTRY.exec(row)?.[2] }));
  const listed = new Set(entries.map(({ path }) => path));
  const paths = new Set(breaking.map(({ path }) => path));
  return [
    ...breaking.filter(({ path }) => !listed.has(path)).map(({ path, message }) => `${path}: ${message}, not listed`),
    ...entries.filter(({ path }) => path === undefined).map(({ row }) => `${row}: lacks a date, a path or what to do`),
    ...entries.filter(({ path }) => path !== undefined && !paths.has(path)).map(({ path }) => `${path}: breaks nobody`),
  ];
}

/** Removes the descriptions of a schema, which are not part of the contract. */
export const withoutDescriptions = (sdl: string): string =>
  `${print(visit(parse(sdl), { StringValue: (_, key) => (key === 'description' ? null : undefined) }))}\n`;

/** A released file of `prisma/functions`. */
interface ReleasedFile {
  readonly name: string;
  readonly version: number;
  readonly hash: string;
  /** Names, parameters and results of its functions. */
  readonly signatures: readonly string[];
}

export const asReleased = ({ name, version, sql }: FunctionFile): ReleasedFile => ({
  ...{ name, version },
  hash: createHash('sha256').update(sql).digest('hex'),
  signatures: [...sql.replaceAll(/--.*/g, '').matchAll(/^CREATE OR REPLACE FUNCTION ("\w+"\(.*?)\sLANGUAGE\s/gms)].map(
    ([, signature = '']) => signature.replaceAll(/\s+/g, ' ').trim(),
  ),
});

/**
 * Compares SQL functions with the released ones, which nodes of the released version call.
 *
 * @param migrations SQL of all migrations. A function may be missing if one of them drops it.
 * @returns One line for each function that is gone or has other parameters or results, and for each file that was changed but
 * has the released version number.
 */
export function functionFaultsOf(
  released: readonly ReleasedFile[],
  files: readonly FunctionFile[],
  migrations: readonly string[],
): string[] {
  const now = files.map(asReleased);
  const sql = migrations.join('\n');
  // A migration can drop a function and create it again.
  const isDropped = (name: string) =>
    sql.lastIndexOf(`DROP FUNCTION ${name}`) >
    Math.max(sql.lastIndexOf(`CREATE FUNCTION ${name}`), sql.lastIndexOf(`CREATE OR REPLACE FUNCTION ${name}`));
  const signatures = new Set(now.flatMap((file) => file.signatures));
  const gone = released
    .flatMap((file) => file.signatures)
    .filter((signature) => !signatures.has(signature))
    .filter((signature) => !isDropped(/^"\w+"/.exec(signature)?.[0] ?? ''));
  const sameVersion = released.filter((old) =>
    now.some(({ name, version, hash }) => name === old.name && version <= old.version && hash !== old.hash),
  );
  return [
    ...gone.map(
      (signature) => `${signature} is gone or differs: give the new function another name, and keep this one`,
    ),
    ...sameVersion.map(
      ({ name, version }) => `${name} differs from version ${version}: its first line needs the next number`,
    ),
  ];
}

// `npm run check` runs this file as a script.
if (import.meta.main) {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  if (process.argv[2] === 'release') {
    writeFileSync(join(ROOT, RELEASED), withoutDescriptions(read('schema.graphql')));
    writeFileSync(join(ROOT, RELEASED_FUNCTIONS), `${JSON.stringify(readFunctionFiles().map(asReleased), null, 2)}\n`);
  } else {
    const [released, now] = [RELEASED, 'schema.graphql'].map((file) => buildSchema(read(file))) as [
      GraphQLSchema,
      GraphQLSchema,
    ];
    const faults = await faultsOf(released, now, read(CHANGES));
    for (const fault of faults) console.error(`${CHANGES}: ${fault}`);
    const functionFaults = functionFaultsOf(
      JSON.parse(read(RELEASED_FUNCTIONS)) as ReleasedFile[],
      readFunctionFiles(),
      readMigrations().map(({ sql }) => sql),
    );
    for (const fault of functionFaults) console.error(`prisma/functions: ${fault}`);
    process.exitCode = faults.length + functionFaults.length > 0 ? 1 : 0;
  }
}

/**
 * Compares the schema with the released one. Fails if `CHANGES.md` does not list a breaking change. With the argument
 * `release`, the current schema becomes the released one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema, type GraphQLSchema, parse, print, visit } from 'graphql';

const ROOT = join(import.meta.dirname, '..');
const RELEASED = 'test/released.graphql';
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

// `npm run check` runs this file as a script.
if (import.meta.main) {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  if (process.argv[2] === 'release') {
    writeFileSync(join(ROOT, RELEASED), withoutDescriptions(read('schema.graphql')));
  } else {
    const [released, now] = [RELEASED, 'schema.graphql'].map((file) => buildSchema(read(file))) as [
      GraphQLSchema,
      GraphQLSchema,
    ];
    const faults = await faultsOf(released, now, read(CHANGES));
    for (const fault of faults) console.error(`${CHANGES}: ${fault}`);
    process.exitCode = faults.length > 0 ? 1 : 0;
  }
}

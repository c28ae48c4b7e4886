/**
 * Compares the schema and the SQL functions with those of the last minor version. Fails if `CHANGES.md` does not list a breaking
 * change of the schema, if the released version did not deprecate the changed member, if the documents of the released page are
 * not valid any more, or if nodes of the released version could not work with the functions. With the argument `release`, stores
 * the current schema, documents and functions as those of the version in `package.json`.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import {
  buildSchema,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  NoUnusedFragmentsRule,
  parse,
  print,
  specifiedRules,
  validate,
  visit,
} from 'graphql';
import { readMigrations } from '../src/platform/db/migrate.ts';
import { type FunctionFile, readFunctionFiles } from '../src/platform/db/sql-functions.ts';

const ROOT = join(import.meta.dirname, '..');
const RELEASED = 'test/released.graphql';
const RELEASED_DOCUMENTS = 'test/released-documents.graphql';
const RELEASED_FUNCTIONS = 'test/released-functions.json';
const CHANGES = 'src/api/CHANGES.md';

/** Heading of the changes that are not released yet. */
const NEXT = '## The next release\n';
/**
 * Matches a row of the table: date, changed item, and steps that clients must take. The item is a path, or the beginning of
 * paths followed by `*`. After a `*`, a text in backquotes limits the row to changes whose description contains that text.
 */
const ENTRY =
  /^\| \d{4}-\d\d-\d\d \| (?:`(?<path>[\w.@]+)`[^|]*|`(?<start>[\w.]+)\*`[^|`]*`(?<text>[^|`]+)`[^|]*) \| [^|]*\w[^|]* \|$/;

/** A breaking change, as the comparison of two schemas describes it. */
interface Breaking {
  readonly path?: string | undefined;
  readonly message: string;
}

/** Returns a predicate: whether a row of `CHANGES.md` is about a given change. Undefined if the row does not match `ENTRY`. */
function readEntry(row: string): ((change: Breaking) => boolean) | undefined {
  const { path, start, text = '' } = ENTRY.exec(row)?.groups ?? {};
  if (path !== undefined) return (change) => change.path === path;
  if (start === undefined) return undefined;
  return (change) => change.path?.startsWith(start) === true && change.message.includes(text);
}

async function breakingChanges(released: GraphQLSchema, now: GraphQLSchema): Promise<readonly Breaking[]> {
  const changes = await diff(released, now);
  return changes.filter(({ criticality: { level } }) => level === CriticalityLevel.Breaking);
}

/**
 * Returns one line for each breaking change that clients could not prepare for: the released version did not deprecate the
 * member, and clients can reach it without deprecated members.
 */
export async function suddenFaultsOf(released: GraphQLSchema, now: GraphQLSchema): Promise<string[]> {
  const lasting = lastingTypes(released);
  return (await breakingChanges(released, now))
    .filter((change) => !isDeprecated(released, lasting, lostInterface(change) ?? change.path ?? ''))
    .map(({ path, message }) => `${path}: ${message}, but the released version did not deprecate it`);
}

/** The interface that a type no longer implements after a change. */
const lostInterface = ({ message }: Breaking) => /no longer implements '(\w+)' interface$/.exec(message)?.[1];

/** Whether a schema deprecates the member at a path such as `Query.events.after`, or all members that lead to its type. */
function isDeprecated(schema: GraphQLSchema, lasting: ReadonlySet<GraphQLNamedType>, path: string): boolean {
  const [typename = '', name = '', argument] = path.split('.');
  const type = schema.getType(typename);
  if (type === undefined) return false;
  if (!lasting.has(type)) return true;
  if (isEnumType(type)) return type.getValue(name)?.deprecationReason != null;
  if (isInputObjectType(type)) return type.getFields()[name]?.deprecationReason != null;
  if (!isObjectType(type) && !isInterfaceType(type)) return false;
  const field = type.getFields()[name];
  const arg = field?.args.find((one) => one.name === argument);
  return field?.deprecationReason != null || arg?.deprecationReason != null;
}

/**
 * Returns the types that clients can reach without deprecated members. An interface that no field returns, with a single type,
 * is only the former name of this type, and does not count.
 */
function lastingTypes(schema: GraphQLSchema): ReadonlySet<GraphQLNamedType> {
  const found = new Set<GraphQLNamedType>();
  const walk = (type: GraphQLNamedType): void => {
    if (found.has(type)) return;
    found.add(type);
    if (isAbstractType(type)) schema.getPossibleTypes(type).forEach(walk);
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) {
        if (field.deprecationReason == null) walk(getNamedType(field.type));
      }
    }
    if (!isObjectType(type) && !isInterfaceType(type)) return;
    for (const one of type.getInterfaces()) if (schema.getPossibleTypes(one).length > 1) walk(one);
    for (const field of Object.values(type.getFields()).filter(({ deprecationReason }) => deprecationReason == null)) {
      walk(getNamedType(field.type));
      for (const arg of field.args) if (arg.deprecationReason == null) walk(getNamedType(arg.type));
    }
  };
  for (const root of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    if (root != null) walk(root);
  }
  return found;
}

/**
 * Validates the documents that the chat page of the released version sends against the current schema. Pages that were loaded
 * before an upgrade still send them. @returns One line for each error.
 */
export const documentFaultsOf = (documents: string, now: GraphQLSchema): string[] =>
  validate(
    now,
    parse(documents),
    specifiedRules.filter((rule) => rule !== NoUnusedFragmentsRule),
  ).map(({ message }) => `${message} An open page of the released version needs it`);

/** Matches versions whose schema is stored. Patch versions do not change the schema. */
const MINOR_VERSION = /^\d+\.\d+\.0$/;
/** First line of the stored schema. */
const headOf = (version: string): string => `# Version ${version}\n`;

/**
 * Checks that a version can be released.
 *
 * @param stored The stored schema of the last release.
 * @throws Error if it is a patch version, or not later than the last release.
 */
export function requireNewMinor(version: string, stored: string): void {
  const [, last = '0.0.0'] = /^# Version (\S+)\n/.exec(stored) ?? [];
  const [now = [], before = []] = [version, last].map((text) => text.split('.').map(Number));
  const isLater = now[0] !== before[0] ? (now[0] ?? 0) > (before[0] ?? 0) : (now[1] ?? 0) > (before[1] ?? 0);
  if (!MINOR_VERSION.test(version) || !isLater) {
    throw new Error(`The version in package.json must be a minor version after ${last}, not ${version}`);
  }
}

/** The type that a change removes from a union. */
const removedMember = ({ message }: Breaking) => /^Member '(\w+)' was removed from Union/.exec(message)?.[1];

/**
 * Compares the listed changes with the actual changes of the schema.
 *
 * @param changes Content of `CHANGES.md`. Entries of previous releases are ignored.
 * @returns One line for each breaking change that is not listed, for each incomplete entry, and for each entry about a
 * compatible change. The entry of a removed type is also about the unions that had it.
 */
export async function faultsOf(released: GraphQLSchema, now: GraphQLSchema, changes: string): Promise<string[]> {
  const breaking = await breakingChanges(released, now);
  const [, next] = changes.split(NEXT);
  if (next === undefined) return [`${CHANGES} does not have the heading "${NEXT.trim()}"`];
  const rows = (next.split(/^## /m)[0] ?? '').split('\n').filter((line) => /^\| (?!Date |---)/.test(`${line} `));
  const entries = rows.map((row) => ({ row, isAbout: readEntry(row) }));
  const isListed = (change: Breaking) => entries.some(({ isAbout }) => isAbout?.(change));
  const isMemberListed = (change: Breaking) => {
    const path = removedMember(change);
    return path !== undefined && now.getType(path) === undefined && isListed({ path, message: '' });
  };
  return [
    ...breaking
      .filter((change) => !isListed(change) && !isMemberListed(change))
      .map(({ path, message }) => `${path}: ${message}, not listed`),
    ...entries
      .filter(({ isAbout }) => isAbout === undefined)
      .map(({ row }) => `${row}: lacks a date, a path or what to do`),
    ...entries
      .filter(({ isAbout }) => isAbout !== undefined && !breaking.some((change) => isAbout(change)))
      .map(({ row }) => `${row}: breaks nobody`),
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
  /** Names, parameters and results of the functions that the file defines. */
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
    const { version } = JSON.parse(read('package.json')) as { version: string };
    requireNewMinor(version, read(RELEASED));
    writeFileSync(join(ROOT, RELEASED), headOf(version) + withoutDescriptions(read('schema.graphql')));
    const documents = globSync('src/web/**/*.graphql', { cwd: ROOT }).sort().map(read).join('\n');
    writeFileSync(join(ROOT, RELEASED_DOCUMENTS), `${print(parse(documents))}\n`);
    writeFileSync(join(ROOT, RELEASED_FUNCTIONS), `${JSON.stringify(readFunctionFiles().map(asReleased), null, 2)}\n`);
  } else {
    const [released, now] = [RELEASED, 'schema.graphql'].map((file) => buildSchema(read(file))) as [
      GraphQLSchema,
      GraphQLSchema,
    ];
    const faults = [
      ...(await faultsOf(released, now, read(CHANGES))),
      ...(await suddenFaultsOf(released, now)),
      ...documentFaultsOf(read(RELEASED_DOCUMENTS), now),
    ];
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

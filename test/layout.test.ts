import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ADVISORY_LOCKS } from '../src/platform/db/advisory-lock.ts';
import { readMigrations } from '../src/platform/db/migrate.ts';
import { faultsOf, readTree } from './layout.ts';

const SRC = join(import.meta.dirname, '../src');
const tree = readTree(SRC);
/** The page of the chat has its own ways. */
const isPage = (file: string) => file.startsWith('web/');
const files = tree.files.filter((file) => !isPage(file));
const imports = tree.imports.filter(({ from }) => !isPage(from));
const texts = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));

/** The lists of all API files, and of all state: the only places that know every feature. */
const isList = (file: string) => file.startsWith('server/registries/');
/** Of a long feature, one file for what it shows, and others for its events, its mutations, its pages. */
const isGraphQL = (file: string) => /\/graphql(-[a-z]+)?\.ts$/.test(file);
const isApiFile = (file: string) => (isGraphQL(file) || file.endsWith('/rest.ts')) && !file.startsWith('api/');

describe('the check of the layout', () => {
  const planted = (from: string, to: string) => ({ files, imports: [...imports, { from, to }] });

  test('finds nothing in the tree as it is', () => {
    expect(imports.length).toBeGreaterThan(3 * files.length);
    expect(faultsOf(tree)).toEqual([]);
  });

  test.for([
    ['platform/text.ts', 'messages/access.ts'],
    ['channels/hooks.ts', 'administration/bots/defaults.ts'],
    // On one floor stand entries that do not know each other.
    ['markdown/escape.ts', 'platform/text.ts'],
  ] as const)('finds an import upward: %s of %s', ([from, to]) => {
    expect(faultsOf(planted(from, to))).toContain(`${from} imports ${to}, which does not stand below it`);
  });

  test.for([
    ['web/main.tsx', 'platform/text.ts'],
    ['server/start.ts', 'web/api/store.ts'],
  ] as const)('finds an import between the page and the service: %s of %s', ([from, to]) => {
    expect(faultsOf(planted(from, to))).toContain(`${from} imports ${to}: web stands apart`);
  });

  test('finds a circle of files, of types alone as well', () => {
    const [{ from = '', to = '' } = {}] = imports.filter(
      (one) => one.from.startsWith('messages/') && one.to.startsWith('messages/'),
    );
    const faults = faultsOf(planted(to, from));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^a circle of \d+ files: /);
    const typesAlone = texts.get('events/context.ts') ?? '';
    expect(typesAlone).toContain("import type { StoredEvent } from './stored.ts'");
    expect(imports).toContainEqual({ from: 'events/context.ts', to: 'events/stored.ts' });
  });

  test('finds a file that stands nowhere, and a tree that is not ours', () => {
    expect(faultsOf({ files: [...files, 'helpers/things.ts'], imports })).toEqual([
      'helpers/things.ts stands on no floor',
    ]);
    expect(faultsOf({ files: files.slice(0, 299), imports: [] })).toEqual(['only 299 files were seen']);
  });
});

test('no rule is in an API file: nothing but other API files and the lists imports one', () => {
  const broken = imports.filter(({ from, to }) => !isApiFile(from) && isApiFile(to) && !isList(from));
  expect(broken).toEqual([]);
});

test('the two API files of a feature never meet', () => {
  const broken = imports.filter(
    ({ from, to }) => (from.endsWith('/rest.ts') && isGraphQL(to)) || (isGraphQL(from) && to.endsWith('/rest.ts')),
  );
  expect(broken).toEqual([]);
});

test('only API files, the kits and the server know Hono, Yoga, Pothos or GraphQL', () => {
  const transport = /from '(hono|@hono|graphql|@pothos|ws)[/'a-z-]/;
  const broken = files.filter(
    (file) => !isApiFile(file) && !/^(api|server)\//.test(file) && transport.test(texts.get(file) ?? ''),
  );
  expect(broken).toEqual([]);
});

test('the environment is read in one place', () => {
  const broken = files.filter((file) => file !== 'platform/config.ts' && /process\.env\b/.test(texts.get(file) ?? ''));
  expect(broken).toEqual([]);
});

test('the numbers of advisory locks stand in one table, those in the SQL of migrations too', () => {
  const numbersIn = (text: string) =>
    [...text.matchAll(/pg_(?:try_)?advisory\w*\(\s*(\d+)/g)].map(([, number]) => Number(number));
  expect(files.filter((file) => numbersIn(texts.get(file) ?? '').length > 0)).toEqual([]);
  const inMigrations = readMigrations().flatMap(({ sql }) => numbersIn(sql));
  expect(new Set(inMigrations)).toEqual(new Set(Object.values(ADVISORY_LOCKS.inMigrations)));
  const withId = Object.values({ ...ADVISORY_LOCKS.ofOne, ...ADVISORY_LOCKS.inMigrations });
  expect(new Set(withId).size).toBe(withId.length);
});

test('no file is a barrel, and no folder is a drawer', () => {
  expect(files.filter((file) => /(^|\/)(index\.ts$|utils?\/|helpers?\/|common\/)/.test(file))).toEqual([]);
  const exporting = files.filter((file) => /^export \* from|^export default/m.test(texts.get(file) ?? ''));
  expect(exporting).toEqual([]);
});

test('every feature has its API files and its state in the lists', () => {
  const known = new Set(imports.filter(({ from }) => isList(from)).map(({ to }) => to));
  const parts = files.filter((file) => isApiFile(file) || (/\/state\.ts$/.test(file) && !file.startsWith('server/')));
  expect(parts.filter((file) => !known.has(file))).toEqual([]);
});

test('wire names stay at the edge, and with who handles wire forms', () => {
  const edge = /(^|\/)(rest|wire|events|errors|state|render|openapi)\.ts$|^(api\/rest|events|server)\//;
  const handlesWire = (file: string) =>
    imports.some(({ from, to }) => from === file && /\/(wire|events|errors)\.ts$/.test(to));
  const broken = files.filter(
    (file) => !edge.test(file) && !handlesWire(file) && /\bstream_ids?\b/.test(texts.get(file) ?? ''),
  );
  expect(broken).toEqual([]);
});

test('the Node asked for has what the service uses, and is older than the one installed', () => {
  const read = (file: string) => readFileSync(join(SRC, '..', file), 'utf8');
  const { engines, dependencies } = JSON.parse(read('package.json'));
  const versionOf = (text: string) => text.replace('>=', '').split('.').map(Number);
  const isAtLeast = ([major = 0, minor = 0]: number[], [wanted = 0, least = 0]: number[]) =>
    major > wanted || (major === wanted && minor >= least);
  const asked = versionOf(engines.node);
  // `shouldUpgradeCallback`: before it, whoever offers another protocol with a request gets no answer to it.
  expect(isAtLeast(asked, [24, 9])).toBe(true);
  expect(isAtLeast(versionOf(dependencies.node), asked)).toBe(true);
  expect(JSON.parse(read('package-lock.json')).packages[''].engines).toEqual(engines);
  expect(read('README.md')).toContain(`the service itself needs ${asked.join('.')}`);
});

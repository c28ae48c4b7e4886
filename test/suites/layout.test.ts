import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/platform/db/advisory-lock.ts';
import { readMigrations } from '../../src/platform/db/migrate.ts';
import { readFunctionFiles } from '../../src/platform/db/sql-functions.ts';
import { faultsOf, missingPackages, packagesOf, readTree } from '../layout.ts';

const SRC = join(import.meta.dirname, '../../src');
const tree = readTree(SRC);
/** Returns whether a file belongs to the chat page, to which other rules apply. */
const isPage = (file: string) => file.startsWith('web/');
const files = tree.files.filter((file) => !isPage(file));
const imports = tree.imports.filter(({ from }) => !isPage(from));
const texts = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));

/** Returns whether a file declares a feature, from its API files and its state. */
const isFeature = (file: string) => /\/feature\.ts$/.test(file) && !file.startsWith('api/');
const LIST = 'server/registries/features.ts';
/** Returns whether a file defines GraphQL types. A large feature has several: for its types, events, mutations and pages. */
const isGraphQL = (file: string) => /\/graphql(-[a-z]+)?\.ts$/.test(file);
const isApiFile = (file: string) => (isGraphQL(file) || file.endsWith('/rest.ts')) && !file.startsWith('api/');

describe('the check of the layout', () => {
  const planted = (from: string, to: string) => ({ ...tree, imports: [...tree.imports, { from, to }] });

  test('finds nothing in the current tree', () => {
    expect(imports.length).toBeGreaterThan(3 * files.length);
    expect(faultsOf(tree)).toEqual([]);
  });

  test.for([
    ['platform/text.ts', 'messages/access.ts'],
    ['channels/hooks.ts', 'administration/bots/defaults.ts'],
    // Two entries of one floor. These must not import each other.
    ['markdown/escape.ts', 'platform/text.ts'],
    // Subfolders with floors of their own.
    ['api/graphql/loading/context.ts', 'api/graphql/schema/builder.ts'],
    ['web/ui/button.tsx', 'web/drafts/drafts.ts'],
    ['web/drafts/keeper.ts', 'web/snippets/snippet-menu.tsx'],
  ] as const)('finds an import upward: %s of %s', ([from, to]) => {
    expect(faultsOf(planted(from, to))).toContain(`${from} imports ${to}, which does not stand below it`);
  });

  test.for([
    ['web/main.tsx', 'platform/text.ts'],
    ['server/start.ts', 'web/base/store.ts'],
  ] as const)('finds an import between the page and the service: %s of %s', ([from, to]) => {
    expect(faultsOf(planted(from, to))).toContain(`${from} imports ${to}: web stands apart`);
  });

  test('finds circular imports, also of types only', () => {
    const [{ from = '', to = '' } = {}] = imports.filter(
      (one) => one.from.startsWith('messages/') && one.to.startsWith('messages/'),
    );
    const faults = faultsOf(planted(to, from)).filter((fault) => /^a circle of \d+ files: /.test(fault));
    expect(faults).toHaveLength(1);
    const typesAlone = texts.get('events/context.ts') ?? '';
    expect(typesAlone).toContain("import type { StoredEvent } from './stored.ts'");
    expect(imports).toContainEqual({ from: 'events/context.ts', to: 'events/stored.ts' });
  });

  test.for([
    // Two folders import each other, or a folder and a file beside it do.
    [
      'messages/drafts/service.ts',
      'messages/scheduled/service.ts',
      'messages/scheduled/service.ts',
      'messages/drafts/wire.ts',
    ],
    [
      'channels/reads.ts',
      'channels/subscriptions/membership.ts',
      'channels/subscriptions/colors.ts',
      'channels/reads.ts',
    ],
    ['web/drafts/keeper.ts', 'web/snippets/snippet-menu.tsx', 'web/snippets/snippet-menu.tsx', 'web/drafts/drafts.ts'],
  ] as const)('finds folders that import each other: %s → %s, %s → %s', ([from, to, from2, to2]) => {
    const faults = faultsOf({ ...tree, imports: [...tree.imports, { from, to }, { from: from2, to: to2 }] });
    expect(faults.filter((fault) => /^a circle of \d+ folders: /.test(fault))).toHaveLength(1);
  });

  test('finds no circle if API files import the core of a folder whose API files import them', () => {
    const added = [
      { from: 'messages/drafts/graphql.ts', to: 'messages/scheduled/totals.ts' },
      { from: 'messages/scheduled/graphql.ts', to: 'messages/drafts/wire.ts' },
    ];
    expect(faultsOf({ files, imports: [...imports, ...added] })).toEqual([]);
  });

  test.for(['helpers/things.ts', 'api/graphql/helpers.ts', 'web/helpers/things.tsx'])(
    'finds a file on no floor: %s',
    (file) => {
      expect(faultsOf({ ...tree, files: [...tree.files, file] })).toEqual([`${file} stands on no floor`]);
    },
  );

  test('finds a tree that is not this one', () => {
    expect(faultsOf({ files: files.slice(0, 299), imports: [] })).toEqual(['only 299 files were seen']);
  });
});

test('API files contain no rules: only other API files and the declarations of features import them', () => {
  const broken = imports.filter(({ from, to }) => !isApiFile(from) && isApiFile(to) && !isFeature(from));
  expect(broken).toEqual([]);
});

test('the two API files of a feature do not import each other', () => {
  const broken = imports.filter(
    ({ from, to }) => (from.endsWith('/rest.ts') && isGraphQL(to)) || (isGraphQL(from) && to.endsWith('/rest.ts')),
  );
  expect(broken).toEqual([]);
});

test('only API files, the kits and the server import Hono, Yoga, Pothos or GraphQL', () => {
  const transport = /from '(hono|@hono|graphql|@pothos|ws)[/'a-z-]/;
  const broken = files.filter(
    (file) => !isApiFile(file) && !/^(api|server)\//.test(file) && transport.test(texts.get(file) ?? ''),
  );
  expect(broken).toEqual([]);
});

test('the environment is read in one module', () => {
  // `start.ts` passes the environment to the process that replaces it.
  const readers = ['platform/config.ts', 'start.ts'];
  const broken = files.filter((file) => !readers.includes(file) && /process\.env\b/.test(texts.get(file) ?? ''));
  expect(broken).toEqual([]);
});

test('all numbers of advisory locks are in one table, including those in SQL functions', () => {
  const numbersIn = (text: string) =>
    [...text.matchAll(/pg_(?:try_)?advisory\w*\(\s*(\d+)/g)].map(([, number]) => Number(number));
  expect(files.filter((file) => numbersIn(texts.get(file) ?? '').length > 0)).toEqual([]);
  const inSql = [...readMigrations(), ...readFunctionFiles()].flatMap(({ sql }) => numbersIn(sql));
  expect(new Set(inSql)).toEqual(new Set(Object.values(ADVISORY_LOCKS.inSqlFunctions)));
  const withId = Object.values({ ...ADVISORY_LOCKS.ofOne, ...ADVISORY_LOCKS.inSqlFunctions });
  expect(new Set(withId).size).toBe(withId.length);
});

test('declarations for tests import only types from helpers that read all declarations, which would wait for each other', () => {
  const folder = join(import.meta.dirname, '../features');
  const helpers =
    /^import (?!type).*'\.\.\/helpers\/(features|scene|client-state|equivalents|rest-calls|graphql-calls)\.ts'/m;
  const broken = readdirSync(folder).filter((file) => helpers.test(readFileSync(join(folder, file), 'utf8')));
  expect(broken).toEqual([]);
});

test('no file only exports others, and no folder is a collection of helpers', () => {
  expect(files.filter((file) => /(^|\/)(index\.ts$|utils?\/|helpers?\/|common\/)/.test(file))).toEqual([]);
  const exporting = files.filter((file) => /^export \* from|^export default/m.test(texts.get(file) ?? ''));
  expect(exporting).toEqual([]);
});

test('features declare all API files and all state, and one list contains all features', () => {
  const declared = new Set(imports.filter(({ from }) => isFeature(from)).map(({ to }) => to));
  const parts = files.filter((file) => isApiFile(file) || /\/state\.ts$/.test(file));
  expect(parts.filter((file) => !declared.has(file))).toEqual([]);
  const listing = imports.filter(({ to }) => isFeature(to));
  expect(listing.map(({ from }) => from).filter((from) => from !== LIST)).toEqual([]);
  expect(listing.map(({ to }) => to).sort()).toEqual(files.filter(isFeature).sort());
});

test('components of the page read data by useData alone, which never returns data of other variables', () => {
  const reading = tree.files.filter(
    (file) => isPage(file) && /\buse(Query|Fragment)\b/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(reading).toEqual(['web/api/use-data.ts']);
});

test('names of the REST interface occur only in edge modules, and in modules that import wire forms', () => {
  const edge = /(^|\/)(rest|wire|events|errors|state|render|openapi)\.ts$|^(api\/rest|events|server)\//;
  const handlesWire = (file: string) =>
    imports.some(({ from, to }) => from === file && /\/(wire|events|errors)\.ts$/.test(to));
  const broken = files.filter(
    (file) => !edge.test(file) && !handlesWire(file) && /\bstream_ids?\b/.test(texts.get(file) ?? ''),
  );
  expect(broken).toEqual([]);
});

const read = (file: string) => readFileSync(join(SRC, '..', file), 'utf8');

test('the required Node version has the features in use, and no installed version is older', () => {
  const { engines, optionalDependencies } = JSON.parse(read('package.json'));
  const versionOf = (text: string) => text.replace('>=', '').split('.').map(Number);
  const isAtLeast = ([major = 0, minor = 0]: number[], [wanted = 0, least = 0]: number[]) =>
    major > wanted || (major === wanted && minor >= least);
  const asked = versionOf(engines.node);
  // The option `shouldUpgradeCallback` exists since this version of Node. Without it, a request to upgrade to another protocol
  // gets no response.
  expect(isAtLeast(asked, [24, 9])).toBe(true);
  const runtimes = Object.entries<string>(optionalDependencies).filter(([name]) => name.startsWith('node-'));
  expect(runtimes.length).toBeGreaterThan(3);
  expect(runtimes.filter(([, version]) => !isAtLeast(versionOf(version), asked))).toEqual([]);
  expect(JSON.parse(read('package-lock.json')).packages[''].engines).toEqual(engines);
  expect(read('README.md')).toContain(`the service itself needs ${asked.join('.')}`);
});

describe('the packages', () => {
  const manifest = JSON.parse(read('package.json'));
  const imported = packagesOf(SRC);

  test('imported by the service and the page are installed in production', () => {
    // The imports include a scoped package, a package with a path, and a package that only the chat page uses.
    expect([...imported.keys()]).toEqual(expect.arrayContaining(['@urql/exchange-graphcache', 'graphql', 'react']));
    expect(missingPackages(imported, manifest)).toEqual([]);
  });

  test('are reported if they are development packages only', () => {
    const { '@urql/exchange-graphcache': _, ...dependencies } = manifest.dependencies;
    expect(missingPackages(imported, { ...manifest, dependencies })).toEqual([
      expect.stringMatching(/^web\/.* imports @urql\/exchange-graphcache, which is not in the dependencies/),
    ]);
  });

  test('all have a checksum in the lock file, and none runs an install script that downloads others', () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    const { '': _, ...locked } = packages as Readonly<
      Record<string, { integrity?: string; resolved?: string; hasInstallScript?: true }>
    >;
    expect(Object.entries(locked).filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
    expect(Object.entries(locked).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    const scripted = Object.keys(locked).filter((path) => locked[path]?.hasInstallScript === true);
    const refused = Object.entries(manifest.allowScripts).filter(([, isAllowed]) => isAllowed === false);
    expect(scripted).toEqual(refused.map(([name]) => `node_modules/${name}`));
  });

  test('contain the Node runtime of each supported platform, locked', () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    const platforms = Object.keys(manifest.optionalDependencies).map((name) => {
      const { os, cpu, version, bin } = packages[`node_modules/${name}`];
      expect([version, Object.keys(bin)]).toEqual([manifest.optionalDependencies[name], ['node']]);
      return `${os} ${cpu}`;
    });
    expect(platforms.toSorted()).toEqual(['darwin arm64', 'darwin x64', 'linux arm64', 'linux x64', 'win32 x64']);
  });
});

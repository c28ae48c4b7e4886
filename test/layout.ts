import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'vite';

/** Name of folders with generated files, which are not checked. */
const GENERATED = 'generated';

/**
 * The floors of a folder, from bottom to top, by the path of the folder; `''` is `src`. An entry is a file or subfolder
 * directly in the folder. A file of the folder imports only from its own entry and from entries on lower floors.
 *
 * @see src/README.md
 * @see src/web/README.md
 */
export const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '': [
    [GENERATED, 'contract'],
    ['platform', 'markdown'],
    ['events'],
    ['access'],
    ['api'],
    ['people'],
    ['channels'],
    ['messages'],
    ['administration'],
    ['server'],
    ['main.ts', 'cli.ts'],
    ['start.ts'],
    ['web'],
  ],
  'api/graphql': [['loading'], ['schema'], ['documents'], ['execution'], ['transports']],
  web: [
    [GENERATED, 'base', 'build'],
    ['api'],
    ['live', 'ui'],
    ['keyboard', 'routing'],
    ['emoji', 'markdown'],
    ['people', 'reactions', 'type-ahead', 'typing'],
    ['groups', 'notifications', 'writing'],
    ['drafts', 'reminders', 'scheduled', 'snippets'],
    ['composer'],
    ['message-actions', 'session'],
    ['administration', 'messages', 'topics'],
    ['channels', 'conversation', 'inbox', 'search', 'settings'],
    ['sidebar'],
    ['app', 'worker'],
    ['main.tsx'],
  ],
};

/**
 * Returns whether a file belongs to the API layer of its folder: types and endpoints of one API, the loaders of GraphQL, and
 * the declaration of the feature. The other files of the folder are its core, which imports no API file.
 */
const isOfApi = (file: string): boolean => /\/(feature|graphql(-[a-z]+)*|rest|([a-z]+-)*loaders)\.ts$/.test(file);

/**
 * Entry with the code that runs in browsers. It shares only the modules of `contract` with the service, and the service does
 * not import it.
 */
const APART = 'web';

/** Entry with the rules that the chat page and the service share. */
const SHARED = 'contract';

/** Minimum number of files. If there are fewer, the check reads the wrong folder. */
const FEWEST_FILES = 300;

/** One import between two files of `src`, including imports of types only. Paths are relative to `src`. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** Whether the import is dynamic. Circular imports are harmless if one of them is dynamic. */
  readonly isLate?: boolean;
}

/** The files of a module tree and their imports. */
export interface Tree {
  readonly files: readonly string[];
  readonly imports: readonly Import[];
}

/** Reads every module below a folder, and its imports within the folder. */
export function readTree(root: string): Tree {
  const files = globSync('**/*.{ts,tsx}', { cwd: root, exclude: [GENERATED, `${APART}/${GENERATED}`] }).map((file) =>
    file.replaceAll('\\', '/'),
  );
  const imports = files.flatMap((from) =>
    specifiersOf(from, readFileSync(join(root, from), 'utf8'))
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier, isLate }) => ({
        from,
        to: normalize(join(dirname(from), specifier)).replaceAll('\\', '/'),
        ...(isLate && { isLate }),
      })),
  );
  return { files, imports };
}

/** Returns the static imports and re-exports of a module, including types, and its dynamic imports. */
function specifiersOf(file: string, text: string): { readonly specifier: string; readonly isLate: boolean }[] {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const { staticImports, staticExports, dynamicImports } = module;
  const dynamic = dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1));
  const exported = staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? []));
  const atOnce = new Set([...staticImports.map((one) => one.moduleRequest.value), ...exported]);
  return [
    ...[...atOnce].map((specifier) => ({ specifier, isLate: false })),
    ...dynamic.filter((specifier) => !atOnce.has(specifier)).map((specifier) => ({ specifier, isLate: true })),
  ];
}

/** The dependencies in a package.json. */
export type Manifest = Readonly<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>;

/** Returns the packages that the modules below a folder import, each with the first importing file. */
export function packagesOf(root: string): ReadonlyMap<string, string> {
  const packages = new Map<string, string>();
  for (const file of globSync('**/*.{ts,tsx}', { cwd: root, exclude: ['**/generated/**'] })) {
    for (const { specifier } of specifiersOf(file, readFileSync(join(root, file), 'utf8'))) {
      const name = /^(?![.]|node:)(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
      if (name !== undefined && !packages.has(name)) packages.set(name, file);
    }
  }
  return packages;
}

/** Returns one line for each package that the service imports, but that an installation without development packages lacks. */
export const missingPackages = (packages: ReadonlyMap<string, string>, { dependencies }: Manifest): string[] =>
  [...packages]
    .filter(([name]) => !(name in dependencies))
    .map(([name, file]) => `${file} imports ${name}, which is not in the dependencies of package.json`);

const entryOf = (file: string): string => file.split('/')[0] ?? '';

/** Returns one line for each file of a folder that is on no floor, and for each import from its own or a higher floor. */
function faultsOnFloors(folder: string, floors: readonly (readonly string[])[], { files, imports }: Tree): string[] {
  const prefix = folder === '' ? '' : `${folder}/`;
  const isInside = (file: string) => file.startsWith(prefix);
  const entryIn = (file: string) => entryOf(file.slice(prefix.length));
  const floorOf = (file: string) => floors.findIndex((floor) => floor.includes(entryIn(file)));
  return [
    ...files.filter((file) => isInside(file) && floorOf(file) === -1).map((file) => `${file} stands on no floor`),
    ...imports
      .filter(({ from, to }) => isInside(from) && isInside(to) && entryIn(from) !== entryIn(to))
      .filter(({ from, to }) => floorOf(to) >= floorOf(from))
      .map(({ from, to }) => `${from} imports ${to}, which does not stand below it`),
  ];
}

/**
 * Checks a tree for files that are on no floor, imports from their own or a higher floor, and circular imports of files or of
 * folders.
 *
 * @returns One line for each fault.
 */
export function faultsOf(tree: Tree): string[] {
  const { files, imports } = tree;
  const few = files.length < FEWEST_FILES ? [`only ${files.length} files were seen`] : [];
  const misplaced = Object.entries(FLOORS).flatMap(([folder, floors]) => faultsOnFloors(folder, floors, tree));
  const across = imports
    .filter(({ from, to }) => entryOf(to) !== SHARED && (entryOf(from) === APART) !== (entryOf(to) === APART))
    .map(({ from, to }) => `${from} imports ${to}: ${APART} stands apart`);
  const eager = imports.filter(({ isLate }) => isLate !== true);
  const circles = circlesOf(eager).map((circle) => `a circle of ${circle.length} files: ${circle.join(' → ')}`);
  const folderCircles = circlesOf(eager.flatMap(betweenParts)).map(
    (circle) => `a circle of ${circle.length} folders: ${circle.join(' → ')}`,
  );
  return [...few, ...misplaced, ...across, ...circles, ...folderCircles];
}

/**
 * Returns the part of an entry that contains a file. If the file lies directly in the entry, the part is the file itself.
 * Otherwise the part is the core or the API layer of the file's subfolder.
 */
function partOf(file: string): string {
  const [entry = '', subfolder = '', ...rest] = file.split('/');
  if (rest.length === 0) return file;
  return `${entry}/${subfolder}${isOfApi(file) && entry !== 'api' ? ' (API)' : ''}`;
}

/** Returns an import between two parts of the same entry, with the parts in place of the files. Empty for all other imports. */
function betweenParts({ from, to }: Import): Import[] {
  if (entryOf(from) !== entryOf(to) || partOf(from) === partOf(to)) return [];
  return [{ from: partOf(from), to: partOf(to) }];
}

/** Returns the cycles of imports: the strongly connected components with more than one file, found with Tarjan's algorithm. */
function circlesOf(imports: readonly Import[]): string[][] {
  const next = Map.groupBy(imports, ({ from }) => from);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const at = order.size;
    order.set(file, at);
    let low = at;
    open.push(file);
    for (const { to } of next.get(file) ?? []) {
      if (!order.has(to)) low = Math.min(low, visit(to));
      else if (open.includes(to)) low = Math.min(low, order.get(to) ?? low);
    }
    lowest.set(file, low);
    if (low === at) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle);
    }
    return low;
  };
  for (const file of next.keys()) if (!order.has(file)) visit(file);
  return circles;
}

// `npm run check` runs this file as a script.
if (import.meta.main) {
  const source = join(import.meta.dirname, '../src');
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as Manifest;
  const faults = [...faultsOf(readTree(source)), ...missingPackages(packagesOf(source), manifest)];
  for (const fault of faults) console.error(fault);
  process.exit(faults.length > 0 ? 1 : 0);
}

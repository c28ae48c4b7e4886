import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'vite';

/** Name of folders with generated files, which are not checked. */
const GENERATED = 'generated';

/**
 * The floors of `src`, from bottom to top. A module may import only modules on lower floors, and modules in its own entry. The
 * entry of a file is the first part of its path.
 *
 * @see src/README.md
 */
export const FLOORS: readonly (readonly string[])[] = [
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
];

/** Folders whose subfolders have an order, from bottom to top. A file imports only from its own subfolder and those below it. */
export const ORDERED: Readonly<Record<string, readonly string[]>> = {
  'api/graphql': ['loading', 'schema', 'documents', 'execution', 'transports'],
};

/**
 * Returns whether a file belongs to the API layer of its folder: types and endpoints of one API, and the loaders of GraphQL. The
 * other files of the folder are its core, which imports no API file.
 */
const isOfApi = (file: string): boolean => /\/(graphql(-[a-z]+)*|rest|([a-z]+-)*loaders)\.ts$/.test(file);

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

/** Returns one line for each package that the service imports but that is not installed without development packages. */
export const missingPackages = (packages: ReadonlyMap<string, string>, { dependencies }: Manifest): string[] =>
  [...packages]
    .filter(([name]) => !(name in dependencies))
    .map(([name, file]) => `${file} imports ${name}, which is not in the dependencies of package.json`);

const entryOf = (file: string): string => file.split('/')[0] ?? '';
const floorOf = (file: string): number => FLOORS.findIndex((floor) => floor.includes(entryOf(file)));

/**
 * Checks a tree for files that are on no floor, imports from their own or a higher floor, and circular imports of files or of
 * folders.
 *
 * @returns One line for each fault.
 */
export function faultsOf({ files, imports }: Tree): string[] {
  const few = files.length < FEWEST_FILES ? [`only ${files.length} files were seen`] : [];
  const homeless = files.filter((file) => floorOf(file) === -1).map((file) => `${file} stands on no floor`);
  const upward = imports
    .filter(
      ({ from, to }) => floorOf(to) > floorOf(from) || (floorOf(to) === floorOf(from) && entryOf(to) !== entryOf(from)),
    )
    .map(({ from, to }) => `${from} imports ${to}, which does not stand below it`);
  const disordered = Object.entries(ORDERED).flatMap(([folder, order]) => {
    const placeOf = (file: string) => order.indexOf(file.slice(folder.length + 1).split('/')[0] ?? '');
    const isInside = (file: string) => file.startsWith(`${folder}/`);
    return [
      ...files
        .filter((file) => isInside(file) && placeOf(file) === -1)
        .map((file) => `${file} is in no listed subfolder`),
      ...imports
        .filter(({ from, to }) => isInside(from) && isInside(to) && placeOf(to) > placeOf(from))
        .map(({ from, to }) => `${from} imports ${to}, which is in a higher subfolder`),
    ];
  });
  const across = imports
    .filter(({ from, to }) => entryOf(to) !== SHARED && (entryOf(from) === APART) !== (entryOf(to) === APART))
    .map(({ from, to }) => `${from} imports ${to}: ${APART} stands apart`);
  const eager = imports.filter(({ isLate }) => isLate !== true);
  const circles = circlesOf(eager).map((circle) => `a circle of ${circle.length} files: ${circle.join(' → ')}`);
  const folderCircles = circlesOf(eager.flatMap(betweenParts)).map(
    (circle) => `a circle of ${circle.length} folders: ${circle.join(' → ')}`,
  );
  return [...few, ...homeless, ...upward, ...disordered, ...across, ...circles, ...folderCircles];
}

/**
 * Returns the part of its entry to which a file belongs: the file itself if it lies directly in the entry, otherwise the core or
 * the API layer of its subfolder.
 */
function partOf(file: string): string {
  const [entry = '', subfolder = '', ...rest] = file.split('/');
  if (rest.length === 0) return file;
  return `${entry}/${subfolder}${isOfApi(file) && entry !== 'api' ? ' (API)' : ''}`;
}

/** Returns an import as one between two parts of an entry. None for other imports, and for the page, whose parts are not ordered. */
function betweenParts({ from, to }: Import): Import[] {
  if (entryOf(from) !== entryOf(to) || entryOf(from) === APART || partOf(from) === partOf(to)) return [];
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

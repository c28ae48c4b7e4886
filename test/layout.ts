import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'vite';

/** Not written by anybody. */
const GENERATED = 'generated';

/**
 * The floors of `src`, from the ground up: what stands on one imports what stands below it, or on the same entry. The
 * longest name that a file's path begins with is its entry.
 *
 * @see src/README.md
 */
export const FLOORS: readonly (readonly string[])[] = [
  [GENERATED],
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
  ['web'],
];

/** Runs in browsers: it knows the service by its contract alone, and nothing of the service knows it. */
const APART = 'web';

/** Fewer mean that the check looks at the wrong folder, or reads no imports. */
const FEWEST_FILES = 300;

/** One import, of types alone or not, between two files of `src`: paths from there. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** Whether it is imported only when it comes to that: circles of such wait for nobody. */
  readonly isLate?: boolean;
}

/** What a tree of modules is made of. */
export interface Tree {
  readonly files: readonly string[];
  readonly imports: readonly Import[];
}

/** Reads every module below a folder, and what it imports of the others. */
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

/** Of a module: what it imports and exports from, types included, and what it imports when it gets there. */
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

const entryOf = (file: string): string => file.split('/')[0] ?? '';
const floorOf = (file: string): number => FLOORS.findIndex((floor) => floor.includes(entryOf(file)));

/**
 * What is wrong with a tree: files that stand on no floor, imports that go up or across a floor, and circles of files.
 *
 * @returns One line each; none when all is well.
 */
export function faultsOf({ files, imports }: Tree): string[] {
  const few = files.length < FEWEST_FILES ? [`only ${files.length} files were seen`] : [];
  const homeless = files.filter((file) => floorOf(file) === -1).map((file) => `${file} stands on no floor`);
  const upward = imports
    .filter(
      ({ from, to }) => floorOf(to) > floorOf(from) || (floorOf(to) === floorOf(from) && entryOf(to) !== entryOf(from)),
    )
    .map(({ from, to }) => `${from} imports ${to}, which does not stand below it`);
  const across = imports
    .filter(({ from, to }) => (entryOf(from) === APART) !== (entryOf(to) === APART))
    .map(({ from, to }) => `${from} imports ${to}: ${APART} stands apart`);
  const circles = circlesOf(imports.filter(({ isLate }) => isLate !== true)).map(
    (circle) => `a circle of ${circle.length} files: ${circle.join(' → ')}`,
  );
  return [...few, ...homeless, ...upward, ...across, ...circles];
}

/** The strongly connected parts of more than one file, by Tarjan's algorithm. */
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

// As a script: part of `npm run check`.
if (import.meta.main) {
  const faults = faultsOf(readTree(join(import.meta.dirname, '../src')));
  for (const fault of faults) console.error(fault);
  process.exit(faults.length > 0 ? 1 : 0);
}

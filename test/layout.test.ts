import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../src');
/** What every room stands on. */
const HALLS = ['db', 'rest', 'graphql', 'events'];
/** The lists of all doors, and of all state: the only places in a hall, or outside the rooms, that know every room. */
const LISTS = ['graphql/schema.ts', 'rest/routes.ts', 'event-queue/initial-state.ts'];

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = globSync('**/*.ts', { cwd: SRC }).filter((file) => !file.startsWith('generated/'));
const texts = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));
const imports: Import[] = files.flatMap((from) =>
  [...(texts.get(from) ?? '').matchAll(/^(?:import|export) (type )?(?:[^;]*? from )?'(\.[^']+\.ts)'/gm)].map(
    ([, type, path = '']) => ({ from, to: normalize(join(dirname(from), path)), typeOnly: type !== undefined }),
  ),
);

const room = (file: string) => file.split('/')[0] ?? '';
const isDoor = (file: string) => /\/(graphql|rest)\.ts$/.test(file);
const isHall = (file: string) => HALLS.includes(room(file));
const isList = (file: string) => LISTS.includes(file);

test('the imports of the whole tree are found', () => {
  expect(files.length).toBeGreaterThan(80);
  expect(imports.length).toBeGreaterThan(3 * files.length);
});

test('a core never imports a door', () => {
  const broken = imports.filter(({ from, to }) => !isDoor(from) && isDoor(to) && !isList(from));
  expect(broken).toEqual([]);
});

test('the two doors of a room never meet', () => {
  const broken = imports.filter(
    ({ from, to }) =>
      (/\/rest\.ts$/.test(from) && isDoor(to)) || (/\/graphql\.ts$/.test(from) && /\/rest\.ts$/.test(to)),
  );
  expect(broken).toEqual([]);
});

test('a hall imports no room, except its list of doors and sign-in', () => {
  const broken = imports.filter(
    ({ from, to }) =>
      isHall(from) && !isList(from) && to.includes('/') && !isHall(to) && !['auth', 'generated'].includes(room(to)),
  );
  expect(broken).toEqual([]);
});

test('only doors and halls know Hono, Yoga, Pothos or GraphQL', () => {
  const transport = /from '(hono|@hono|graphql|@pothos|ws)[/'a-z-]/;
  const broken = files.filter(
    (file) => !isDoor(file) && !isHall(file) && file.includes('/') && transport.test(texts.get(file) ?? ''),
  );
  expect(broken).toEqual([]);
});

test('the environment is read in one place', () => {
  const broken = files.filter((file) => file !== 'config.ts' && /process\.env\b/.test(texts.get(file) ?? ''));
  expect(broken).toEqual([]);
});

test('no file is a barrel, and no folder is a drawer', () => {
  expect(files.filter((file) => /(^|\/)(index\.ts$|utils?\/|helpers?\/|common\/)/.test(file))).toEqual([]);
  const exporting = files.filter((file) => /^export \* from|^export default/m.test(texts.get(file) ?? ''));
  expect(exporting).toEqual([]);
});

test('every room has its doors in the lists', () => {
  const known = new Set(imports.filter(({ from }) => isList(from)).map(({ to }) => to));
  const doors = files.filter((file) => (isDoor(file) || /\/state\.ts$/.test(file)) && !isHall(file));
  expect(doors.filter((file) => !known.has(file))).toEqual([]);
});

test('wire names stay at the edge, and with who handles wire forms', () => {
  const edge = /(^|\/)(rest|wire|events|errors|state|render|openapi)\.ts$|^(rest|events|pages)\//;
  const handlesWire = (file: string) =>
    imports.some(({ from, to }) => from === file && /\/(wire|events)\.ts$/.test(to));
  const broken = files.filter(
    (file) => !edge.test(file) && !handlesWire(file) && /\bstream_ids?\b/.test(texts.get(file) ?? ''),
  );
  expect(broken).toEqual([]);
});

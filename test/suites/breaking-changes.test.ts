import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { readMigrations } from '../../src/platform/db/migrate.ts';
import { readFunctionFiles } from '../../src/platform/db/sql-functions.ts';
import {
  asReleased,
  documentFaultsOf,
  faultsOf,
  functionFaultsOf,
  requireNewMinor,
  suddenFaultsOf,
  withoutDescriptions,
} from '../released.ts';

const sdl = readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8');
const bare = withoutDescriptions(sdl);
const HEAD = '# Changes\n\n## The next release\n\n| Date | What | What to do |\n|---|---|---|\n';

/**
 * Returns the faults that are found if `from` is replaced with `to` in the current schema.
 *
 * @param changes Content of `CHANGES.md`.
 */
function faultsWith(from: string, to: string, changes = HEAD): Promise<string[]> {
  const now = bare.replace(from, to);
  expect(now).not.toBe(bare);
  return faultsOf(buildSchema(bare), buildSchema(now), changes);
}

const TOPIC = '\n  topicLinks: [TopicLink!]!';

describe('the list of changes since the release', () => {
  test('is empty if nothing changed', async () => {
    expect(bare).not.toContain('"""');
    expect(await faultsOf(buildSchema(bare), buildSchema(sdl), HEAD)).toEqual([]);
  });

  test.for([
    ['a field that is gone', TOPIC, '', 'Message.topicLinks'],
    ['a field that may be null', TOPIC, '\n  topicLinks: [TopicLink!]', 'Message.topicLinks'],
    ['an argument that must be given', 'events(after: LongId,', 'events(after: LongId!,', 'Query.events.after'],
    [
      'a field of an input that must be given',
      '  content: String!\n  localId: String\n',
      '  content: String!\n  localId: String!\n',
      'SendMessageInput.localId',
    ],
    ['a value of an enum that is gone', '\n  HEARTBEAT\n', '\n', 'EventType.HEARTBEAT'],
    [
      'a member of a union that is gone',
      'union SendMessageResult = ConflictError | ',
      'union SendMessageResult = ',
      'SendMessageResult',
    ],
  ] as const)('contains: %s', async ([, from, to, path]) => {
    expect(await faultsWith(from, to)).toEqual([expect.stringMatching(`^${path}: .*, not listed$`)]);
    expect(await faultsWith(from, to, `${HEAD}| 2026-12-01 | \`${path}\` | Ask for something else. |\n`)).toEqual([]);
  });

  test.for([
    ['a field that is new', TOPIC, `${TOPIC}\n  also: Int`],
    ['a value of an enum that is new', '\n  HEARTBEAT\n', '\n  HEARTBEAT\n  ALSO\n'],
  ] as const)('need not contain a compatible change: %s', async ([, from, to]) => {
    expect(await faultsWith(from, to)).toEqual([]);
  });

  test.for([
    ['without a date', '| soon | `Message.topicLinks` | Look them up. |'],
    ['without what to do', '| 2026-12-01 | `Message.topicLinks` | |'],
    ['without a path', '| 2026-12-01 | the links of topics | Look them up. |'],
    ['of another release', '\n## 1.0\n\n| 2026-12-01 | `Message.topicLinks` | Look them up. |'],
  ])('is not satisfied by an entry %s', async ([, row]) => {
    expect(await faultsWith(TOPIC, '', `${HEAD}${row}\n`)).toContainEqual(expect.stringContaining('not listed'));
  });

  test('contains a type that is gone, but not each union that had it', async () => {
    const now = bare
      .replace(/^type BadImageError [^}]*}\n/m, '')
      .replaceAll(/ \| BadImageError\b|\bBadImageError \| /g, '');
    expect(now).not.toContain('BadImageError');
    const faults = (row: string) => faultsOf(buildSchema(bare), buildSchema(now), HEAD + row);
    expect((await faults('')).length).toBeGreaterThan(3);
    expect(await faults('| 2026-12-01 | `BadImageError` | Use another type. |\n')).toEqual([]);
  });

  test('can contain several items, with a text that their changes have in common', async () => {
    const faults = (to: string, row: string) => faultsWith(TOPIC, to, `${HEAD}${row}\n`);
    const row = '| 2026-12-01 | `Message.*` without `!` | Expect null. |';
    expect(await faults('\n  topicLinks: [TopicLink!]', row)).toEqual([]);
    expect(await faults('', row)).toContainEqual(expect.stringMatching(/^Message\.topicLinks: .*, not listed$/));
    expect(await faults('', '| 2026-12-01 | `Message.*` | Expect null. |')).toContainEqual(
      expect.stringContaining('lacks'),
    );
  });

  test('must not contain unchanged items', async () => {
    const row = '| 2026-12-01 | `Message.content` | Nothing. |\n';
    expect(await faultsOf(buildSchema(bare), buildSchema(bare), HEAD + row)).toEqual([
      expect.stringMatching(/`Message\.content`.*: breaks nobody$/),
    ]);
  });
});

describe('a breaking change since the release', () => {
  const released = `
    type Query { thing(id: ID, name: String @deprecated): Thing old: Old @deprecated }
    type Mutation { change(input: ChangeInput!): ChangeResult former(input: FormerInput!): FormerResult @deprecated }
    input ChangeInput { name: String title: String @deprecated }
    input FormerInput { name: String }
    union ChangeResult = Thing | Problem
    union FormerResult = Thing | Problem
    interface Event { position: Int! }
    interface FormerEvent implements Event { position: Int! }
    type Changed implements Event & FormerEvent { position: Int! }
    type Gone implements Event { position: Int! }
    type Subscription { events: Event! }
    type Thing { name: String! label: String! @deprecated size: Size! }
    type Problem { message: String! }
    type Old { name: String! }
    enum Size { SMALL LARGE HUGE @deprecated }`;
  const faults = (from: string, to: string) => {
    expect(released).toContain(from);
    return suddenFaultsOf(buildSchema(released), buildSchema(released.replace(from, to)));
  };

  test.for([
    ['a field', 'name: String! label', 'label', 'Thing.name'],
    ['the type of a field', 'type Thing { name: String!', 'type Thing { name: String', 'Thing.name'],
    ['an argument', 'id: ID, name', 'name', 'Query.thing.id'],
    ['a new argument that is required', 'thing(id: ID,', 'thing(id: ID, size: Size!,', 'Query.thing.size'],
    ['a field of an input', 'name: String title', 'title', 'ChangeInput.name'],
    ['a value of an enum', ' LARGE', '', 'Size.LARGE'],
    ['a member of a union', 'ChangeResult = Thing | Problem', 'ChangeResult = Thing', 'ChangeResult'],
    ['an event', 'type Gone implements Event { position: Int! }', '', 'Gone'],
  ] as const)('needs a deprecated predecessor: %s', async ([, from, to, path]) => {
    expect(await faults(from, to)).toEqual([expect.stringMatching(`^${path}: .*did not deprecate it$`)]);
  });

  test.for([
    ['a field', ' label: String! @deprecated', ''],
    ['a field with its type', ' old: Old @deprecated', ''],
    ['a field of a type that only it returns', 'type Old { name: String! }', 'type Old { title: String! }'],
    ['an argument', ', name: String @deprecated', ''],
    ['a field of an input', ' title: String @deprecated', ''],
    ['a value of an enum', ' HUGE @deprecated', ''],
    ['a mutation with its input and result', ' former(input: FormerInput!): FormerResult @deprecated', ''],
    ['a field of its input', 'input FormerInput { name: String }', 'input FormerInput { title: String! }'],
    ['a member of its result', 'FormerResult = Thing | Problem', 'FormerResult = Thing'],
    ['a former name of a type', 'Event & FormerEvent', 'Event'],
  ] as const)('is allowed for what the released version deprecated: %s', async ([, from, to]) => {
    expect(await faults(from, to)).toEqual([]);
  });

  test('may not make documents of the released page invalid', () => {
    const schema = buildSchema(released);
    expect(documentFaultsOf('query { thing { name label } } fragment Unused on Thing { name }', schema)).toEqual([]);
    expect(documentFaultsOf('query { thing { title } }', schema)).toEqual([expect.stringContaining('"title"')]);
  });

  test('is stored with minor versions only, each later than the one before', () => {
    const stored = `# Version 0.2.0\n${released}`;
    for (const version of ['0.3.0', '0.10.0', '1.0.0']) expect(() => requireNewMinor(version, stored)).not.toThrow();
    for (const version of ['0.2.0', '0.2.1', '0.3.1', '0.1.0']) {
      expect(() => requireNewMinor(version, stored)).toThrow('must be a minor version after 0.2.0');
    }
    expect(() => requireNewMinor('0.2.0', released)).not.toThrow();
  });
});

describe('the SQL functions since the release', () => {
  const files = readFunctionFiles();
  const released = files.map(asReleased);
  /** Returns the faults that are found if `from` is replaced with `to` in all files of SQL functions. */
  const faultsWith = (from: RegExp, to: string, { version = 0, migrations = [] as string[] } = {}) => {
    const changed = files.map((file) => ({
      ...file,
      sql: file.sql.replace(from, to),
      version: file.version + version,
    }));
    expect(changed.map(({ sql }) => sql)).not.toEqual(files.map(({ sql }) => sql));
    return functionFaultsOf(released, changed, migrations);
  };

  test('have signatures, and are compatible if nothing changed', () => {
    expect(released.flatMap(({ signatures }) => signatures)).toHaveLength(
      files.flatMap(({ sql }) => sql.match(/FUNCTION "/g) ?? []).length,
    );
    expect(functionFaultsOf(released, files, [])).toEqual([]);
  });

  test('need a new version if a body changes', () => {
    expect(faultsWith(/RETURN NULL/, 'RETURN NEW')).toContainEqual(
      expect.stringMatching(/^message_counts\.sql differs from/),
    );
    expect(faultsWith(/RETURN NULL/, 'RETURN NEW', { version: 1 })).toEqual([]);
  });

  test('keep their names, parameters and results until a migration drops them', () => {
    const gone = [expect.stringMatching(/^"hold_log"\(p_realm_id INTEGER, .+\) RETURNS BOOLEAN is gone or differs/)];
    expect(faultsWith(/"hold_log"/, '"hold_log_too"', { version: 1 })).toEqual(gone);
    expect(faultsWith(/p_harmless TEXT\[\]/, 'p_harmless TEXT[], p_more TEXT', { version: 1 })).toEqual(gone);
    expect(faultsWith(/RETURNS BOOLEAN/, 'RETURNS TEXT', { version: 1 })).toEqual(gone);
    const ofMigrations = readMigrations().map(({ sql }) => sql);
    const longer = { version: 1, migrations: ofMigrations };
    // A migration drops this function and creates it again.
    expect(faultsWith(/("send_message"\(\s*p_realm_id integer,)/, '$1 p_more text,', longer)).toEqual([
      expect.stringMatching(/^"send_message"\(.+ is gone or differs/),
    ]);
    const migrations = ['DROP FUNCTION "hold_log";'];
    expect(faultsWith(/"hold_log"/, '"hold_log_too"', { version: 1, migrations })).toEqual([]);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { readMigrations } from '../../src/platform/db/migrate.ts';
import { readFunctionFiles } from '../../src/platform/db/sql-functions.ts';
import { asReleased, faultsOf, functionFaultsOf, withoutDescriptions } from '../released.ts';

const sdl = readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8');
const bare = withoutDescriptions(sdl);
const HEAD = '# Changes\n\n## The next release\n\n| Date | What | What to do |\n|---|---|---|\n';

/**
 * Returns the faults if `from` is replaced with `to` in the current schema. @param changes The content of the page with the
 * changes.
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
      '\n  localId: String\n',
      '\n  localId: String!\n',
      'SendMessageInput.localId',
    ],
    ['a value of an enum that is gone', '\n  HEARTBEAT\n', '\n', 'EventType.HEARTBEAT'],
    [
      'a member of a union that is gone',
      'union SendMessageResult = BadRequestError | ',
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

  test('must not contain unchanged items', async () => {
    const row = '| 2026-12-01 | `Message.content` | Nothing. |\n';
    expect(await faultsOf(buildSchema(bare), buildSchema(bare), HEAD + row)).toEqual([
      'Message.content: breaks nobody',
    ]);
  });
});

describe('the SQL functions since the release', () => {
  const files = readFunctionFiles();
  const released = files.map(asReleased);
  /** Returns the faults if `from` is replaced with `to` in all files. */
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

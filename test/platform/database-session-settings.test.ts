import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cookieName } from '../../src/api/cookies.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { readConfig } from '../../src/platform/config.ts';
import { type Database, openDatabase } from '../../src/platform/db/client.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { requireUsableSettings } from '../../src/platform/db/rights.ts';
import { readRows } from '../../src/platform/db/rows.ts';
import { CHECKED_SETTINGS, POOL_SETTINGS, SESSION_SETTINGS } from '../../src/platform/db/session-settings.ts';
import { withSession } from '../../src/platform/db/sessions.ts';
import { createDatabase } from '../helpers/database.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization } from '../helpers/server.ts';

const { DATABASE_URL = '' } = process.env;
const SECRET_KEY = randomBytes(32).toString('hex');

/** Database settings that change no result and cause no failure, whatever their value. Keyed by the reason. */
const HARMLESS: Readonly<Record<string, RegExp>> = {
  'plans and costs: the rows are the same': new RegExp(
    '^(enable_.+|geqo.*|.*_cost|cpu_.+|jit_.+|.+_collapse_limit|constraint_exclusion|cursor_tuple_fraction|plan_cache_mode|' +
      'default_statistics_target|effective_cache_size|hash_mem_multiplier|recursive_worktable_factor|min_parallel_.+|' +
      'max_parallel_.+|parallel_.+|force_parallel_mode|debug_parallel_query|synchronize_seqscans|ignore_system_indexes)$',
  ),
  'memory, files and disk access: a statement is slower, or fails with the reason': new RegExp(
    '^(work_mem|maintenance_work_mem|logical_decoding_work_mem|temp_.+|(effective|maintenance)_io_concurrency|io_.+|' +
      'backend_flush_after|gin_pending_list_limit|max_stack_depth|default_tablespace|default_toast_compression|' +
      'file_copy_method|wal_.+|vacuum_.+|dynamic_library_path|extension_.+|.+preload_libraries|allow_in_place_tablespaces|' +
      'huge_page.*|lo_compat_privileges|output_plugin_libraries)$',
  ),
  'logs, statistics and display': new RegExp(
    '^(log_.+|debug_.+|trace_.+|track_.+|client_min_messages|backtrace_.+|compute_query_id|stats_fetch_consistency|' +
      'update_process_title|application_name|event_source|escape_string_warning|lc_messages|md5_password_warnings)$',
  ),
  'not used by the service: no statement, or only those of administrators, depend on it': new RegExp(
    '^(allow_system_table_mods|check_function_bodies|composite_type_mismatch|createrole_self_grant|password_encryption|' +
      'event_triggers|icu_validation_level|restrict_nonsystem_relation_kind|timezone_abbreviations|session_authorization|role|' +
      'zero_damaged_pages|ignore_checksum_failure|allow_alter_system|scram_iterations|post_auth_delay|' +
      'transaction_(deferrable|isolation|read_only))$',
  ),
  'when a wait or a commit ends: the time, not the result':
    /^(commit_delay|commit_siblings|deadlock_timeout|client_connection_check_interval)$/,
};

/** For each session setting, a value that an operator can have configured and that the service must override. */
const HOSTILE: Readonly<Record<keyof typeof SESSION_SETTINGS, string>> = {
  TimeZone: 'America/New_York',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  client_encoding: 'LATIN1',
  standard_conforming_strings: 'off',
  backslash_quote: 'off',
  array_nulls: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  quote_all_identifiers: 'on',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
  xmloption: 'document',
  lc_monetary: 'POSIX',
  lc_numeric: 'POSIX',
  lc_time: 'POSIX',
  default_text_search_config: 'pg_catalog.german',
  gin_fuzzy_search_limit: '1',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  default_table_access_method: 'heap',
  exit_on_error: 'on',
  jit: 'on',
  statement_timeout: '60000',
  lock_timeout: '1',
  idle_in_transaction_session_timeout: '1',
  idle_session_timeout: '60000',
  transaction_timeout: '60000',
  tcp_user_timeout: '77',
  tcp_keepalives_idle: '77',
  tcp_keepalives_interval: '77',
  tcp_keepalives_count: '77',
};

interface Ground {
  readonly url: string;
  /** Runs a statement in the database as its owner. */
  run(sql: string): Promise<pg.QueryResult>;
}

/**
 * Creates a database that is dropped at the end of the test.
 *
 * @param settings Session settings that are stored for the database.
 */
async function ground(settings: Readonly<Record<string, string>> = {}, options = ''): Promise<Ground> {
  const database = await createDatabase(DATABASE_URL, options);
  onTestFinished(() => database[Symbol.asyncDispose]());
  const owner = new pg.Client({ connectionString: DATABASE_URL });
  await owner.connect();
  const name = new URL(database.url).pathname.slice(1);
  for (const [setting, value] of Object.entries(settings)) {
    if (await isKnown(owner, setting)) await owner.query(`ALTER DATABASE ${name} SET ${setting} = ${quoted(value)}`);
  }
  await owner.end();
  return {
    url: database.url,
    async run(sql) {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      try {
        return await client.query(sql);
      } finally {
        await client.end();
      }
    },
  };
}

const quoted = (value: string) => `'${value}'`;
const isKnown = async (client: pg.Client, setting: string) =>
  (await client.query('SELECT current_setting($1, true) AS value', [setting])).rows[0].value !== null;

/**
 * Creates a database role that can create tables in the database.
 *
 * @param settings Session settings that are stored for the role.
 * @returns The URL of the database with this role.
 */
async function asRole({ url, run }: Ground, settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const role = `chat_test_${randomBytes(6).toString('hex')}`;
  await run(`CREATE ROLE ${role} LOGIN PASSWORD 'word'; GRANT ALL ON SCHEMA public TO ${role}`);
  onTestFinished(async () => void (await run(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
  for (const [setting, value] of Object.entries(settings)) await run(`ALTER ROLE ${role} SET ${setting} = ${value}`);
  return Object.assign(new URL(url), { username: role, password: 'word' }).href;
}

function withOptions(url: string, settings: Readonly<Record<string, string>>): string {
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`);
  const parsed = new URL(url);
  parsed.search = `?options=${encodeURIComponent(options.join(' '))}`;
  return parsed.href;
}

async function opened(url: string): Promise<Database> {
  const database = await openDatabase(readConfig({ DATABASE_URL: url, SECRET_KEY }));
  onTestFinished(() => database.close());
  return database;
}

const shown = (names: readonly string[]) =>
  Prisma.sql`SELECT n AS name, current_setting(n) AS value FROM unnest(${names}::text[]) AS u(n) WHERE current_setting(n, true) IS NOT NULL`;

interface Shown {
  readonly name: string;
  readonly value: string;
}
const asObject = (rows: readonly Shown[]) => Object.fromEntries(rows.map(({ name, value }) => [name, value]));

describe.skipIf(DATABASE_URL === '')('settings of the server, the database, the role and the connection', () => {
  test('each is set for every session, checked at the start, or known to be harmless', async () => {
    const { run } = await ground();
    const { rows } = await run(
      `SELECT name FROM pg_settings WHERE context IN ('user', 'superuser', 'backend', 'superuser-backend') AND name NOT LIKE '%.%'`,
    );
    const handled = new Set<string>([...Object.keys(SESSION_SETTINGS), ...CHECKED_SETTINGS, 'synchronous_commit']);
    const reasons = Object.values(HARMLESS);
    const open = rows.filter(({ name }) => !handled.has(name) && !reasons.some((names) => names.test(name)));
    expect(rows.length).toBeGreaterThan(150);
    expect(open).toEqual([]);
  });

  test.each(['database', 'role', 'connection'] as const)('none of a %s affects a session', async (where) => {
    const place = await ground(where === 'database' ? HOSTILE : {});
    const { rows: all } = await place.run('SELECT name FROM pg_settings');
    const onServer = new Set(all.map(({ name }) => name));
    const known = Object.fromEntries(Object.entries(HOSTILE).filter(([name]) => onServer.has(name)));
    const asSet = Object.fromEntries(Object.entries(known).map(([name, value]) => [name, quoted(value)]));
    const url =
      where === 'role'
        ? await asRole(place, asSet)
        : where === 'connection'
          ? withOptions(place.url, known)
          : place.url;
    const names = Object.keys(known);
    const reference = await opened((await ground()).url);
    const expected = asObject(await reference.db.$queryRaw<Shown[]>(shown(names)));
    const database = await opened(url);
    // Checks the settings in the sessions of the ORM's client, of one of its transactions, and of the reader that bypasses the
    // ORM.
    expect(asObject(await database.db.$queryRaw<Shown[]>(shown(names)))).toEqual(expected);
    const inTransaction = await database.db.$transaction((tx) => tx.$queryRaw<Shown[]>(shown(names)));
    expect(asObject(inTransaction)).toEqual(expected);
    expect(asObject(await readRows<Shown>(database.db, shown(names)))).toEqual(expected);
    // Checks the settings in a separate session, which migrations use for their lock and nodes for LISTEN.
    const { lock_timeout, idle_in_transaction_session_timeout } = SESSION_SETTINGS;
    const statement = shown(names);
    const { rows } = await withSession(url, (session) => session.query(statement.text, statement.values));
    expect(asObject(rows)).toEqual({ ...expected, lock_timeout, idle_in_transaction_session_timeout });
    // Checks the settings in the session of a migration script.
    await database.runScript(`CREATE TABLE found AS ${shown([]).text.replace('$1', `'{${names.join()}}'`)}`);
    expect(asObject((await place.run('SELECT name, value FROM found')).rows)).toMatchObject({ TimeZone: 'UTC' });
    expect(expected).toMatchObject({ TimeZone: 'UTC', statement_timeout: '0', lock_timeout: '4s' });
    expect(POOL_SETTINGS.lock_timeout).toBe('4000');
  });

  test.each([
    ['off', 'on'],
    ['local', 'local'],
    ['remote_apply', 'remote_apply'],
  ])('synchronous_commit %s of a database is %s in a session', async (set, found) => {
    const { url } = await ground({ synchronous_commit: set });
    const { db } = await opened(url);
    expect(asObject(await db.$queryRaw<Shown[]>(shown(['synchronous_commit'])))).toEqual({ synchronous_commit: found });
  });

  test('a service works on a database with the worst settings', async () => {
    const { url, run } = await ground(HOSTILE);
    await using service = await startInProcess({ env: { DATABASE_URL: url, SECRET_KEY } });
    const { owner, member } = await createOrganization({}, { on: service });
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'quay' }], principals: [member.id] });
    const seconds = () => Math.floor(Date.now() / 1000);
    const sentFrom = seconds();
    const content = 'a "quoted" \\ back\\slash, \u0422\u0438\u0445\u043e 灯台, it\'s 100 % NULL';
    const { id } = await member.ok('POST', '/messages', { type: 'channel', to: 'quay', topic: 'T', content });
    await member.ok('PATCH', `/messages/${id}`, { content: `${content} edited` });
    const at = seconds() + 3_600;
    const later = { type: 'channel', to: 1, topic: 'later', content: 'later', scheduled_delivery_timestamp: at };
    const channel = (await member.rest('GET', '/get_stream_id', { stream: 'quay' })).body['stream_id'];
    await member.ok('POST', '/scheduled_messages', { ...later, to: channel });
    const { scheduled_messages } = await member.ok('GET', '/scheduled_messages');
    expect(scheduled_messages).toMatchObject([{ scheduled_delivery_timestamp: at }]);
    const { messages } = await member.ok('GET', '/messages', {
      anchor: 'newest',
      num_before: 10,
      num_after: 0,
      apply_markdown: false,
    });
    const found = messages.find((message: { id: number }) => message.id === id);
    expect(found).toMatchObject({ content: `${content} edited` });
    for (const time of [found.timestamp, found.last_edit_timestamp]) {
      expect(time).toBeGreaterThanOrEqual(sentFrom);
      expect(time).toBeLessThanOrEqual(seconds());
    }
    const byGraphQL = await member.query('query { viewer { joinedAt } }');
    const joined = Date.parse(byGraphQL.viewer.joinedAt) / 1000;
    const { members } = await member.ok('GET', '/users');
    const { date_joined } = members.find((user: { user_id: number }) => user.user_id === member.id);
    expect(Math.abs(Date.parse(date_joined) / 1000 - joined)).toBeLessThan(60);
    expect(Math.abs(joined - sentFrom)).toBeLessThan(120);
    const search = {
      narrow: [{ operator: 'search', operand: 'quoted' }],
      anchor: 'newest',
      num_before: 10,
      num_after: 0,
    };
    expect((await member.ok('GET', '/messages', search)).messages).toHaveLength(1);
    // Reads the stored times in UTC.
    const { rows } = await run(`SET TimeZone = 'UTC';
      SELECT max(abs(extract(epoch FROM joined_at) - extract(epoch FROM now()))) < 300 AS near FROM user_account`).then(
      (results) => (results as unknown as pg.QueryResult[])[1] as pg.QueryResult,
    );
    expect(rows).toEqual([{ near: true }]);
  });

  test('a time limit shorter than any statement does not affect commands', async () => {
    const { url } = await ground({ statement_timeout: '1' });
    const migrated = await runProgram(['cli.ts', 'migrate'], { DATABASE_URL: url, SECRET_KEY });
    expect(migrated).toEqual({ code: 0, said: expect.stringMatching(/^applied: /) });
  });

  test('a time limit of the driver in the connection string is ignored', async () => {
    const { url } = await ground();
    const { db } = await opened(`${url}?query_timeout=1&statement_timeout=1&lock_timeout=1`);
    expect(await db.$queryRaw`SELECT 1 AS one FROM pg_sleep(0.1)`).toEqual([{ one: 1 }]);
  });
});

describe.skipIf(DATABASE_URL === '')('the schema of the tables', () => {
  const tablesIn = async ({ run }: Ground) => {
    const { rows } = await run(
      `SELECT schemaname AS name, count(*)::int AS n FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') GROUP BY 1`,
    );
    return Object.fromEntries(rows.map(({ name, n }) => [name, n > 40]));
  };
  const migrated = async (url: string) => migrate(readConfig({ DATABASE_URL: url, SECRET_KEY }), await opened(url));

  test('is the one that ?schema= names, also for statements of the ORM', async () => {
    const place = await ground();
    await place.run('CREATE SCHEMA "Chat, too"; CREATE TABLE public.message (id int)');
    const url = `${place.url}?schema=Chat%2C%20too`;
    await using service = await startInProcess({ env: { DATABASE_URL: url, SECRET_KEY } });
    const { member } = await createOrganization({}, { on: service });
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'kept' }] });
    expect(await service.app.db.draft.count()).toBe(1);
    expect(await tablesIn(place)).toEqual({ 'Chat, too': true, public: false });
    expect(service.app.database.schema()).toBe('Chat, too');
  });

  test('names the session cookie, however a node connects to it', async () => {
    const place = await ground();
    await place.run('CREATE SCHEMA chat; CREATE SCHEMA second');
    const nameAt = async (url: string) => {
      await using service = await startInProcess({ env: { DATABASE_URL: url, SECRET_KEY, PORT: '4000' } });
      return cookieName(service.app.config, 'session');
    };
    const url = `${place.url}?schema=chat`;
    const name = await nameAt(url);
    expect(await nameAt(withOptions(place.url, { search_path: 'chat' }))).toBe(name);
    expect(await nameAt(withOptions(place.url, { search_path: 'second,chat' }))).toBe(name);
    const second = await nameAt(`${place.url}?schema=second`);
    expect(second).not.toBe(name);
    expect(await nameAt(withOptions(place.url, { search_path: 'second' }))).toBe(second);
    const inPublic = await nameAt(`${place.url}?schema=public`);
    expect(new Set([name, second, inPublic]).size).toBe(3);
    expect(await nameAt(place.url)).toBe(inPublic);
    await place.run(`ALTER DATABASE ${new URL(place.url).pathname.slice(1)} SET search_path = chat`);
    expect(await nameAt(place.url)).toBe(name);
  });

  test("is the first existing one in search_path: of a role, of the connection, or with the user's name", async () => {
    const byRole = await ground();
    const url = await asRole(byRole, { search_path: 'nowhere, chat, public' });
    await byRole.run(`CREATE SCHEMA chat AUTHORIZATION ${new URL(url).username}`);
    expect(await migrated(url)).not.toEqual([]);
    const { db } = await opened(url);
    expect(await db.organization.count()).toBe(0);
    expect(await tablesIn(byRole)).toEqual({ chat: true });

    const byConnection = await ground();
    await byConnection.run('CREATE SCHEMA other');
    const other = withOptions(byConnection.url, { search_path: 'other' });
    expect(await migrated(other)).not.toEqual([]);
    expect(await tablesIn(byConnection)).toEqual({ other: true });
    // This schema was created later, but precedes the schema with the tables in the search path.
    await byConnection.run('CREATE SCHEMA earlier');
    const { db: again } = await opened(withOptions(byConnection.url, { search_path: 'earlier,other' }));
    expect(await again.organization.count()).toBe(0);
  });

  test('must exist, be usable, and not hide tables that were created before ?schema= had an effect', async () => {
    const place = await ground();
    const refused = async (url: string) => expect(opened(url).then(({ db }) => db.$queryRaw`SELECT 1`)).rejects;
    await (await refused(`${place.url}?schema=chat`)).toThrow(
      /^The schema "chat" .+ does not exist\. Create it: CREATE/,
    );
    await (await refused(withOptions(place.url, { search_path: 'nowhere' }))).toThrow(
      /search_path is nowhere, and the database role can use none/,
    );
    await place.run('CREATE SCHEMA chat');
    const role = await asRole(place);
    await (await refused(`${role}?schema=chat`)).toThrow(
      /role cannot use the schema "chat" .+ GRANT USAGE, CREATE ON SCHEMA "chat"/,
    );
    await place.run(`CREATE TABLE _prisma_migrations (migration_name text);
      INSERT INTO _prisma_migrations VALUES ('20261120000000_foundation')`);
    await (await refused(`${place.url}?schema=chat`)).toThrow(
      /"chat", which has no tables .* "public" has them, because previous/,
    );
    const started = await runProgram(['main.ts'], { DATABASE_URL: `${place.url}?schema=chat`, SECRET_KEY, PORT: '0' });
    expect(started).toEqual({
      code: 1,
      said: expect.stringMatching(/^DATABASE_URL names the schema "chat", which .+\.$/),
    });
    const { db } = await opened(withOptions(place.url, { search_path: 'chat' }));
    expect(await db.$queryRaw`SELECT current_schema() AS name`).toEqual([{ name: 'chat' }]);
  });
});

describe.skipIf(DATABASE_URL === '')(
  'a database that cannot store or compare names is refused with a clear message',
  () => {
    test.each([
      [
        `ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'`,
        /^The database's encoding is LATIN1, .+ENCODING 'UTF8' TEMPLATE template0\.$/,
      ],
      [`ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'`, /^The database's encoding is SQL_ASCII, /],
      [`LOCALE_PROVIDER icu ICU_LOCALE 'tr'`, /^The database's locale tr maps capital letters /],
      [`LOCALE_PROVIDER icu ICU_LOCALE 'az-AZ'`, /^The database's locale az-AZ maps capital letters /],
      [`LOCALE_PROVIDER icu ICU_LOCALE 'lt-u-kn'`, /^The database's locale lt-u-kn maps capital letters /],
    ])('%s', async (options, message) => {
      const { url } = await ground({}, `TEMPLATE template0 ${options}`);
      await expect(requireUsableSettings(await opened(url))).rejects.toThrow(message);
    });

    test('except for a locale of another language, or none', async () => {
      for (const options of [`LOCALE_PROVIDER icu ICU_LOCALE 'de'`, `LC_COLLATE 'C' LC_CTYPE 'C'`]) {
        const { url } = await ground({}, `TEMPLATE template0 ${options}`);
        await requireUsableSettings(await opened(url));
      }
    });

    test('session_replication_role = replica', async () => {
      const { url } = await ground({ session_replication_role: 'replica' });
      const { code, said } = await runProgram(['main.ts'], { DATABASE_URL: url, SECRET_KEY, PORT: '0' });
      expect([code, said]).toEqual([1, expect.stringMatching(/^session_replication_role is replica .+\.$/)]);
    });
  },
);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Config, readConfig } from '../../src/platform/config.ts';
import { type Database, openDatabase } from '../../src/platform/db/client.ts';
import { DataDirectoryInUseError } from '../../src/platform/db/lock.ts';
import { IncompatibleDatabaseError, migrate, readMigrations } from '../../src/platform/db/migrate.ts';
import { createDatabase } from '../helpers/database.ts';
import { migratedDatabase } from '../helpers/migrated.ts';

// The tests run one after another, each on the database that the previous one left.
describe('migrating', () => {
  let dataDir: string;
  let config: Config;
  let database: Database;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'chat-test-'));
    config = readConfig({ DATA_DIR: dataDir });
    database = await openDatabase(config);
  });
  afterAll(async () => {
    await database.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const names = readMigrations().map(({ name }) => name);
  /**
   * Migrations whose statements succeed also if they run a second time. Such a migration runs again if the record that it was
   * applied is missing.
   */
  const repeatable = [
    '20261128120000_search_without_statistics',
    '20261128130000_faster_folding',
    '20261129040000_sorted_names',
    '20261129050000_name_look_alikes',
    '20261129120000_database_seal',
    '20261129140000_name_words_by_case',
    '20261129150000_indexes_by_organization',
    '20261129150000_organization_moves',
    '20261129150000_sort_names_of_users',
    '20261129150010_replaced_indexes',
    '20261129150010_sort_names_of_old_users',
    '20261129150020_references_without_cascade',
    '20261129150020_users_by_sort_name',
    '20261129150030_references_validated',
    '20261129160000_cookie_id',
    '20261129200000_invitations',
    '20261129201000_password_resets',
    '20261130110100_sign_up',
    '20261130120000_audit_log',
    '20261130130000_attachments',
    '20261130140000_single_sign_on',
    '20261130150000_named_api_keys',
    '20261130150000_notifications',
    '20261130150000_organization_icon',
    '20261130160000_second_factor',
    '20261130170000_link_previews',
    '20261130180000_event_actors',
    '20261130180000_missed_message_ids',
    '20261130180000_passkeys',
    '20261130180000_stored_objects',
    '20261130180010_due_mail',
    '20261130190000_sessions_of_providers',
    '20261130210000_passkeys_alone',
    '20261130210000_phones',
    '20261201030000_organizations_by_visitors',
    '20261201040000_digests',
    '20261201120000_digest_queue',
    '20261201130000_declared_providers',
  ];

  test('adds checks to existing tables without reading their rows', () => {
    // Tables with one row.
    const small = ['log_epoch'];
    const recent = readMigrations().filter(({ name }) => name >= '20261130');
    const checks = recent.flatMap(({ name, sql }) =>
      [...sql.matchAll(/ALTER TABLE "(\w+)"([^;]*CHECK[^;]*);/g)].map(([, table = '', change = '']) => ({
        ...{ name, table, change },
        isNew: sql.includes(`CREATE TABLE IF NOT EXISTS "${table}"`) || sql.includes(`CREATE TABLE "${table}"`),
      })),
    );
    expect(checks.map(({ name }) => name)).toContain('20261130190000_sessions_of_providers');
    const slow = checks.filter(
      ({ table, change, isNew }) => !isNew && !small.includes(table) && !change.endsWith('NOT VALID'),
    );
    expect(slow).toEqual([]);
  });

  test('applies the missing migrations to an empty database, once', async () => {
    expect(await migrate(config, database)).toEqual(names);
    expect(await migrate(config, database)).toEqual([]);
  });

  test('completes a migration that ran before its process was killed', async () => {
    await database.db.$executeRaw`UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0`;
    expect(await migrate(config, database)).toEqual(repeatable);
    const rows = await database.db
      .$queryRaw`SELECT count(*)::int AS open FROM _prisma_migrations WHERE finished_at IS NULL`;
    expect(rows).toEqual([{ open: 0 }]);
  });

  test('runs a recorded migration again if its process was killed before it ran', async () => {
    await database.runScript(`
    CREATE SCHEMA kept; ALTER TABLE _prisma_migrations SET SCHEMA kept;
    DROP SCHEMA public CASCADE; CREATE SCHEMA public;
    ALTER TABLE kept._prisma_migrations SET SCHEMA public;
    UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0`);
    expect(await migrate(config, database)).toEqual(names);
    expect(await database.db.organization.count()).toBe(0);
  });

  test('changes the keys of an older database to start with the organization', async () => {
    const KEYS = '20261123230000_keys_by_organization';
    await database.runScript(`
    CREATE SCHEMA before; ALTER TABLE _prisma_migrations SET SCHEMA before; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
    ALTER TABLE before._prisma_migrations SET SCHEMA public; DROP SCHEMA before`);
    for (const { name, sql } of readMigrations()) if (name < KEYS) await database.runScript(sql);
    await database.runScript(`
    DELETE FROM _prisma_migrations WHERE migration_name >= '${KEYS}';
    INSERT INTO realm (subdomain, name) VALUES ('one', 'One'), ('two', 'Two');
    INSERT INTO event_counter (realm_id) SELECT id FROM realm;
    INSERT INTO user_account (realm_id, email, full_name) SELECT id, 'ann@example.com', 'Ann O’Neil' FROM realm;
    INSERT INTO channel (realm_id, name) SELECT id, 'general' FROM realm;
    INSERT INTO subscription (realm_id, user_id, channel_id, color)
      SELECT realm_id, id, (SELECT c.id FROM channel c WHERE c.realm_id = u.realm_id), '#ffffff' FROM user_account u;
    INSERT INTO read_mark SELECT realm_id, user_id, channel_id * 2, 7 FROM subscription;
    INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
      SELECT realm_id, user_id, channel_id, 'Topic', 1, now() FROM subscription`);
    const rows = () => database.db.$queryRaw`
      SELECT u.realm_id, u.id, s.channel_id, r.read_through, t.id AS topic, t.policy
      FROM user_account u JOIN subscription s ON s.user_id = u.id JOIN read_mark r ON r.user_id = u.id
      JOIN user_topic t ON t.user_id = u.id ORDER BY u.id`;
    const before = await rows();
    expect(before).toHaveLength(2);
    expect(await migrate(config, database)).toEqual(names.filter((name) => name >= KEYS));
    expect(await rows()).toEqual(before);
    const words = await database.db
      .$queryRaw`SELECT DISTINCT name_words AS words FROM user_account WHERE email = 'ann@example.com'`;
    expect(words).toEqual([{ words: 'ann oneil neil' }]);
    // Sequences continue after the highest id, and unique indexes still apply.
    const { organizationId, id } = await database.db.user.findFirstOrThrow({ orderBy: { id: 'desc' } });
    const bob = await database.db.user.create({ data: { organizationId, email: 'bob@example.com', fullName: 'Bob' } });
    expect(bob.id).toBe(id + 1);
    const again = database.db.user.create({ data: { organizationId, email: 'ANN@example.com', fullName: 'Ann' } });
    await expect(again).rejects.toMatchObject({ code: 'P2002' });
    const twice = database.db.$executeRaw`
      INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
      SELECT realm_id, user_id, channel_id, 'TOPIC', 2, now() FROM user_topic`;
    await expect(twice).rejects.toThrow('user_topic_lower_key');
    // Simulates a node that was killed after it ran a migration but before it recorded the migration. The next node detects
    // that the migration has run.
    await database.db.$executeRaw`
      UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0 WHERE migration_name >= ${KEYS}`;
    expect(await migrate(config, database)).toEqual(repeatable);
  });

  test('refuses a database that is newer than the code, and changes nothing', async () => {
    await database.db.$executeRaw`
    INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
    VALUES ('later', 'x', '29991231000000_from_the_future', now())`;
    const refusal = expect(migrate(config, database)).rejects;
    await refusal.toThrow(IncompatibleDatabaseError);
    await expect(migrate(config, database)).rejects.toThrow('29991231000000_from_the_future');
    await database.db.$executeRaw`DELETE FROM _prisma_migrations WHERE id = 'later'`;
  });

  test('refuses a database that was created with another version of a migration', async () => {
    await database.db.$executeRaw`UPDATE _prisma_migrations SET checksum = 'edited'`;
    await expect(migrate(config, database)).rejects.toThrow('a different version of migration');
  });

  test('refuses a data directory that another process has open', async () => {
    await expect(openDatabase(config)).rejects.toThrow(DataDirectoryInUseError);
  });
});

const { DATABASE_URL } = process.env;
const SECRET_KEY = 'migrating '.repeat(4);

test.skipIf(DATABASE_URL === undefined)(
  'a node that has migrated holds no lock, so that one of a later version can migrate meanwhile',
  async () => {
    await using fresh = await createDatabase(DATABASE_URL ?? '');
    const config = readConfig({ DATABASE_URL: fresh.url, SECRET_KEY });
    const database = await openDatabase(config);
    try {
      await migrate(config, database);
      const held = await database.db.$queryRaw`
        SELECT l.objid::int AS lock FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE l.locktype = 'advisory' AND d.datname = current_database()`;
      expect(held).toEqual([]);
    } finally {
      await database.close();
    }
  },
);

test.skipIf(DATABASE_URL === undefined)(
  'a migration waits for locks of other sessions, and neither it nor they fail by a deadlock',
  async () => {
    await using fresh = await createDatabase(DATABASE_URL ?? '');
    const config = readConfig({ DATABASE_URL: fresh.url, SECRET_KEY });
    const database = await openDatabase(config);
    const other = new pg.Client({ connectionString: fresh.url });
    await other.connect();
    try {
      await migrate(config, database);
      const SINCE = '20261127';
      const [old, missing] = [readMigrations(), readMigrations().filter(({ name }) => name >= SINCE)];
      await database.runScript(`
        CREATE SCHEMA before; ALTER TABLE _prisma_migrations SET SCHEMA before; DROP SCHEMA public CASCADE;
        CREATE SCHEMA public; ALTER TABLE before._prisma_migrations SET SCHEMA public; DROP SCHEMA before;
        DELETE FROM _prisma_migrations WHERE migration_name >= '${SINCE}'`);
      for (const { name, sql } of old) if (name < SINCE) await database.runScript(sql);
      await other.query('BEGIN; LOCK TABLE message IN ACCESS SHARE MODE');
      let isOver = false;
      const migrating = migrate(config, database).finally(() => {
        isOver = true;
      });
      await sleep(1_500);
      expect(isOver).toBe(false);
      // Takes the locks in the opposite order to the migration.
      await other.query('LOCK TABLE alert_word IN ACCESS SHARE MODE');
      await other.query('COMMIT');
      expect(await migrating).toEqual(missing.map(({ name }) => name));
    } finally {
      await other.end();
      await database.close();
    }
  },
);

/** Returns a database to its state before a migration, without rows. */
async function returnTo(database: Database, since: string): Promise<void> {
  await database.runScript(`
    CREATE SCHEMA before; ALTER TABLE _prisma_migrations SET SCHEMA before; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
    ALTER TABLE before._prisma_migrations SET SCHEMA public; DROP SCHEMA before;
    DELETE FROM _prisma_migrations WHERE migration_name >= '${since}'`);
  for (const { name, sql } of readMigrations()) if (name < since) await database.runScript(sql);
}

test.skipIf(DATABASE_URL === undefined)(
  'nodes of the previous version write while indexes are built, and an interrupted migration is completed',
  { timeout: 240_000 },
  async () => {
    await using fresh = await createDatabase(DATABASE_URL ?? '');
    const config = readConfig({ DATABASE_URL: fresh.url, SECRET_KEY });
    const database = await openDatabase(config);
    const [old, node] = [
      new pg.Client({ connectionString: fresh.url }),
      new pg.Client({ connectionString: fresh.url }),
    ];
    await Promise.all([old.connect(), node.connect()]);
    try {
      await migrate(config, database);
      const expected = (await definitionsIn(database)).map(({ definition }) => definition);
      await returnTo(database, '20261129150000');
      // An old transaction, for whose end the builds of indexes wait.
      await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM message');
      const building = `SELECT query FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE 'CREATE INDEX CONCURRENTLY%ON "message"%'`;
      const migrating = migrate(config, database);
      await vi.waitFor(async () => expect((await node.query(building)).rowCount).toBe(1), { timeout: 30_000 });
      await node.query(
        `SET lock_timeout = '300ms'; BEGIN; LOCK TABLE message, user_message IN ROW EXCLUSIVE MODE; COMMIT`,
      );
      await old.query('COMMIT');
      await migrating;
      expect((await definitionsIn(database)).map(({ definition }) => definition)).toEqual(expected);

      // Each call is interrupted after three more statements than the previous call. A build that ends leaves an invalid index.
      await returnTo(database, '20261129150000');
      let calls = 0;
      for (let isOver = false; !isOver; ) {
        let left = 3 * ++calls;
        const step = async <T>(work: () => Promise<T>): Promise<T> => {
          if (left-- <= 0) throw new Error('interrupted');
          return work();
        };
        const interrupted: Database = {
          ...database,
          runScript: (sql) => step(() => database.runScript(sql)),
          session: (work) =>
            database.session((run) =>
              work(async (sql, values) => {
                const rows = await step(() => run(sql, values));
                const index = /CREATE INDEX CONCURRENTLY IF NOT EXISTS "(\w+)"/.exec(sql)?.[1];
                if (index !== undefined && left === 0)
                  await run(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"${index}"'::regclass`);
                return rows as never;
              }),
            ),
        };
        isOver = await migrate(config, interrupted).then(
          () => true,
          (error) => {
            expect(String(error)).toContain('interrupted');
            return false;
          },
        );
      }
      expect(calls).toBeGreaterThan(4);
      expect((await definitionsIn(database)).map(({ definition }) => definition)).toEqual(expected);
      const invalid = await database.db.$queryRaw`SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`;
      expect(invalid).toEqual([]);
    } finally {
      await Promise.all([old.end(), node.end()]);
      await database.close();
    }
  },
);

test.skipIf(DATABASE_URL === undefined)('nodes that start at the same time migrate once', async () => {
  await using fresh = await createDatabase(DATABASE_URL ?? '');
  const config = readConfig({ DATABASE_URL: fresh.url, SECRET_KEY });
  const nodes = await Promise.all([openDatabase(config), openDatabase(config), openDatabase(config)]);
  try {
    const all = readMigrations().map(({ name }) => name);
    const applied = await Promise.all(nodes.map((node) => migrate(config, node)));
    expect(applied.sort((a, b) => a.length - b.length)).toEqual([[], [], all]);
    await nodes[0].runScript("UPDATE _sql_functions SET hash = 'earlier'");
    expect(await Promise.all(nodes.map((node) => migrate(config, node)))).toEqual([[], [], []]);
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
  }
});

test('a migration that fails leaves nothing, and is repeated', async () => {
  await using at = await migratedDatabase();
  const { config, database } = at;
  const [first, second] = readMigrations();
  await database.runScript(`
    CREATE SCHEMA kept; ALTER TABLE _prisma_migrations SET SCHEMA kept; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
    ALTER TABLE kept._prisma_migrations SET SCHEMA public; DROP SCHEMA kept; DELETE FROM _prisma_migrations;
    CREATE TABLE message_edit (id int)`);
  await expect(migrate(config, database)).rejects.toThrow('relation "message_edit" already exists');
  const journal = database.db.$queryRaw`SELECT migration_name AS name FROM _prisma_migrations`;
  expect(await journal).toEqual([{ name: first?.name }]);
  expect(await database.db.$queryRaw`SELECT to_regclass('message')::text AS name`).toEqual([{ name: null }]);
  await database.runScript('DROP TABLE message_edit');
  expect((await migrate(config, database))[0]).toBe(second?.name);
});

test.skipIf(DATABASE_URL === undefined)('tables of another application are refused, and not changed', async () => {
  await using fresh = await createDatabase(DATABASE_URL ?? '');
  const config = readConfig({ DATABASE_URL: fresh.url, SECRET_KEY });
  const database = await openDatabase(config);
  try {
    await database.runScript('CREATE TABLE of_another_application (id int)');
    await expect(migrate(config, database)).rejects.toThrow('The database contains tables of another application.');
    expect(await database.db.$queryRaw`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`).toEqual([
      { name: 'of_another_application' },
    ]);
  } finally {
    await database.close();
  }
});

/** Returns the definitions of all columns, indexes, constraints, triggers and functions of the schema. */
const definitionsIn = ({ db }: Database) => db.$queryRaw<{ definition: string }[]>`
  SELECT attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull AS definition
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
  UNION ALL SELECT conrelid::regclass || conname || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace
  UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal
  UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
  UNION ALL SELECT migration_name || checksum || applied_steps_count FROM _prisma_migrations WHERE finished_at IS NOT NULL
  ORDER BY 1`;

/** Number of migrations between two stops from which the test below continues. */
const STEP = 8;

// All stops have the same continuation: the migrations after it, in order. So every eighth stop and the last three are enough.
test.skipIf(DATABASE_URL === undefined)(
  'a database that stopped at a migration becomes like a new one, and keeps its rows',
  async () => {
    await using stack = new AsyncDisposableStack();
    const fresh = stack.use(await migratedDatabase());
    const expected = await definitionsIn(fresh.database);
    expect(expected.length).toBeGreaterThan(500);
    const journal = await fresh.database.db.$queryRaw<{ row: string }[]>`
      SELECT to_jsonb(m)::text AS row FROM _prisma_migrations m ORDER BY migration_name`;

    const old = stack.use(await createDatabase(DATABASE_URL ?? ''));
    // Closes the connection, because PostgreSQL cannot copy a database to which a connection is open.
    const run = async (sql: string, values?: unknown[]) => {
      const client = new pg.Client({ connectionString: old.url });
      await client.connect();
      await client.query(sql, values).finally(() => client.end());
    };
    await run(`CREATE TABLE _prisma_migrations (
      id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
      logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(),
      applied_steps_count integer NOT NULL DEFAULT 0)`);
    const migrations = readMigrations();
    for (const [i, { sql }] of migrations.entries()) {
      await run(sql);
      await run('INSERT INTO _prisma_migrations SELECT * FROM jsonb_populate_record(NULL::_prisma_migrations, $1)', [
        journal[i]?.row,
      ]);
      if (i === 0) {
        await run(`
          INSERT INTO realm (subdomain, name) VALUES ('one', 'One');
          INSERT INTO event_counter (realm_id) SELECT id FROM realm;
          INSERT INTO user_account (realm_id, email, full_name) SELECT id, 'ann@example.com', 'Ann O’Neil' FROM realm;
          INSERT INTO channel (realm_id, name) SELECT id, 'general' FROM realm`);
      }
      if (i % STEP !== 0 && i < migrations.length - 3) continue;
      await using copy = await createDatabase(DATABASE_URL ?? '', `TEMPLATE ${new URL(old.url).pathname.slice(1)}`);
      const config = readConfig({ DATABASE_URL: copy.url, SECRET_KEY });
      const database = await openDatabase(config);
      await using _ = { [Symbol.asyncDispose]: () => database.close() };
      expect(await migrate(config, database)).toEqual(migrations.slice(i + 1).map(({ name }) => name));
      expect(await definitionsIn(database)).toEqual(expected);
      expect(await database.db.user.count({ where: { email: 'ann@example.com', fullName: 'Ann O’Neil' } })).toBe(1);
      expect(await database.db.channel.count({ where: { name: 'general' } })).toBe(1);
    }
  },
);

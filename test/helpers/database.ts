import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A database for tests on the PostgreSQL server of DATABASE_URL. Dropped on disposal. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/**
 * Creates a database with a random name.
 *
 * @param serverUrl URL of any database on the server. Its user must be able to create databases.
 * @param options Options of CREATE DATABASE.
 */
export async function createDatabase(serverUrl: string, options = ''): Promise<TestDatabase> {
  const name = `chat_test_${randomBytes(6).toString('hex')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await administer(serverUrl, `CREATE DATABASE ${name} ${options}`);
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => administer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/**
 * Environment variable with the name of a migrated database without rows, on the server of DATABASE_URL. Set for all processes
 * of a test run on PostgreSQL.
 */
const TEMPLATE = 'CHAT_TEST_DATABASE';

/**
 * Creates the database that `createMigratedDatabase` copies, because the migrations take ten times as long as a copy.
 *
 * @param migrateAt Migrates the database with the URL, and leaves no connection open.
 * @returns A function that drops it.
 */
export async function openTemplateDatabase(
  serverUrl: string,
  migrateAt: (url: string) => Promise<void>,
): Promise<() => Promise<void>> {
  const database = await createDatabase(serverUrl);
  await migrateAt(database.url);
  process.env[TEMPLATE] = nameOf(database);
  return async () => database[Symbol.asyncDispose]();
}

/** Creates a database with the tables of the service. Outside of test runs it is empty, and the service migrates it. */
export function createMigratedDatabase(serverUrl: string): Promise<TestDatabase> {
  const template = process.env[TEMPLATE];
  return createDatabase(serverUrl, template === undefined ? '' : `TEMPLATE ${template}`);
}

const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1);

async function administer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

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

async function administer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A database of the tests' own on the PostgreSQL server of DATABASE_URL, dropped in the end. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/** @param serverUrl Any database of the server, in which the user may create others. */
export async function createDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = `chat_test_${randomBytes(6).toString('hex')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await administer(serverUrl, `CREATE DATABASE ${name}`);
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

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';

// Checks that no index is unique across organizations. Such an index would make it impossible to store organizations on
// separate database servers, because each write would have to query all servers. See src/platform/db/README.md.

/** Indexes that are unique across the whole service nevertheless, each with the reason. */
const DIRECTORY: Readonly<Record<string, string>> = {
  realm_pkey: 'ids of organizations, with which all other keys begin',
  realm_subdomain_key: 'finds the organization of a request',
  api_key_hash_key: 'finds the owner of a key. A bearer token does not contain the organization',
  named_api_key_hash_key: 'the same, for keys with a name',
  session_token_hash_key: 'finds the session of the token that a browser sends',
  session_next_hash_key: 'the same, for the next token of the browser',
  session_previous_hash_key: 'the same, for the previous token of the browser',
  email_change_token_hash_key: 'finds the change of a link in an email, which requires no credentials',
};

/** Indexes of tables whose rows do not belong to organizations. Each database has such tables of its own. */
const OF_THE_DATABASE: Readonly<Record<string, string>> = {
  log_epoch_pkey: 'the epoch of the event logs in this database',
  log_epoch_only: 'ensures that the table has only one row',
  _sql_functions_pkey: 'files whose functions the database has',
};

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

interface UniqueIndex {
  readonly name: string;
  readonly isPrimary: boolean;
  /** Name of the first column of the index. Null if it is an expression. */
  readonly first: string | null;
}

/** Returns every primary key and every unique index of the service's tables, read from the system catalog. */
const uniqueIndexes = () => service.app.db.$queryRaw<UniqueIndex[]>`
  SELECT i.relname AS name, x.indisprimary AS "isPrimary", a.attname AS first
  FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
  LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
  WHERE t.relnamespace = current_schema()::regnamespace AND x.indisunique AND t.relname <> '_prisma_migrations'
  ORDER BY i.relname`;

test('every primary key and unique index starts with the organization, except those of the directory', async () => {
  const indexes = await uniqueIndexes();
  expect(indexes.filter(({ isPrimary }) => isPrimary).length).toBeGreaterThan(40);
  const others = indexes.filter(({ first }) => first !== 'realm_id').map(({ name }) => name);
  expect(others).toEqual([...Object.keys(DIRECTORY), ...Object.keys(OF_THE_DATABASE)].sort());
});

test('every foreign key starts with the organization, except that to the organization itself', async () => {
  const references = await service.app.db.$queryRaw<{ name: string; first: string; target: string }[]>`
    SELECT c.conname AS name, a.attname AS first, c.confrelid::regclass::text AS target
    FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace`;
  expect(references.length).toBeGreaterThan(50);
  expect(references.filter(({ first }) => first !== 'realm_id')).toEqual([]);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordedStatements } from '../helpers/everything.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';

// Checks that no index is unique across organizations. Such an index would make it impossible to store organizations on
// separate database servers, because each write would have to query all servers. See src/platform/db/README.md.

/** Indexes that are unique across the whole service nevertheless, each with the reason. */
const DIRECTORY: Readonly<Record<string, string>> = {
  realm_pkey: "an organisation's own number, which all others begin with",
  realm_subdomain_key: 'by it the organisation of a request is found',
  api_key_hash_key: 'whose a key is, is asked before the organisation is known: a bearer token says no more',
  session_token_hash_key: 'the same, of what a browser shows',
  session_next_hash_key: 'the same, of what it is told to show next',
  session_previous_hash_key: 'the same, of what it showed before',
  email_change_token_hash_key: 'what leads from a mail to the change: nobody is signed in there',
};

/** Indexes of tables whose rows do not belong to organizations. Each database has such tables of its own. */
const OF_THE_DATABASE: Readonly<Record<string, string>> = {
  log_epoch_pkey: 'since when the logs of this database go on without a break',
  log_epoch_only: 'that there is one such row',
  _sql_functions_pkey: 'files whose functions the database has',
};

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess({ counts: true });
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

/** A node of a query plan. */
interface Step {
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Step[];
}

const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)];

/**
 * Returns the nodes of a statement's generic query plan. This plan does not depend on the statement's parameters or on the
 * number of rows.
 */
async function planOf(statement: string): Promise<Step[]> {
  const count = Math.max(0, ...[...statement.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const values = count === 0 ? '' : `(${Array(count).fill('NULL').join()})`;
  return service.app.db.$transaction(async (tx) => {
    for (const way of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) {
      await tx.$executeRawUnsafe(`SET LOCAL ${way} = off`);
    }
    await tx.$executeRawUnsafe('SET LOCAL plan_cache_mode = force_generic_plan');
    await tx.$executeRawUnsafe(`PREPARE asked AS ${statement}`);
    const [row] = await tx.$queryRawUnsafe<Record<string, [{ Plan: Step }]>[]>(
      `EXPLAIN (FORMAT JSON) EXECUTE asked${values}`,
    );
    await tx.$executeRawUnsafe('DEALLOCATE asked');
    return Object.values(row ?? {}).flatMap(([{ Plan }]) => stepsOf(Plan));
  });
}

describe('what requests ask the database', () => {
  test('contains the organization wherever an index starts with it', async () => {
    const statements = await recordedStatements(service);
    expect(statements.length).toBeGreaterThan(250);
    const first = new Map((await uniqueIndexes()).map((index) => [index.name, index.first]));
    const wrong: string[] = [];
    for (const statement of statements) {
      for (const { 'Index Name': index = '', 'Index Cond': asked } of await planOf(statement)) {
        const isLed = first.get(index) === 'realm_id';
        if (isLed && asked !== undefined && !asked.includes('realm_id')) wrong.push(`${index} ${asked}: ${statement}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

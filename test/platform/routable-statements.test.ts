import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordedStatements } from '../helpers/everything.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { type Names, type OrganizationTables, statementsOf, type Violation } from '../helpers/routing.ts';
import { ROUTING_EXCEPTIONS, unexceptedViolationsOf } from '../helpers/routing-exceptions.ts';
import { completed, inOneLine, isUsedIn, readSqlTemplates, type SqlTemplate } from '../helpers/source-sql.ts';

// Checks that a server in front of several could send each statement to the server with the rows of its organization. See
// src/platform/db/README.md.

/** Indexes that do not begin with the organization, each with the reason. Unique indexes are in database-keys.test.ts. */
const INDEXES: Readonly<Record<string, string>> = {
  deleted_message_deleted_at_idx: 'background work of all organizations, by time',
  event_ephemeral: 'the same',
  event_queue_live_by_expiry: 'the same',
  event_queue_tombstones: 'the same',
  idempotency_record_created_at_idx: 'the same',
  link_preview_expires_at_idx: 'the same',
  link_preview_job_next_attempt_at_idx: 'the same',
  notification_by_age: 'the same',
  notification_due: 'the same',
  outgoing_mail_due: 'the same',
  outgoing_mail_due_digest: 'the same',
  outgoing_mail_due_missed: 'the same',
  outgoing_mail_next_attempt_at_idx: 'the same',
  realm_with_digests: 'the same',
  scheduled_message_due: 'the same',
  session_idle_expires_at_idx: 'the same',
  used_token_expires_at_idx: 'the same',
  user_account_by_email: 'accounts of an address in all organizations of the database',
  channel_by_name_words: 'GIN index of words that begin with the organization',
  searchable_message_vector: 'the same',
  user_account_by_name_words: 'the same',
  user_group_by_name_words: 'the same',
  event_by_further_users: 'GIN index of ids, which are unique among organizations',
  user_account_by_full_member_group: 'the same',
  user_account_by_group: 'the same',
  draft_author_id_last_edited_at_id_idx: 'for nodes of version 0.2.0. The next version drops it',
  message_by_channel: 'the same',
  message_by_conversation: 'the same',
  message_by_sender: 'the same',
  message_by_topic_key: 'the same',
  message_direct_wildcard: 'the same',
  message_moved: 'the same',
  message_own: 'the same',
  message_resolved: 'the same',
  message_wildcard: 'the same',
  saved_snippet_author_id_id_idx: 'the same',
  scheduled_message_by_kind: 'the same',
  subscription_channel_id_active_user_id_idx: 'the same',
  subscription_period_channel_id_user_id_idx: 'the same',
};

/**
 * SQL templates that contain no complete query level. They are checked only as parts of the statements that the calls send, so
 * there must be such statements.
 */
const ONLY_IN_STATEMENTS: Readonly<Record<string, string>> = {
  'message m LEFT JOIN channel c ON c.realm_id = m.realm_id': 'items of FROM clauses, whose WHERE clause is elsewhere',
  'presence p JOIN user_account u ON u.realm_id = p.realm_id': 'the same',
};

/** Tables whose rows name an organization, but are records of the database. */
const OF_THE_DATABASE = ['realm_move', 'realm_move_change', 'realm_arrival'];

let service: InProcess;
let tables: OrganizationTables;
beforeAll(async () => {
  service = await shareInProcess({ counts: true });
  const rows = await service.app.db.$queryRaw<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'realm_id'
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname <> ALL(${OF_THE_DATABASE})`;
  tables = new Map([...rows.map(({ name }) => [name, 'realm_id'] as const), ['realm', 'id'] as const]);
});
afterAll(() => service[Symbol.asyncDispose]());

/** Exceptions that applied to a statement. */
const used = new Set<string>();

const check = (statement: string, names: Omit<Names, 'tables'> = {}): Violation[] =>
  unexceptedViolationsOf(statement, { tables, ...names }, used);

const shown = (violations: readonly Violation[], place: string) =>
  violations.map(({ rule, table }) => `${rule}: ${table} in ${place}`);

/** Returns every function of the service in SQL or PL/pgSQL, from the system catalog. */
const readFunctions = () => service.app.db.$queryRaw<{ name: string; definition: string }[]>`
  SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS definition
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
  WHERE p.pronamespace = current_schema()::regnamespace AND p.prokind = 'f' AND l.lanname IN ('sql', 'plpgsql') ORDER BY 1`;

const mentionsTable = ({ texts }: SqlTemplate) =>
  [...tables.keys()].some((table) =>
    new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE|USING) ${table}\\b`).test(texts.join(' ')),
  );
const isItemOfFrom = ({ texts }: SqlTemplate) =>
  Object.keys(ONLY_IN_STATEMENTS).some((beginning) => texts.join('').trim().startsWith(beginning));

describe('each query level contains the organization, no row changes it, and no CTE changes what is read elsewhere', () => {
  test('in the statements that the calls send', async () => {
    const statements = await recordedStatements(service);
    expect(statements.length).toBeGreaterThan(250);
    expect(statements.flatMap((one) => shown(check(one, { hasVariables: true }), inOneLine(one)))).toEqual([]);
  });

  test('in the SQL of the source, whether or not a call uses it', async () => {
    const templates = readSqlTemplates();
    expect(templates.length).toBeGreaterThan(700);
    const wrong = templates.filter(mentionsTable).flatMap((template) => {
      if (isItemOfFrom(template)) return [];
      const statement = completed(template);
      return statement === undefined ? [`not parsed: ${template.place}`] : shown(check(statement), template.place);
    });
    expect(wrong).toEqual([]);
    const statements = (await recordedStatements(service)).map(inOneLine);
    const unused = templates.filter(isItemOfFrom).filter((one) => !statements.some((sent) => isUsedIn(one, sent)));
    expect(unused).toEqual([]);
  });

  test('in the SQL functions, triggers included', async () => {
    const functions = await readFunctions();
    expect(functions.length).toBeGreaterThan(30);
    const wrong = functions.flatMap(({ name, definition }) =>
      statementsOf(definition).flatMap((statement) => shown(check(statement, { hasVariables: true }), name)),
    );
    expect(wrong).toEqual([]);
  });

  test('and no exception is superfluous', () => {
    expect(Object.keys(ROUTING_EXCEPTIONS).filter((exception) => !used.has(exception))).toEqual([]);
  });
});

/** A node of a query plan. */
interface Step {
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Step[];
}

const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)];

/**
 * Returns the nodes of each statement's generic query plan. This plan does not depend on the statement's parameters or on the
 * number of rows.
 */
function plansOf(
  statements: readonly string[],
): Promise<readonly (readonly [statement: string, steps: readonly Step[]])[]> {
  const read = async (tx: Pick<typeof service.app.db, '$executeRawUnsafe' | '$queryRawUnsafe'>) => {
    for (const way of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) {
      await tx.$executeRawUnsafe(`SET LOCAL ${way} = off`);
    }
    await tx.$executeRawUnsafe('SET LOCAL plan_cache_mode = force_generic_plan');
    const plans: [string, Step[]][] = [];
    for (const statement of statements) {
      const count = Math.max(0, ...[...statement.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
      const values = count === 0 ? '' : `(${Array(count).fill('NULL').join()})`;
      await tx.$executeRawUnsafe(`PREPARE asked AS ${statement}`);
      const [row] = await tx.$queryRawUnsafe<Record<string, [{ Plan: Step }]>[]>(
        `EXPLAIN (FORMAT JSON) EXECUTE asked${values}`,
      );
      await tx.$executeRawUnsafe('DEALLOCATE asked');
      plans.push([statement, Object.values(row ?? {}).flatMap(([{ Plan }]) => stepsOf(Plan))]);
    }
    return plans;
  };
  return service.app.db.$transaction(read, { timeout: 120_000 });
}

/** Returns the first column of each unique index. Null if it is an expression. */
const firstColumns = () => service.app.db.$queryRaw<{ name: string; first: string | null }[]>`
  SELECT i.relname AS name, a.attname AS first FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
  LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
  WHERE i.relnamespace = current_schema()::regnamespace AND x.indisunique`;

describe('the plans of the statements that the calls send', () => {
  test('contain the organization wherever a unique index starts with it', async () => {
    const statements = await recordedStatements(service);
    expect(statements.length).toBeGreaterThan(250);
    const first = new Map((await firstColumns()).map(({ name, first: column }) => [name, column]));
    const wrong: string[] = [];
    for (const [statement, steps] of await plansOf(statements)) {
      for (const { 'Index Name': index = '', 'Index Cond': asked } of steps) {
        const isLed = first.get(index) === 'realm_id';
        if (isLed && asked !== undefined && !asked.includes('realm_id')) wrong.push(`${index} ${asked}: ${statement}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

/** Returns the names of the indexes whose first column is not the organization, without unique indexes. */
const indexesWithoutOrganization = async (): Promise<readonly string[]> => {
  const rows = await service.app.db.$queryRaw<{ name: string }[]>`
    SELECT i.relname AS name FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
    LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
    WHERE t.relnamespace = current_schema()::regnamespace AND NOT x.indisunique AND a.attname IS DISTINCT FROM 'realm_id'`;
  return rows.map(({ name }) => name).sort();
};

/** Returns the foreign keys that update referencing rows, with their actions. */
const cascadingUpdates = () => service.app.db.$queryRaw`
  SELECT conname::text AS name FROM pg_constraint
  WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND (confupdtype NOT IN ('a', 'r') OR NOT convalidated)`;

describe('in the catalog', () => {
  test('each index begins with the organization, except those of background work, of words and of the previous version', async () => {
    expect(await indexesWithoutOrganization()).toEqual(Object.keys(INDEXES).sort());
  });

  test('no foreign key cascades updates', async () => {
    expect(await cascadingUpdates()).toEqual([]);
  });

  test('an index without the organization and a foreign key that cascades updates would be found', async () => {
    const { db } = service.app;
    await db.$executeRaw`CREATE INDEX planted ON reaction (user_id)`;
    await db.$executeRaw`
      CREATE TABLE planted_reference (realm_id int NOT NULL, user_id int NOT NULL, CONSTRAINT planted_user
        FOREIGN KEY (realm_id, user_id) REFERENCES user_account (realm_id, id) ON UPDATE CASCADE)`;
    try {
      expect(await indexesWithoutOrganization()).toContain('planted');
      expect(await cascadingUpdates()).toEqual([{ name: 'planted_user' }]);
    } finally {
      await db.$executeRaw`DROP INDEX planted`;
      await db.$executeRaw`DROP TABLE planted_reference`;
    }
  });
});

describe('a planted violation is found', () => {
  /** Statements with a violation of the rule `organization`, and the table that has it. */
  const PLANTED: Readonly<Record<string, readonly [table: string, statement: string]>> = {
    'without a condition': ['message', 'SELECT id FROM message WHERE channel_id = $1'],
    'with a list of organizations': ['message', 'SELECT id FROM message WHERE realm_id = ANY($1) AND channel_id = $2'],
    'in a LATERAL': [
      'message',
      `SELECT last.id FROM channel c CROSS JOIN LATERAL (
         SELECT m.id FROM message m WHERE m.channel_id = c.id ORDER BY m.id DESC LIMIT 1) AS last WHERE c.realm_id = $1`,
    ],
    'in a LATERAL that takes it from the outer level': [
      'message',
      `SELECT last.id FROM channel c CROSS JOIN LATERAL (
         SELECT m.id FROM message m WHERE m.realm_id = c.realm_id AND m.channel_id = c.id) AS last WHERE c.realm_id = $1`,
    ],
    'in an EXISTS': [
      'subscription',
      `SELECT m.id FROM message m WHERE m.realm_id = $1 AND EXISTS (
         SELECT FROM subscription s WHERE s.realm_id = m.realm_id AND s.channel_id = m.channel_id AND s.user_id = $2)`,
    ],
    'in a scalar subquery': [
      'user_account',
      'SELECT m.id, (SELECT u.full_name FROM user_account u WHERE u.id = m.sender_id) FROM message m WHERE m.realm_id = $1',
    ],
    'in a join': [
      'user_account',
      'SELECT m.id, u.full_name FROM message m JOIN user_account u ON u.id = m.sender_id WHERE m.realm_id = $1',
    ],
    'in an outer join that restricts only the other table': [
      'message',
      'SELECT m.id FROM message m LEFT JOIN channel c ON c.realm_id = $1 AND m.realm_id = $1 AND c.id = m.channel_id',
    ],
    'in a CTE': [
      'reaction',
      `WITH reacted AS (SELECT message_id FROM reaction WHERE user_id = $1)
       SELECT m.id FROM message m JOIN reacted r ON r.message_id = m.id WHERE m.realm_id = $2`,
    ],
    'in one part of a UNION': [
      'user_group',
      'SELECT id FROM channel WHERE realm_id = $1 UNION ALL SELECT id FROM user_group WHERE id = $2',
    ],
    'in one branch of an OR': ['draft', 'SELECT id FROM draft WHERE realm_id = $1 AND id = $2 OR id = $3'],
    'in an UPDATE': ['draft', "UPDATE draft SET topic = '' WHERE id = $1"],
    'in a DELETE with USING': [
      'message',
      'DELETE FROM user_message um USING message m WHERE um.realm_id = $1 AND m.id = um.message_id',
    ],
    'in an INSERT without the column': ['draft', 'INSERT INTO draft (author_id) VALUES ($1)'],
    'in an INSERT of rows of any organization': [
      'draft',
      'INSERT INTO draft (realm_id, author_id) SELECT u.realm_id, $1 FROM unnest($2::int[]) AS u(realm_id)',
    ],
  };
  test.for(Object.entries(PLANTED))('%s', ([, [table, statement]]) => {
    expect(check(statement)).toEqual([{ rule: 'organization', table }]);
  });

  test('in a function', () => {
    const definition = `CREATE FUNCTION planted(p_realm_id int, p_id int) RETURNS bigint LANGUAGE plpgsql AS $$
      DECLARE
        v_count bigint := (SELECT count(*) FROM draft WHERE realm_id = p_realm_id);
      BEGIN
        IF v_count = 0 THEN RETURN 0; END IF;
        UPDATE message SET content = '' WHERE id = p_id;
        RETURN (SELECT max(m.id) FROM message m WHERE m.realm_id = p_realm_id);
      END $$`;
    const found = statementsOf(definition).flatMap((one) => check(one, { hasVariables: true }));
    expect(found).toEqual([{ rule: 'organization', table: 'message' }]);
  });

  test.for([
    'UPDATE draft SET realm_id = $1, topic = $2 WHERE realm_id = $1 AND id = $3',
    'INSERT INTO draft (realm_id, id) VALUES ($1, $2) ON CONFLICT (realm_id, id) DO UPDATE SET realm_id = EXCLUDED.realm_id',
  ])('if a row changes its organization: %s', (statement) => {
    expect(check(statement)).toEqual([{ rule: 'moved row', table: 'draft' }]);
  });

  test.for([
    // Read by the main part.
    `WITH gone AS (DELETE FROM draft WHERE realm_id = $1 RETURNING id)
     SELECT count(*) FROM draft d WHERE d.realm_id = $1 AND d.id NOT IN (SELECT id FROM gone)`,
    // Changed by the main part, which reads the rows to change.
    `WITH made AS (INSERT INTO draft (realm_id, author_id) VALUES ($1, $2))
     UPDATE draft SET topic = '' WHERE realm_id = $1`,
    // Read by a later CTE.
    `WITH made AS (INSERT INTO draft (realm_id, author_id) VALUES ($1, $2)),
          held AS (SELECT count(*) AS count FROM draft WHERE realm_id = $1)
     SELECT count FROM held`,
    // Read by an earlier CTE that the planner can move into the main part.
    `WITH held AS (SELECT count(*) AS count FROM draft WHERE realm_id = $1),
          made AS (INSERT INTO draft (realm_id, author_id) VALUES ($1, $2))
     SELECT count FROM held`,
  ])('if a CTE changes what another part reads: %s', (statement) => {
    expect(check(statement)).toEqual([{ rule: 'changed and read', table: 'draft' }]);
  });
});

describe('these forms contain the organization', () => {
  test.for([
    'SELECT m.id FROM message m JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id WHERE m.realm_id = $1',
    'SELECT m.id FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id WHERE m.realm_id = $1',
    'SELECT id FROM draft WHERE (realm_id, id) IN (($1, $2), ($3, $4))',
    'SELECT id FROM draft WHERE realm_id = $1 AND id = $2 OR realm_id = $3 AND id = $4',
    'INSERT INTO draft (realm_id, author_id) SELECT u.realm_id, u.id FROM user_account u WHERE u.realm_id = $1',
    'WITH held AS MATERIALIZED (SELECT id FROM draft WHERE realm_id = $1), gone AS (DELETE FROM draft WHERE realm_id = $1) SELECT id FROM held',
    'SELECT FROM realm WHERE id = $1',
  ])('%s', (statement) => {
    expect(check(statement)).toEqual([]);
  });
});

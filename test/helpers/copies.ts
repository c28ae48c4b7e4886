import { type ClientBase, escapeLiteral } from 'pg';
import type { Realm } from './server.ts';

/** An organisation, whose names have its subdomain in them. */
type Named = Pick<Realm, 'id' | 'subdomain'>;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  /** Whether it is the id of something, which nothing else has in any organisation. */
  readonly isId: boolean;
  /** Whether it tells rows of an organisation apart. */
  readonly isName: boolean;
  /** Whether it tells rows of all organisations apart. */
  readonly isKey: boolean;
}

/** How far apart the ids of two copies are: further than those of one organisation are. */
const APART = 100_000;
/** Where ids begin, so that there is room for those of copies before them. */
const FIRST_ID = 100_000_000;
/** Ids that no foreign key says are any. */
const IDS = ['subscription_period.user_id', 'subscription_period.channel_id', 'idempotency_record.user_id'];
/** Twice an id, or one more. */
const TWICE_IDS = ['message_count.recipient_id', 'read_mark.recipient_id', 'read_exception.recipient_id'];
/** What each organisation counts by itself. */
const COUNTED = ['event.id'];

/** Has all ids begin where copies leave room. To be done before there is anything. */
export async function leaveRoomForCopies(client: ClientBase): Promise<void> {
  await client.query(`SELECT setval(oid::regclass, ${FIRST_ID}) FROM pg_class WHERE relkind = 'S'`);
}

/** @returns The columns of all tables that hold rows of organisations. */
async function columnsOf(client: ClientBase): Promise<Column[]> {
  const { rows } = await client.query(
    `WITH owned AS (
       SELECT c.oid, c.relname FROM pg_class c
       WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
         AND (c.relname = 'realm' OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'realm_id'))
     ), keys AS (
       SELECT indrelid, array_agg(substring(pg_get_indexdef(indexrelid), 'USING.*')) AS definitions
       FROM pg_index WHERE indisunique GROUP BY indrelid
     )
     SELECT relname AS "table", attname AS name, format_type(atttypid, atttypmod) AS type,
            attname = 'id' OR relname || '.' || attname = ANY($1) OR EXISTS (
              SELECT FROM pg_constraint k WHERE contype = 'f' AND conrelid = owned.oid AND attnum = ANY(conkey)
            ) AS "isId",
            EXISTS (SELECT FROM unnest(definitions) AS d
                    WHERE d ~ ('\\m' || attname || '\\M') AND replace(d, 'realm_id', '') !~ 'id\\M') AS "isName",
            EXISTS (SELECT FROM unnest(definitions) AS d
                    WHERE d ~ ('\\m' || attname || '\\M') AND d !~ '(realm|user)_id') AS "isKey"
     FROM owned JOIN pg_attribute ON attrelid = owned.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     LEFT JOIN keys ON indrelid = owned.oid
     ORDER BY relname, attnum`,
    [IDS],
  );
  return rows;
}

/**
 * What stands in a column of the copy numbered `n`, `k` places from the original in the order of ids. Its organisation is `r`,
 * which is that of other copies as well where it is `shared`.
 *
 * @param from What stands in the names of the original, where in those of the copy `named` is to stand.
 */
function valueIn({ table, name, type, isId, isName, isKey }: Column, from: string): string {
  const value = `t."${name}"`;
  if (name === 'realm_id' || (table === 'realm' && name === 'id')) return 'r';
  if (COUNTED.includes(`${table}.${name}`)) return `${value} + CASE WHEN shared THEN n * ${APART} ELSE 0 END`;
  if (isId && type === 'uuid') return `md5(${value}::text || k)::uuid`;
  if (TWICE_IDS.includes(`${table}.${name}`)) return `${value} + 2 * k * ${APART}`;
  if (isId) return `${value} + k * ${APART}`;
  // Of people, groups and channels.
  if (type === 'integer[]') {
    return `CASE WHEN ${value} IS NOT NULL THEN ARRAY(SELECT id + k * ${APART} FROM unnest(${value}) AS id) END`;
  }
  if (type === 'bytea' && isKey) return `sha256(${value} || convert_to(k::text, 'UTF8'))`;
  if (type !== 'text') return value;
  const text = `replace(${value}, ${escapeLiteral(from)}, its.named)`;
  if (isKey) return `${text} || k`;
  return isName ? `${text} || CASE WHEN shared THEN k::text ELSE '' END` : text;
}

/**
 * Makes copies of an organisation, straight in the database: every other one an organisation of its own, the rest one large
 * one together. Half of them are before some organisations' rows and half after, in the order of ids and in the tables, and
 * what is named in one of those is so in as many copies as in another.
 *
 * @param client Of somebody who may leave out triggers.
 * @param midst The organisations that are to be in their midst, of the same kind.
 */
export async function copyOrganisation(
  client: ClientBase,
  original: Named,
  { copies, midst }: { readonly copies: number; readonly midst: readonly Named[] },
): Promise<void> {
  const half = Math.floor(copies / 2);
  const tables = [...Map.groupBy(await columnsOf(client), ({ table }) => table)].map(([table, columns]) => {
    return { table, columns, own: table === 'realm' ? 'id' : 'realm_id' };
  });
  const subdomains = midst.map(({ subdomain }) => escapeLiteral(subdomain)).join(', ');
  const copy = async (first: number, last: number) => {
    for (const { table, columns, own } of tables) {
      const names = columns.map(({ name }) => `"${name}"`).join(', ');
      const values = columns.map((column) => valueIn(column, original.subdomain)).join(', ');
      await client.query(
        `INSERT INTO "${table}" (${names})
         SELECT ${values}
         FROM "${table}" t, generate_series(${first}, ${last}) AS n,
              LATERAL (SELECT n - ${half} - CASE WHEN n <= ${half} THEN 1 ELSE 0 END AS k, n % 2 = 0 AS shared,
                              (ARRAY[${subdomains}])[n / 2 % ${midst.length} + 1] AS named) AS its,
              LATERAL (SELECT ${original.id} + CASE WHEN shared THEN ${copies} ELSE k END * ${APART} AS r) AS whose
         WHERE t."${own}" = ${original.id} ON CONFLICT DO NOTHING`,
      );
    }
  };
  const own = midst.map(({ id }) => id).join(', ');
  await client.query("SET session_replication_role = 'replica'");
  await copy(1, half);
  for (const { table, own: column } of tables) {
    await client.query(`CREATE TEMP TABLE moved AS SELECT * FROM "${table}" WHERE "${column}" IN (${own})`);
    await client.query(`DELETE FROM "${table}" WHERE "${column}" IN (${own})`);
    await client.query(`INSERT INTO "${table}" SELECT * FROM moved`);
    await client.query('DROP TABLE moved');
  }
  await copy(half + 1, copies);
  await client.query("SET session_replication_role = 'origin'");
}

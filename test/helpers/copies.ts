import { type ClientBase, escapeLiteral } from 'pg';
import type { Organization } from './server.ts';

/** An organization. The names of its objects contain its subdomain. */
type Named = Pick<Organization, 'id' | 'subdomain'>;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  /** Whether the column holds ids that are unique across all organizations. */
  readonly isId: boolean;
  /** Whether the column is part of a unique index within an organization. */
  readonly isName: boolean;
  /** Whether the column is part of a unique index across organizations. */
  readonly isKey: boolean;
}

/** Difference between the ids of the same row in consecutive copies. Larger than the range of ids in one organization. */
const APART = 100_000;
/** Start of all id sequences of the original, so that copies can have lower ids too. */
const FIRST_ID = 100_000_000;
/** Id columns without a foreign key. */
const IDS = [
  ...['subscription_period.user_id', 'subscription_period.channel_id', 'idempotency_record.user_id'],
  'searchable_message.sender_id',
];
/** Columns that hold twice an id, or twice an id plus one. */
const TWICE_IDS = [
  ...['message_count.recipient_id', 'read_mark.recipient_id', 'read_exception.recipient_id'],
  'searchable_message.recipient_id',
];
/** Columns with a separate counter for each organization. */
const COUNTED = ['event.id'];

/** Sets the start of all id sequences so that copies can have lower ids. Must run on an empty database. */
export async function leaveRoomForCopies(client: ClientBase): Promise<void> {
  await client.query(`SELECT setval(oid::regclass, ${FIRST_ID}) FROM pg_class WHERE relkind = 'S'`);
}

/** Returns the columns of all tables that hold rows of organizations. */
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
 * Returns the SQL expression that computes a column's value in a copy. It uses four SQL variables: `n` is the number of the
 * copy, `k` is its distance from the original in id order, `r` is the id of its organization, and `shared` is true if this
 * organization contains other copies.
 *
 * @param from Text in the names of the original. In the copy, `its.named` replaces it.
 */
function valueIn({ table, name, type, isId, isName, isKey }: Column, from: string): string {
  const value = `t."${name}"`;
  if (name === 'realm_id' || (table === 'realm' && name === 'id')) return 'r';
  if (COUNTED.includes(`${table}.${name}`)) return `${value} + CASE WHEN shared THEN n * ${APART} ELSE 0 END`;
  if (isId && type === 'uuid') return `md5(${value}::text || k)::uuid`;
  if (TWICE_IDS.includes(`${table}.${name}`)) return `${value} + 2 * k * ${APART}`;
  if (isId) return `${value} + k * ${APART}`;
  // Arrays of ids of users, groups and channels.
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
 * Copies an organization directly in the database. Every second copy becomes a separate organization, and the remaining copies
 * together form one large organization. Half of the copies precede the rows of the `midst` organizations in id order and in the
 * tables, and half follow them. The names in each copy contain the subdomain of a `midst` organization. Each of these occurs
 * equally often.
 *
 * @param client Must be allowed to disable triggers.
 * @param midst Organizations with the same content, whose rows are placed between the copies.
 */
export async function copyOrganization(
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

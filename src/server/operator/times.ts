import { z } from 'zod';
import type { App } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';

// Earlier versions wrote times through the ORM in the time zone of the database session, so the stored times were shifted by
// the UTC offset. The session time zone is now always UTC. A row is repaired only if such a version certainly wrote it last.

/**
 * Name of the first migration of the version that sets the session time zone to UTC. A row that was last written before the
 * transaction of this migration was written by an earlier version.
 */
const FIRST_IN_UTC = '20261127140010_message_retention';
const FIRST_EVER = '20261120000000_foundation';

/** Columns that only the ORM wrote, by table. Short-lived tables, such as sessions and presence, are excluded. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  realm: ['created_at'],
  user_account: ['joined_at'],
  channel: ['created_at'],
  channel_folder: ['created_at'],
  user_group: ['created_at'],
  saved_snippet: ['created_at'],
  scheduled_message: ['created_at', 'scheduled_at'],
  draft: ['last_edited_at'],
  user_topic: ['last_updated'],
};

const UTC = new Set(['utc', 'etc/utc', 'gmt', 'etc/gmt', 'uct', 'etc/uct', 'zulu', 'etc/zulu', 'universal']);

/** The time zone whose UTC offset shifted the stored times. */
interface Shift {
  /** Name of the time zone, as the database spells it. */
  readonly zone: string;
  /** Only values from this time on are repaired. Null: all values. */
  readonly since: Date | null;
}

/** The shifted times of one column. */
interface Shifted {
  readonly column: string;
  readonly rows: number;
  /** One of the shifted times: the stored time, an arrow, and the intended time. */
  readonly example: string;
}

/** Returns an SQL expression that computes the intended time from a stored time that was shifted. */
const meant = (column: Prisma.Sql, { zone }: Shift) => Prisma.sql`(${column} AT TIME ZONE ${zone} AT TIME ZONE 'UTC')`;
const stored = (value: Prisma.Sql, { zone }: Shift) => Prisma.sql`(${value} AT TIME ZONE 'UTC' AT TIME ZONE ${zone})`;

/**
 * Returns an SQL condition. It is true if an earlier version can have stored the value, and the value has only one possible
 * meaning. When clocks go forward, a value in one particular hour can come from two different times, so values in that hour are
 * excluded.
 */
function isShifted(column: Prisma.Sql, shift: Shift): Prisma.Sql {
  const value = meant(column, shift);
  const earlier = Prisma.sql`(${value} - interval '1 hour')`;
  const { since } = shift;
  const inTime =
    since === null ? Prisma.sql`true` : Prisma.sql`LEAST(${value}, ${column}) >= ${since.toISOString()}::timestamptz`;
  return Prisma.sql`(${column} <> ${value} AND ${stored(value, shift)} = ${column} AND ${stored(earlier, shift)} <> ${column} AND ${inTime})`;
}

const named = (name: string) => Prisma.raw(`"${name}"`);

/** SQL condition: the row was last written before the version that sets the session time zone first ran on this database. */
const isOld = Prisma.sql`age(t.xmin) > (SELECT age(m.xmin) FROM _prisma_migrations m WHERE m.migration_name = ${FIRST_IN_UTC})`;

/**
 * Returns whether it is known in which order rows were written. After a restore from a dump it is unknown, because one
 * transaction wrote all rows of a table.
 */
async function isOrderKnown({ db }: Pick<App, 'db'>): Promise<boolean> {
  const [row] = await db.$queryRaw<{ known: boolean }[]>`
    SELECT count(DISTINCT xmin::text) = 2 AS known FROM _prisma_migrations
    WHERE migration_name IN (${FIRST_EVER}, ${FIRST_IN_UTC})`;
  return row?.known === true;
}

/**
 * Returns the time zone that sessions have before the service sets it. It is configured for the connection, the role, the
 * database or the server.
 */
async function zoneOfDatabase({ db }: Pick<App, 'db'>): Promise<string> {
  const [row] = await db.$queryRaw<{ zone: string }[]>`
    SELECT reset_val AS zone FROM pg_settings WHERE name = 'TimeZone'`;
  return row?.zone ?? 'UTC';
}

async function findShifted(db: Prisma.TransactionClient, shift: Shift): Promise<Shifted[]> {
  const found: Shifted[] = [];
  for (const [table, columns] of Object.entries(COLUMNS)) {
    for (const name of columns) {
      const column = Prisma.sql`t.${named(name)}`;
      const [row] = await db.$queryRaw<{ rows: number; example: string | null }[]>`
        SELECT count(*)::int AS rows, (array_agg(${column}::text || ' -> ' || ${meant(column, shift)}::text))[1] AS example
        FROM ${named(table)} t WHERE ${isOld} AND ${isShifted(column, shift)}`;
      if (row !== undefined && row.rows > 0) {
        found.push({ column: `${table}.${name}`, rows: row.rows, example: row.example ?? '' });
      }
    }
  }
  return found;
}

async function repair(db: Prisma.TransactionClient, shift: Shift): Promise<void> {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const own = columns.map((name) => ({ name: named(name), column: Prisma.sql`t.${named(name)}` }));
    const assigned = own.map(
      ({ name, column }) =>
        Prisma.sql`${name} = CASE WHEN ${isShifted(column, shift)} THEN ${meant(column, shift)} ELSE ${column} END`,
    );
    const anyShifted = Prisma.join(
      own.map(({ column }) => isShifted(column, shift)),
      ' OR ',
    );
    await db.$executeRaw`
      UPDATE ${named(table)} t SET ${Prisma.join(assigned)} WHERE ${isOld} AND (${anyShifted})`;
  }
}

/** Checks stored times, for the command `doctor`. @throws Error if times are certainly shifted, or are in the future. */
export async function checkTimes({ db, database }: App): Promise<string> {
  if (database.kind === 'embedded') return 'stored in UTC';
  const zone = await zoneOfDatabase({ db });
  const isKnown = !UTC.has(zone.toLowerCase()) && (await isOrderKnown({ db }));
  const shifted = isKnown ? await findShifted(db, { zone, since: null }) : [];
  if (shifted.length > 0) {
    const list = shifted.map(({ column, rows }) => `${column} (${rows})`).join(', ');
    throw new Error(
      `stored by a previous version in the time zone ${zone}, if the database had that time zone then: ${list}. ` +
        '"times repair" shows and corrects them',
    );
  }
  const [late] = await db.$queryRaw<{ rows: number }[]>`
    SELECT ((SELECT count(*) FROM user_account WHERE joined_at > now() + interval '5 minutes')
      + (SELECT count(*) FROM channel WHERE created_at > now() + interval '5 minutes')
      + (SELECT count(*) FROM message WHERE sent_at > now() + interval '5 minutes'))::int AS rows`;
  if ((late?.rows ?? 0) > 0) {
    throw new Error(
      `${late?.rows} users, channels and messages have a time in the future: a clock is wrong, or the database had ` +
        'another time zone ("times repair --zone")',
    );
  }
  return zone === 'UTC' || UTC.has(zone.toLowerCase())
    ? 'stored in UTC'
    : `stored in UTC, although the time zone of the database is ${zone}`;
}

/** Arguments of the command `times repair`. */
export const repairArgs = z.strictObject({
  zone: z
    .string()
    .optional()
    .describe('time zone that the database had, such as America/New_York; default: its current one'),
  since: z
    .string()
    .optional()
    .describe('start of the period in which it had that time zone, such as 2026-11-01T00:00:00Z; default: always'),
  apply: z.boolean().default(false).describe('correct the times; without this option, they are only shown'),
});

/**
 * Shows or corrects the times that earlier versions stored shifted by the offset of the database's time zone. The command is
 * idempotent: it writes each corrected row again, so that the row no longer counts as written by an earlier version.
 *
 * @throws ValidationError if the zone or the time is unknown.
 * @throws ConflictError if the database is embedded, or if rows of earlier versions cannot be identified, because a
 *   restore from a dump has rewritten all rows.
 */
export async function repairTimes(app: App, args: z.output<typeof repairArgs>): Promise<object> {
  const { database, db } = app;
  if (database.kind === 'embedded')
    throw new ConflictError('The embedded database stores times in UTC: there is nothing to repair');
  const asked = args.zone ?? (await zoneOfDatabase(app));
  const [known] = await db.$queryRaw<{ name: string }[]>`
    SELECT name FROM pg_timezone_names WHERE lower(name) = ${asked.toLowerCase()} LIMIT 1`;
  if (known === undefined) throw new ValidationError(`Unknown time zone "${asked}"`);
  if (UTC.has(known.name.toLowerCase())) {
    throw new ValidationError(
      'UTC has no offset: no time was shifted. Set --zone to the time zone that the database had.',
    );
  }
  const since = args.since === undefined ? null : new Date(args.since);
  if (since !== null && Number.isNaN(since.getTime())) throw new ValidationError(`Invalid time "${args.since}"`);
  if (!(await isOrderKnown(app))) {
    throw new ConflictError(
      'The database was restored from a dump, or copied by one, after this version first ran on it. The rows that ' +
        'previous versions wrote can therefore not be identified',
    );
  }
  const shift = { zone: known.name, since };
  return db.$transaction(
    async (tx) => {
      const columns = await findShifted(tx, shift);
      if (args.apply) await repair(tx, shift);
      return { zone: shift.zone, applied: args.apply, columns };
    },
    { timeout: TIMEOUT_MS, maxWait: TIMEOUT_MS },
  );
}

/** Timeout of the transaction that repairs times, in milliseconds. It is long enough to read all rows of nine tables. */
const TIMEOUT_MS = 600_000;

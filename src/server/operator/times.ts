import { z } from 'zod';
import type { App } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';

// Earlier versions wrote times through the ORM in the time zone of the database, the role or the connection: shifted by
// its offset. Sessions now use UTC. A row is repaired only if it is certain that such a version wrote it last.

/**
 * First migration of the version that sets the time zone of its sessions. If a row was last written before the
 * transaction of this migration, an earlier version wrote it.
 */
const FIRST_IN_UTC = '20261127140010_message_retention';
const FIRST_EVER = '20261120000000_foundation';

/** Columns that were only written through the ORM. Short-lived tables, such as sessions and presence, are excluded. */
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

/** The time zone by which times were shifted. Only values from `since` on are repaired; null: all values. */
interface Shift {
  /** Name from the database's own list. */
  readonly zone: string;
  readonly since: Date | null;
}

/** Times of one column that are certainly shifted. */
interface Shifted {
  readonly column: string;
  readonly rows: number;
  /** One of the shifted times, as stored and as intended. */
  readonly example: string;
}

/** Returns the time that was meant by a stored one. */
const meant = (column: Prisma.Sql, { zone }: Shift) => Prisma.sql`(${column} AT TIME ZONE ${zone} AT TIME ZONE 'UTC')`;
const stored = (value: Prisma.Sql, { zone }: Shift) => Prisma.sql`(${value} AT TIME ZONE 'UTC' AT TIME ZONE ${zone})`;

/**
 * Returns the condition that an earlier version can have stored a value and that it has only one possible meaning. When
 * clocks go forward, two different times are stored as the same one for an hour: those values are excluded.
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

/** Condition that a row was last written before the version that sets the time zone of its sessions first ran here. */
const isOld = Prisma.sql`age(t.xmin) > (SELECT age(m.xmin) FROM _prisma_migrations m WHERE m.migration_name = ${FIRST_IN_UTC})`;

/**
 * Returns whether the transactions that wrote the rows are still known. In a restored dump, one transaction wrote all
 * rows of a table.
 */
async function isOrderKnown({ db }: Pick<App, 'db'>): Promise<boolean> {
  const [row] = await db.$queryRaw<{ known: boolean }[]>`
    SELECT count(DISTINCT xmin::text) = 2 AS known FROM _prisma_migrations
    WHERE migration_name IN (${FIRST_EVER}, ${FIRST_IN_UTC})`;
  return row?.known === true;
}

/**
 * Returns the time zone that sessions had before the service set it: that of the connection, role, database or server.
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

/** Checks times for `doctor`. @throws Error if times are certainly stored shifted, or are later than now. */
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
 * Shows or corrects the times that earlier versions stored shifted. Idempotent: a corrected row no longer counts as
 * written by an earlier version.
 *
 * @throws BadRequestError if the zone or the time is unknown, or nothing can be proven.
 */
export async function repairTimes(app: App, args: z.output<typeof repairArgs>): Promise<object> {
  const { database, db } = app;
  if (database.kind === 'embedded')
    throw new BadRequestError('The embedded database stores times in UTC: there is nothing to repair');
  const asked = args.zone ?? (await zoneOfDatabase(app));
  const [known] = await db.$queryRaw<{ name: string }[]>`
    SELECT name FROM pg_timezone_names WHERE lower(name) = ${asked.toLowerCase()} LIMIT 1`;
  if (known === undefined) throw new BadRequestError(`Unknown time zone "${asked}"`);
  if (UTC.has(known.name.toLowerCase())) {
    throw new BadRequestError('Times in UTC are not shifted: give the time zone that the database had with --zone');
  }
  const since = args.since === undefined ? null : new Date(args.since);
  if (since !== null && Number.isNaN(since.getTime())) throw new BadRequestError(`Invalid time "${args.since}"`);
  if (!(await isOrderKnown(app))) {
    throw new BadRequestError(
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

/** Timeout of the transaction in milliseconds. Long enough to read all rows of nine tables. */
const TIMEOUT_MS = 600_000;

import { Prisma } from '../../generated/prisma/client.ts';
import type { Database, SqlClient } from './client.ts';

/** Parts of a running service from which the current time is taken. */
export interface Clocked {
  readonly database: Pick<Database, 'kind'>;
  now(): Date;
}

/**
 * Returns the current time as SQL, for values that one node writes and another compares. The clocks of nodes differ, so the
 * time comes from the PostgreSQL server. The embedded database has one node, and uses the clock of this process. The time is
 * constant within a statement.
 */
export function databaseClock({ database, now }: Clocked): Prisma.Sql {
  return database.kind === 'postgresql' ? Prisma.sql`statement_timestamp()` : Prisma.sql`${now()}::timestamptz`;
}

/**
 * Returns the current time on the clock that all nodes share. This is the clock of the PostgreSQL server or, with the embedded
 * database, of this process.
 */
export async function databaseNow(app: Clocked & { readonly db: SqlClient }): Promise<Date> {
  if (app.database.kind !== 'postgresql') return app.now();
  const [row] = await app.db.$queryRaw<{ now: Date }[]>`SELECT statement_timestamp() AS now`;
  if (row === undefined) throw new Error('The database returned no time');
  return row.now;
}

/** Returns an SQL expression for an interval of `ms` milliseconds. */
export const milliseconds = (ms: number): Prisma.Sql => Prisma.sql`(${ms}::float8 * interval '1 millisecond')`;

import { Prisma } from '../../generated/prisma/client.ts';
import type { Database, SqlClient } from './client.ts';

/** A running service, as far as it knows the time. */
export interface Clocked {
  readonly database: Pick<Database, 'kind'>;
  now(): Date;
}

/**
 * The time, in SQL: for what one node writes and another compares. The clocks of nodes differ; the one they share is the
 * database's. The embedded database has none but this process's. The same throughout a statement.
 */
export function databaseClock({ database, now }: Clocked): Prisma.Sql {
  return database.kind === 'postgresql' ? Prisma.sql`statement_timestamp()` : Prisma.sql`${now()}::timestamptz`;
}

/** The time by the clock that all nodes share. */
export async function databaseNow(app: Clocked & { readonly db: SqlClient }): Promise<Date> {
  if (app.database.kind !== 'postgresql') return app.now();
  const [row] = await app.db.$queryRaw<{ now: Date }[]>`SELECT statement_timestamp() AS now`;
  if (row === undefined) throw new Error('The database does not know the time');
  return row.now;
}

/** A number of milliseconds, in SQL. */
export const milliseconds = (ms: number): Prisma.Sql => Prisma.sql`(${ms}::float8 * interval '1 millisecond')`;

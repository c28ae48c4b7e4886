import { resolve } from 'node:path';
import type { Config } from '../../platform/config.ts';
import { type Database, openDatabase, type RunSql } from '../../platform/db/client.ts';
import { askedDatabase, askedSchema } from '../../platform/db/schema.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';

/** Receives lines of text that show the operator the progress of a command. */
export type Report = (line: string) => void;

/** One of the two databases of a command that copies data, and a session with it. */
export interface Side {
  readonly config: Config;
  readonly database: Database;
  readonly run: RunSql;
  /** The database, for the operator: without credentials. */
  readonly place: string;
}

/** Checks that an option is a connection string of PostgreSQL. @throws ValidationError if it is not. */
export function requireConnectionString(to: string): void {
  if (/^postgres(ql)?:\/\//.test(to) && URL.canParse(to)) return;
  throw new ValidationError(
    '--to must be a connection string that begins with postgresql://. Special characters of the password must be ' +
      'percent-encoded.',
    { parameter: 'to' },
  );
}

/** Opens the configured database, and runs `work` with it. */
export async function withSide<T>(config: Config, work: (side: Side) => Promise<T>): Promise<T> {
  const database = await openDatabase(config);
  try {
    // The ORM has the best error message if the database cannot be reached.
    await database.db.$queryRaw`SELECT 1`;
    return await database.session((run) => work({ config, database, run, place: placeOf(config) }));
  } finally {
    await database.close();
  }
}

/** Checks that the sides are different databases. @throws ConflictError if they are the same. */
export async function requireDifferent(source: Side, target: Side): Promise<void> {
  if (source.database.kind === 'embedded') return;
  const identity = `SELECT pg_postmaster_start_time()::text || ' ' || d.oid AS id, inet_server_port() AS port FROM pg_database d
    WHERE d.datname = current_database()`;
  const [[one], [other]] = [await source.run(identity), await target.run(identity)];
  const isSameSchema = source.database.schema() === target.database.schema();
  if (isSameSchema && JSON.stringify(one) === JSON.stringify(other))
    throw new ConflictError('The source and the target are the same database.');
}

/** Returns the location of a database, for the operator: without credentials. */
function placeOf({ databaseUrl, dataDir }: Config): string {
  if (databaseUrl === undefined) return `the embedded database in ${resolve(dataDir)}`;
  const { hostname, port } = URL.parse(databaseUrl) ?? { hostname: '', port: '' };
  const schema = askedSchema(databaseUrl);
  const where = `${hostname || 'this machine'}:${port || '5432'}/${askedDatabase(databaseUrl) ?? ''}`;
  return `PostgreSQL at ${where}${schema === undefined ? '' : `, schema ${schema}`}`.slice(0, 1_000);
}

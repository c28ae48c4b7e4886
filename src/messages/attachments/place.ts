import type { Config } from '../../platform/config.ts';
import type { Database, RunSql } from '../../platform/db/client.ts';
import { ConflictError } from '../../platform/errors.ts';
import { objectStoreOf } from '../../platform/object-store.ts';

/** Stores the bucket of this node in the database, where commands that copy organizations read it. */
export async function noteFilesPlace({
  config,
  database,
}: {
  readonly config: Pick<Config, 'bucket'>;
  readonly database: Pick<Database, 'session'>;
}): Promise<void> {
  const place = objectStoreOf(config)?.place ?? null;
  await database.session((run) =>
    run('UPDATE log_epoch SET files_place = $1::text WHERE files_place IS DISTINCT FROM $1::text', [place]),
  );
}

/** Returns the URL of the bucket that the nodes of a database use. Null if they store files in the database. */
async function filesPlace(run: RunSql): Promise<string | null> {
  const [row] = await run<{ place: string | null }>('SELECT files_place AS place FROM log_epoch');
  return row?.place ?? null;
}

/**
 * Checks that the nodes of another database can read the files of an organization before it moves there.
 *
 * @throws ConflictError if the organization has files in a bucket, and the nodes of the target use another one, or none.
 */
export async function requireSameBucket(source: RunSql, target: RunSql, organizationId: number): Promise<void> {
  const [found] = await source<{ files: boolean }>(
    'SELECT EXISTS (SELECT FROM stored_object WHERE realm_id = $1::int) AS files',
    [organizationId],
  );
  if (found?.files !== true) return;
  const [own, other] = [await filesPlace(source), await filesPlace(target)];
  if (own !== null && own === other) return;
  const shown = (place: string | null) => place ?? 'the database';
  throw new ConflictError(
    `The organization has files in a bucket, which do not move. The nodes of the source store files in ${shown(own)}, those of ` +
      `the target in ${shown(other)}: start the nodes of both with the same S3_ variables, or copy the files to the database ` +
      'first: npm run cli -- files move --to database',
  );
}

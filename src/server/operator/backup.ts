import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { App } from '../../access/context.ts';
import type { Config } from '../../platform/config.ts';
import { type BackupSummary, restoreBackup, writeBackup } from '../../platform/db/embedded-backup.ts';
import { lockDataDirectory } from '../../platform/db/lock.ts';
import { DATABASE_FOLDER, keepPrivate } from '../../platform/db/private-files.ts';
import { ConflictError } from '../../platform/errors.ts';

const ON_POSTGRESQL =
  'DATABASE_URL leads to PostgreSQL. Back it up with its own programs: pg_basebackup, or pg_dump and pg_restore.';

/**
 * Writes a backup of the embedded database, which is in use, with the secret key of the data directory.
 *
 * @throws ConflictError if the service uses PostgreSQL.
 * @throws BackupError if the file exists.
 */
export async function createBackup(
  { config, database, now }: App,
  file: string,
): Promise<BackupSummary & { readonly secret_key: string }> {
  if (database.kind !== 'embedded') throw new ConflictError(ON_POSTGRESQL);
  const folder = join(config.dataDir, DATABASE_FOLDER);
  const key = join(config.dataDir, SECRET_KEY);
  // If SECRET_KEY is set, the file contains no key or a former one.
  const hasKey = config.secretKey === undefined && existsSync(key);
  const others = hasKey ? { [SECRET_KEY]: key } : {};
  const summary = await database.session((run) => writeBackup(run, { folder, others, file, now: now() }));
  return { ...summary, secret_key: hasKey ? 'included' : 'not included: keep SECRET_KEY' };
}

const SECRET_KEY = 'secret-key';

/**
 * Restores a backup into the data directory, which must contain no database. At the next start of the service, a new epoch of
 * the event log begins.
 *
 * @throws ConflictError if the service uses PostgreSQL.
 * @throws BackupError if the backup is damaged, or if it would overwrite something.
 */
export function restoreDataDirectory(config: Config, file: string): BackupSummary & { readonly next: string } {
  if (config.databaseUrl !== undefined) throw new ConflictError(ON_POSTGRESQL);
  keepPrivate(config.dataDir);
  const lock = lockDataDirectory(config.dataDir);
  try {
    const summary = restoreBackup(file, join(config.dataDir, DATABASE_FOLDER));
    const key = existsSync(join(config.dataDir, SECRET_KEY)) ? '' : ' and the SECRET_KEY of that time';
    return {
      ...summary,
      next: `Start the service with DATA_DIR=${resolve(config.dataDir)}${key}. All clients register again.`,
    };
  } finally {
    lock.release();
  }
}

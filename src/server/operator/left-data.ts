import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { App } from '../../access/context.ts';
import { DATABASE_FOLDER } from '../../platform/db/private-files.ts';

/**
 * Returns a warning if DATABASE_URL leads to a database without an organization while DATA_DIR contains an embedded database,
 * whose data may have been left behind. Otherwise undefined.
 */
export async function leftDataWarning({ config, db }: Pick<App, 'config' | 'db'>): Promise<string | undefined> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === undefined || !existsSync(join(dataDir, DATABASE_FOLDER, 'PG_VERSION'))) return undefined;
  if ((await db.organization.findFirst({ select: { id: true } })) !== null) return undefined;
  return (
    `DATABASE_URL leads to a database without an organization, and ${resolve(dataDir)} contains an embedded database. To copy ` +
    'its data: without DATABASE_URL, npm run cli -- database copy --to -  (it reads the connection string of an empty database from standard input)'
  );
}

import { z } from 'zod';
import type { Config } from '../../platform/config.ts';
import { restoreDataDirectory } from './backup.ts';
import { filePath } from './commands.ts';
import { copyDatabase, type Report, unsealDatabase } from './database-copy.ts';

/**
 * A command that runs while no server uses the database. Other commands are in `commands.ts`.
 */
export interface OfflineCommand {
  readonly name: string;
  readonly summary: string;
  readonly args: z.ZodObject;
  /** Runs the command. @param report Receives lines of text that show the progress. @returns The result, as JSON. */
  run(config: Config, args: Readonly<Record<string, unknown>>, report: Report): Promise<object>;
}

/** All commands that run while no server uses the database. */
export const offlineCommands: readonly OfflineCommand[] = [
  {
    name: 'backup restore',
    summary: 'restore a backup into DATA_DIR, which must not contain a database',
    args: z.strictObject({ file: filePath }),
    run: async (config, { file }) => restoreDataDirectory(config, String(file)),
  },
  {
    name: 'database copy',
    summary: 'copy all data to an empty PostgreSQL database, where clients resume, and seal this database',
    args: z.strictObject({
      to: z.string().describe('connection string of the empty database; - reads it from standard input'),
    }),
    run: (config, { to }, report) => copyDatabase(config, String(to), report),
  },
  {
    name: 'database unseal',
    summary: 'use this database again after its data was copied; all clients register again',
    args: z.strictObject({}),
    run: (config) => unsealDatabase(config),
  },
];

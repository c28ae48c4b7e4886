import { z } from 'zod';
import type { Config } from '../../platform/config.ts';
import { ValidationError } from '../../platform/errors.ts';
import { restoreDataDirectory } from './backup.ts';
import { filePath } from './commands.ts';
import { copyDatabase, unsealDatabase } from './database-copy.ts';
import { moveOrganization } from './organization-move.ts';
import type { Report } from './sides.ts';

/**
 * A command that this process runs by itself, without the background workers of a service. Except for `org move`, no server may
 * use the database meanwhile. Other commands are in `commands.ts`.
 */
export interface OfflineCommand {
  readonly name: string;
  readonly summary: string;
  readonly args: z.ZodObject;
  /** Runs the command. @param report Receives lines of text that show the progress. @returns The result, as JSON. */
  run(config: Config, args: Readonly<Record<string, unknown>>, report: Report): Promise<object>;
}

const moveArgs = z.strictObject({
  subdomain: z.string().describe('subdomain of the organization; "" for the root domain').meta({ isArgument: true }),
  to: z
    .string()
    .optional()
    .describe('connection string of the other database; - reads it from standard input. Optional only with --abort'),
  sourceAddress: z
    .string()
    .optional()
    .describe('host:port at which the PostgreSQL server of the target reaches this one; default: as in DATABASE_URL'),
  onSwitch: z
    .string()
    .optional()
    .describe('shell command to run right after the switch, to change the map of the proxy'),
  abort: z.boolean().default(false).describe('undo a move that was not finished; without --to in this database alone'),
});

/** All commands that a process runs by itself. */
export const offlineCommands: readonly OfflineCommand[] = [
  {
    name: 'org move',
    summary: 'move an organization to another PostgreSQL database that a service uses, while both are in use',
    args: moveArgs,
    run: (config, args, report) => {
      const { data, error } = moveArgs.safeParse(args);
      if (data === undefined) throw new ValidationError(z.prettifyError(error));
      return moveOrganization(config, data, report);
    },
  },
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

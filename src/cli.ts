import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type Config, ConfigError, loadEnvFile, readConfig, startFolder } from './platform/config.ts';
import { IncompatibleDatabaseError } from './platform/db/migrate.ts';
import { DATABASE_FOLDER } from './platform/db/private-files.ts';
import { explain } from './server/failures.ts';
import { commands, type Command as Operation, RENEW_SECRET_KEY } from './server/operator/commands.ts';
import { NoServerError, runCommand, sendCommand } from './server/operator/control.ts';
import { examineOtherVersion } from './server/operator/doctor.ts';
import { offlineCommands } from './server/operator/offline-commands.ts';
import { type Running, startApp } from './server/start.ts';

const program = new Command('cli')
  .description(
    'Commands for the operator of a team chat service. They use the database in DATA_DIR or at DATABASE_URL.',
  )
  .exitOverride()
  .showHelpAfterError();

// Libraries print hints with `console.warn`, for example about the rights of a Redis user. Problems are in the results.
console.warn = () => {};
for (const operation of commands) addCommand(operation, (config, args) => run(config, operation.name, args));
for (const operation of offlineCommands) {
  addCommand(operation, (config, args) => {
    if (config.databaseUrl === undefined && operation.name !== 'backup restore') requireData(config);
    return operation.run(config, args, (line) => console.error(line));
  });
}
try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) console.error(explain(error));
  process.exitCode = error instanceof CommanderError ? error.exitCode : 1;
}

/**
 * Adds a command to the command line. "org create" becomes the subcommand `create` of `org`. Each argument of the command
 * becomes an option.
 */
function addCommand(
  operation: Pick<Operation, 'name' | 'summary' | 'args'>,
  perform: (config: Config, args: Readonly<Record<string, unknown>>) => Promise<object>,
): void {
  const words = operation.name.split(' ');
  const name = words.pop() ?? '';
  let group = program;
  for (const word of words) {
    group =
      group.commands.find((known) => known.name() === word) ?? group.command(word).description(`${word} commands`);
  }
  const command = group.command(name).description(operation.summary).option('--json', 'print JSON');
  const positions: { readonly arg: string; readonly isPath: boolean }[] = [];
  for (const [arg, type] of Object.entries(operation.args.shape) as [string, z.ZodType][]) {
    const { isPath = false, isArgument = isPath } = (type.meta() ?? {}) as { isPath?: boolean; isArgument?: boolean };
    if (!isArgument) {
      command.addOption(optionOf(arg, type));
      continue;
    }
    command.argument(`<${arg}>`, type.description);
    positions.push({ arg, isPath });
  }
  command.action((...given: unknown[]) => {
    const { json, ...options } = given[positions.length] as { json?: boolean };
    const positional = Object.fromEntries(
      positions.map(({ arg, isPath }, i) => [
        arg,
        isPath ? resolve(startFolder(), String(given[i])) : String(given[i]),
      ]),
    );
    return act(json, (config) => perform(config, withSecretsRead({ ...options, ...positional })));
  });
}

/**
 * Reads a password, a secret, or a connection string with a password, from standard input if its option is "-". A password in
 * the command line itself would be visible to every user of the machine.
 */
function withSecretsRead(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isRead = ([name, value]: [string, unknown]) => /(^to|password|secret)$/i.test(name) && value === '-';
  const read = Object.entries(args).filter(isRead);
  if (read.length === 0) return args;
  const secret = readFileSync(0, 'utf8').replace(/\r?\n$/, '');
  return { ...args, ...Object.fromEntries(read.map(([name]) => [name, secret])) };
}

function optionOf(arg: string, type: z.ZodType): Option {
  const flag = `--${arg.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const shape = z.toJSONSchema(type, { io: 'input' });
  const description = shape.description ?? '';
  if (shape.type === 'boolean') return new Option(flag, description);
  const option = new Option(`${flag} <${shape.type === 'array' ? 'json' : 'text'}>`, description);
  if (Array.isArray(shape.enum)) option.choices(shape.enum.map(String));
  if (shape.type === 'array') option.argParser(parseJson);
  const required = !type.safeParse(undefined).success;
  return required ? option.makeOptionMandatory() : option;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('Invalid JSON.');
  }
}

async function act(json: boolean | undefined, work: (config: Config) => Promise<object>): Promise<void> {
  loadEnvFile();
  const config = readConfig();
  // Only warnings and errors are logged, unless another level is configured. Messages of level info belong in the log of the
  // service.
  const logLevel = config.logLevel === 'info' ? 'warn' : config.logLevel;
  const result = await work({ ...config, logLevel });
  console.log(json === true ? JSON.stringify(result, null, 2) : forPeople(result));
  if ('ok' in result && result.ok === false) process.exitCode = 1;
}

/**
 * Runs a command. Only one process can open the embedded database, so a running server executes the command. Without a running
 * server, or with PostgreSQL, this process executes it.
 */
async function run(config: Config, command: string, args: object): Promise<object> {
  if (config.databaseUrl === undefined) {
    try {
      return await sendCommand(config.dataDir, { command, args });
    } catch (error) {
      if (!(error instanceof NoServerError)) throw error;
    }
    if (command !== 'migrate') requireData(config);
  }
  const running = await startFor(command, config).catch((error: unknown) => {
    if (command === 'doctor' && error instanceof IncompatibleDatabaseError) return undefined;
    throw error;
  });
  if (running === undefined) return examineOtherVersion(config);
  const { app, migrated, close } = running;
  try {
    if (command === 'migrate') return { applied: migrated };
    return await runCommand(app, command, args);
  } finally {
    await close();
  }
}

/**
 * Starts the app to execute a command. Only `migrate` may change the tables, because nodes of the previous version may still
 * use them. `doctor` logs nothing: its findings contain the problems.
 */
function startFor(command: string, config: Config): Promise<Running> {
  const logLevel = command === 'doctor' ? 'silent' : config.logLevel;
  return startApp(
    { ...config, logLevel },
    { isNewSecretKey: command === RENEW_SECRET_KEY, changesNoTables: command !== 'migrate' },
  );
}

/**
 * Checks that there is an embedded database. Without the check, a mistyped path or an unmounted disk would create a new
 * database, and the command would read from it.
 *
 * @throws ConfigError if there is no embedded database.
 */
function requireData({ dataDir }: Config): void {
  const place = resolve(dataDir);
  // If the path is not a directory, the code that opens it reports the error.
  if (existsSync(dataDir) && (!statSync(dataDir).isDirectory() || readdirSync(dataDir).includes(DATABASE_FOLDER)))
    return;
  const missing = existsSync(dataDir) ? `no database in ${place}` : `no directory ${place}`;
  throw new ConfigError(`DATA_DIR: there is ${missing}. npm start and npm run cli -- migrate create one`);
}

/** Formats the result of a command as text for a terminal: a list as a table, an object as one line for each field. */
function forPeople(result: object): string {
  if (Array.isArray(result)) return result.length === 0 ? 'none' : table(result as Record<string, unknown>[]);
  return Object.entries(result)
    .map(([name, value]) => {
      if (!Array.isArray(value)) return `${name}: ${String(value)}`;
      if (typeof value[0] !== 'object') return `${name}: ${value.length === 0 ? 'none' : value.join(', ')}`;
      return `${name}:\n${table(value as Record<string, unknown>[])}`;
    })
    .join('\n');
}

function table(rows: readonly Record<string, unknown>[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column])))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

import { rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { App } from '../../access/context.ts';
import { makeDataDirectory } from '../../platform/db/private-files.ts';
import { ChatError, NotFoundError } from '../../platform/errors.ts';
import { commands } from './commands.ts';

/** A request on the command socket. Requests and replies are each one line of JSON. */
interface Request {
  readonly command: string;
  readonly args?: unknown;
}
type Reply =
  | { readonly ok: true; readonly result: object }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** The error if no server is running on this data directory. */
export class NoServerError extends Error {
  override name = 'NoServerError';
}

/** The error if the server refused a command, or the command failed. Contains the message of the server. */
export class CommandFailedError extends Error {
  override name = 'CommandFailedError';
}

/**
 * Maximum size of the path of a Unix socket in bytes, including the terminating zero byte. The operating system refuses longer
 * paths.
 */
const MAX_PATH_BYTES = 104;

/**
 * Returns the path of the server's command socket: relative or absolute, whichever is shorter. Undefined if even the shorter
 * path is too long for a socket.
 */
function socketPath(dataDir: string): string | undefined {
  const path = join(dataDir, 'control.sock');
  const fromHere = relative(process.cwd(), path);
  const shorter = fromHere.length < path.length ? fromHere : path;
  return Buffer.byteLength(shorter) < MAX_PATH_BYTES ? shorter : undefined;
}

/**
 * Accepts commands at the Unix socket DATA_DIR/control.sock. Only the user that runs the server can write to it. Only one
 * process can open the embedded database, so the command line accesses the database through this socket.
 *
 * With PostgreSQL, several servers can share a data directory. Only the first of them accepts commands. On the other servers,
 * and if the path of DATA_DIR is too long for a socket, commands are not accepted.
 */
export async function openControl(app: App): Promise<{ close(): void }> {
  const { dataDir } = app.config;
  makeDataDirectory(dataDir);
  const path = socketPath(dataDir);
  if (path === undefined) {
    app.log.warn(`data directory path is too long for a command socket, commands cannot reach this server: ${dataDir}`);
    return { close() {} };
  }
  if (await isAnswered(path)) return { close() {} };
  // The socket file remains if a previous server ended unexpectedly.
  rmSync(path, { force: true });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    void serve(app, socket);
  });
  const listening = new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject));
  // `listen` creates the socket file. The umask is set before, so that other users cannot access the file at any time. Until a
  // later chmod, they could access the file.
  const umask = process.umask(0o177);
  server.listen(path);
  process.umask(umask);
  await listening;
  return {
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * Executes the commands of a connection one after another, because later commands of a script may need the results of earlier
 * commands.
 */
async function serve(app: App, socket: Socket): Promise<void> {
  try {
    for await (const line of createInterface({ input: socket })) {
      if (line.trim() === '') continue;
      const reply = await answer(app, line);
      if (!socket.destroyed) socket.write(`${JSON.stringify(reply)}\n`);
    }
  } catch {
    socket.destroy();
  }
}

async function answer(app: App, line: string): Promise<Reply> {
  try {
    const { command: name, args = {} } = JSON.parse(line) as Request;
    return { ok: true, result: await runCommand(app, name, args) };
  } catch (error) {
    if (error instanceof ChatError) return { ok: false, error: { code: error.code, message: error.message } };
    if (error instanceof SyntaxError) return { ok: false, error: { code: 'INVALID_JSON', message: error.message } };
    app.log.error({ err: error }, 'command failed unexpectedly');
    return {
      ok: false,
      error: { code: 'INTERNAL_SERVER_ERROR', message: 'The command failed. See the log of the server.' },
    };
  }
}

/**
 * Executes a command, and returns its result.
 *
 * @throws NotFoundError if no command has this name.
 * @throws ValidationError if the arguments are invalid. Any other error is one that the command itself throws.
 */
export function runCommand(app: App, name: string, args: unknown): Promise<object> {
  const command = commands.find((known) => known.name === name);
  if (command === undefined) throw new NotFoundError(`Unknown command "${name}"`);
  return command.run(app, args);
}

function isAnswered(path: string): Promise<boolean> {
  return connect(path).then(
    (socket) => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}

function connect(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

/**
 * Sends one command to the server that runs on this data directory.
 *
 * @returns The result of the command.
 * @throws NoServerError if no server is running. The command then had no effect.
 * @throws CommandFailedError if the server did not execute the command, or stopped before it replied.
 */
export async function sendCommand(dataDir: string, request: Request): Promise<object> {
  const path = socketPath(dataDir);
  const socket = path && (await connect(path).catch(() => undefined));
  if (!socket) throw new NoServerError(`No server is running on ${dataDir}`);
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of createInterface({ input: socket })) {
      const reply = JSON.parse(line) as Reply;
      if (reply.ok) return reply.result;
      throw new CommandFailedError(reply.error.message);
    }
    throw new CommandFailedError('The server stopped before it replied. Check whether the command took effect.');
  } finally {
    socket.destroy();
  }
}

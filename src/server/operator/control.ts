import { rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { App } from '../../access/context.ts';
import { makeDataDirectory } from '../../platform/db/private-files.ts';
import { BadRequestError, ChatError } from '../../platform/errors.ts';
import { commands } from './commands.ts';

/** Requests and replies are one line of JSON each. */
interface Request {
  readonly command: string;
  readonly args?: unknown;
}
type Reply =
  | { readonly ok: true; readonly result: object }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** No server is running on this data directory. */
export class NoServerError extends Error {
  override name = 'NoServerError';
}

/** The server did not execute the command. The message is the server's. */
export class CommandFailedError extends Error {
  override name = 'CommandFailedError';
}

/** Size of a socket's path in the kernel, including the terminator. */
const MAX_PATH_BYTES = 104;

/**
 * Returns the path of the server's command socket. Undefined if the data directory's path is too long for a socket in
 * it.
 */
function socketPath(dataDir: string): string | undefined {
  const path = join(dataDir, 'control.sock');
  const fromHere = relative(process.cwd(), path);
  const shorter = fromHere.length < path.length ? fromHere : path;
  return Buffer.byteLength(shorter) < MAX_PATH_BYTES ? shorter : undefined;
}

/**
 * Accepts commands at DATA_DIR/control.sock, from users with write access to the file: the user that runs the server.
 * Only one process can open the embedded database, so the command line accesses it through this socket.
 *
 * On PostgreSQL, several servers can share a data directory. The first one accepts the commands.
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
  // Remains if a process ended unexpectedly.
  rmSync(path, { force: true });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    void serve(app, socket);
  });
  const listening = new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject));
  // `listen` creates the file. It must never be accessible to other users, not even before a chmod.
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

/** Executes commands in sequence: a script's later commands may need the results of earlier ones. */
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
 * Executes a command. @throws BadRequestError for an unknown name or invalid arguments, and the errors of the command.
 */
export function runCommand(app: App, name: string, args: unknown): Promise<object> {
  const command = commands.find((known) => known.name === name);
  if (command === undefined) throw new BadRequestError(`Unknown command "${name}"`);
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
 * @returns The command's result.
 * @throws NoServerError if there is no server to send it to. Nothing was done.
 * @throws CommandFailedError if the server did not execute it, or ended before it replied.
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

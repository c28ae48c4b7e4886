import { rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { App } from '../../access/context.ts';
import { makeDataDirectory } from '../../platform/db/private-files.ts';
import { BadRequestError, ChatError } from '../../platform/errors.ts';
import { commands } from './commands.ts';

/** One line of JSON each way. */
interface Request {
  readonly command: string;
  readonly args?: unknown;
}
type Reply =
  | { readonly ok: true; readonly result: object }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** The server is not running, or not on this data directory. */
export class NoServerError extends Error {
  override name = 'NoServerError';
}

/** The server did not carry the command out; the message is its own. */
export class CommandFailedError extends Error {
  override name = 'CommandFailedError';
}

/** What the kernel holds in a socket's address, with its terminator. */
const MAX_PATH_BYTES = 104;

/** Where a server takes commands; undefined when the data directory's path is too long for a socket in it. */
function socketPath(dataDir: string): string | undefined {
  const path = join(dataDir, 'control.sock');
  const fromHere = relative(process.cwd(), path);
  const shorter = fromHere.length < path.length ? fromHere : path;
  return Buffer.byteLength(shorter) < MAX_PATH_BYTES ? shorter : undefined;
}

/**
 * Takes commands at DATA_DIR/control.sock, from whoever may write to the file: the user the server runs as. With one
 * process on the embedded database, this is the command line's way to it.
 *
 * On PostgreSQL several servers may share a data directory; the first one there answers.
 */
export async function openControl(app: App): Promise<{ close(): void }> {
  const { dataDir } = app.config;
  makeDataDirectory(dataDir);
  const path = socketPath(dataDir);
  if (path === undefined) {
    app.log.warn(`${dataDir} is too long a path for a socket in it: the command line cannot reach this server`);
    return { close() {} };
  }
  if (await isAnswered(path)) return { close() {} };
  // Left by a process that ended without notice.
  rmSync(path, { force: true });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    void serve(app, socket);
  });
  const listening = new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject));
  // The file is made within `listen`: it must never be open to others, not even until a chmod.
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

/** One after the other: a script's later commands may need what its earlier ones made. */
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
    app.log.error({ err: error }, 'a command failed unexpectedly');
    return { ok: false, error: { code: 'INTERNAL_SERVER_ERROR', message: 'The command failed; see the log' } };
  }
}

/** @throws BadRequestError for an unknown name or wrong arguments, and whatever the command throws. */
export function runCommand(app: App, name: string, args: unknown): Promise<object> {
  const command = commands.find((known) => known.name === name);
  if (command === undefined) throw new BadRequestError(`There is no command "${name}"`);
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
 * @returns Its result.
 * @throws NoServerError when there is no server to send it to; nothing was done.
 * @throws CommandFailedError when the server did not carry it out.
 */
export async function sendCommand(dataDir: string, request: Request): Promise<object> {
  const path = socketPath(dataDir);
  const socket = path && (await connect(path).catch(() => undefined));
  if (!socket) throw new NoServerError(`No server answers in ${dataDir}`);
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of createInterface({ input: socket })) {
      const reply = JSON.parse(line) as Reply;
      if (reply.ok) return reply.result;
      throw new CommandFailedError(reply.error.message);
    }
    throw new CommandFailedError('The server ended before it answered; look whether the command took effect');
  } finally {
    socket.destroy();
  }
}

import { once } from 'node:events';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Json } from './http.ts';

/**
 * Sends an operator command to the server that runs on this data directory, as the command line does.
 *
 * @returns The result of the command.
 * @throws {Error} If the command fails, or the server closes the connection without a reply.
 */
export async function runCommand(dataDir: string, command: string, args: object): Promise<Json> {
  const socket = createConnection(join(dataDir, 'control.sock'));
  try {
    await once(socket, 'connect');
    socket.write(`${JSON.stringify({ command, args })}\n`);
    for await (const line of createInterface({ input: socket })) {
      const reply = JSON.parse(line);
      if (reply.ok) return reply.result;
      throw new Error(`${command} failed: ${JSON.stringify(reply.error)}`);
    }
    throw new Error(`The server ended before it answered ${command}`);
  } finally {
    socket.destroy();
  }
}

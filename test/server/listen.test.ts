import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { platform } from 'node:os';
import { expect, test } from 'vitest';
import { freePort, listen } from '../../src/server/listen.ts';

const HOST = '127.0.0.1';

test('refuses a port that is in use, also by another server of this project', async () => {
  const other = createTcpServer();
  other.listen(0, HOST);
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  await expect(listen(createServer(), port, HOST)).rejects.toMatchObject({ code: 'EADDRINUSE', port });
  other.close();
  await once(other, 'close');
  const listening = await listen(createServer(), port, HOST);
  await expect(listen(createServer(), port, HOST)).rejects.toMatchObject({ code: 'EADDRINUSE', port });
  await listening.close();
  await (await listen(createServer(), port, HOST)).close();
});

test.for([
  ['127.0.0.1', '0.0.0.0', 'EADDRINUSE'],
  ['0.0.0.0', '127.0.0.1', 'EADDRINUSE'],
  ['127.0.0.1', '::', 'EADDRINUSE'],
  ['127.0.0.1', 'localhost', 'EADDRINUSE'],
  ['127.0.0.1', '127.0.0.1', 'EADDRINUSE'],
] as const)(
  'reports that a port is in use before it listens: used at %s, wanted at %s',
  async ([used, wanted, code]) => {
    for (const reusePort of [false, true]) {
      const other = createTcpServer();
      other.listen({ port: 0, host: used, reusePort });
      await once(other, 'listening');
      const { port } = other.address() as { port: number };
      await expect(freePort(port, wanted), `reusePort ${reusePort}`).rejects.toMatchObject({ code, port });
      other.close();
      await once(other, 'close');
      await expect(freePort(port, wanted)).resolves.toBe(port);
    }
  },
);

/** Script that connects to a port repeatedly. It prints each outcome of a connection the first time that it occurs. */
const KNOCK = `const [port, seen] = [Number(process.argv[1]), new Set()];
  const note = (outcome) => seen.has(outcome) || (seen.add(outcome), console.log(outcome));
  const knock = () => require('node:net').connect(port, '127.0.0.1')
    .on('connect', () => note('accepted')).on('error', ({ code }) => note(code)).on('close', knock);
  for (let i = 0; i < 8; i++) knock();`;

test('does not accept connections while it checks the port', async () => {
  const port = await freePort(0, HOST);
  const clients = spawn(process.execPath, ['-e', KNOCK, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let outcomes = '';
  clients.stdout.on('data', (chunk: Buffer) => {
    outcomes += chunk.toString();
  });
  await expect.poll(() => outcomes).toBe('ECONNREFUSED\n');
  for (let i = 0; i < 300; i++) await freePort(port, HOST);
  clients.kill();
  await once(clients, 'exit');
  expect(outcomes).toBe('ECONNREFUSED\n');
});

test('rejects an address of another machine, and an unknown name', async () => {
  await expect(freePort(4_000, '203.0.113.9')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
  await expect(freePort(4_000, 'unknown.invalid')).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
});

// Only Linux permits several listening sockets on one port.
test.runIf(platform() === 'linux')('accepts many connections in one turn of the event loop', async () => {
  const COUNT = 320;
  const server = createServer();
  const taken = Promise.withResolvers<void>();
  let [turns, open] = [0, 0];
  server.on('connection', () => {
    if (++open === COUNT) taken.resolve();
  });
  const { port, close } = await listen(server, 0, HOST);
  const sockets = Array.from({ length: COUNT }, () => connect({ port, host: HOST }).on('error', () => {}));
  let turning = true;
  const turn = () => {
    turns++;
    if (turning) setImmediate(turn);
  };
  setImmediate(turn);
  await taken.promise;
  turning = false;
  // If the server accepted one connection in each turn, there would be as many turns as connections.
  expect(turns).toBeLessThan(COUNT / 4);
  for (const socket of sockets) socket.destroy();
  await close();
});

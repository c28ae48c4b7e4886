import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { platform } from 'node:os';
import { expect, test } from 'vitest';
import { listen } from '../src/server/listen.ts';

const HOST = '127.0.0.1';

test('listens at no port that something else has, be it another of our own servers', async () => {
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

// Elsewhere a port has one socket.
test.runIf(platform() === 'linux')('takes many connections in a turn of the event loop', async () => {
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
  // With one a turn it would be as many as connections.
  expect(turns).toBeLessThan(COUNT / 4);
  for (const socket of sockets) socket.destroy();
  await close();
});

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Arrivals } from '../../src/api/request-body.ts';
import { ChatError } from '../../src/platform/errors.ts';
import { send } from '../helpers/http.ts';

const LIMIT = 100_000;
/** Maximum total size of all incomplete request bodies, in bytes. Two almost complete bodies of this test are within it. */
const ROOM = 250_000;

let server: Server;
let url: string;

beforeAll(async () => {
  const arrivals = new Arrivals(ROOM);
  server = createServer(async (incoming, outgoing) => {
    try {
      outgoing.end(String((await arrivals.read(incoming, LIMIT)).length));
    } catch (error) {
      outgoing.statusCode = error instanceof ChatError ? error.status : 500;
      outgoing.end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends a request whose body lacks its last byte. */
async function stall(): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${LIMIT}\r\n\r\n${'x'.repeat(LIMIT - 1)}`);
  await once(server, 'request');
  return socket;
}

const statusOf = async (socket: Socket) => String((await once(socket, 'data'))[0]).slice(9, 12);

test('incomplete bodies are dropped in favor of complete ones, oldest first, and release their memory', async () => {
  const whole = () => send(url, { method: 'POST', path: '/', headers: {}, body: 'y'.repeat(LIMIT) });
  const first = await stall();
  const second = await stall();
  const refused = statusOf(first);
  expect(await whole()).toMatchObject({ status: 200, text: String(LIMIT) });
  expect(await refused).toBe('503');
  second.write('x');
  expect(await statusOf(second)).toBe('200');
  for (const socket of [first, second]) socket.destroy();
  // Bodies whose requests were aborted, answered or refused do not count towards the limit.
  const third = await stall();
  third.destroy();
  const others = await Promise.all([stall(), stall()]);
  const answers = others.map(statusOf);
  for (const socket of others) socket.write('x');
  expect(await Promise.all(answers)).toEqual(['200', '200']);
});

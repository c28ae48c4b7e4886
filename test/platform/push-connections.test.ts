import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { Fcm } from '../../src/platform/push/fcm.ts';
import { Http2Client } from '../../src/platform/push/http2-client.ts';

/** Starts a server that accepts connections, and sends nothing: `await using` it. */
async function startSilentServer() {
  const server = createServer((socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Returns the time in milliseconds until `run` ends. */
async function duration(run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await run();
  return performance.now() - begin;
}

test('a request ends when it is aborted, also before the connection is established', async () => {
  await using silent = await startSilentServer();
  const client = new Http2Client(`https://${silent.address}`);
  const request = { path: '/', headers: {}, body: '', signal: AbortSignal.timeout(200) };
  const ms = await duration(() => expect(client.request(request)).rejects.toThrow('did not respond in time'));
  expect(ms).toBeLessThan(5_000);
  client.close();
});

test('a message fails when it is aborted, also while it waits for an access token', async () => {
  await using silent = await startSilentServer();
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const url = `http://${silent.address}`;
  const access = { url, key, keyId: undefined, clientEmail: 'x@example.com', tokenUrl: `${url}/token`, projectId: 'x' };
  const fcm = new Fcm(access, () => new Date());
  const message = { token: 'x', data: {}, priority: 'HIGH', ttlSeconds: 1, signal: AbortSignal.timeout(200) } as const;
  const ms = await duration(async () => expect(await fcm.send(message)).toMatchObject({ kind: 'failed' }));
  expect(ms).toBeLessThan(5_000);
  fcm.close();
});

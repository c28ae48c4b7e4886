import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import S3rver from '@20minutes/s3rver';
import { newEmptyDir } from './data-dir.ts';

const NAME = 'files';

/** How the store treats requests. `silent` accepts them and never answers. */
export type StoreState = 'works' | 'fails' | 'silent' | 'disconnects';

/** An S3-compatible object store with one bucket: `await using` it. */
export interface TestBucket extends AsyncDisposable {
  readonly url: string;
  /** Variables of a service that uses the bucket. */
  readonly env: Readonly<Record<string, string>>;
  state: StoreState;
  /** Delay before each request is answered, in milliseconds. */
  delayMs: number;
  /** Returns whether a request fails although the store works. */
  failing: (request: IncomingMessage) => boolean;
  /** Returns whether a request is refused for its object. */
  refusing: (request: IncomingMessage) => boolean;
  /** Method and path of each request, in order. */
  readonly requests: readonly string[];
  /** Returns the keys of all objects, sorted. */
  keys(): string[];
  /** Deletes an object without the service. */
  remove(key: string): void;
}

export async function startBucket(): Promise<TestBucket> {
  const directory = newEmptyDir();
  const store = new S3rver({ silent: true, directory, configureBuckets: [{ name: NAME }] });
  await store.configureBuckets();
  const answer = store.callback();
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (bucket.delayMs > 0) await sleep(bucket.delayMs);
    if (bucket.state === 'silent') return;
    if (bucket.state === 'disconnects') return void request.socket.destroy();
    if (bucket.state === 'fails' || bucket.failing(request)) {
      request.resume();
      return void response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
    }
    if (bucket.refusing(request)) {
      request.resume();
      return void response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    }
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const root = join(directory, NAME);
  const suffix = '._S3rver_object';
  const bucket: TestBucket = {
    url,
    env: {
      ...{ S3_ENDPOINT: url, S3_BUCKET: NAME, S3_FORCE_PATH_STYLE: 'on' },
      ...{ S3_ACCESS_KEY_ID: 'S3RVER', S3_SECRET_ACCESS_KEY: 'S3RVER' },
    },
    state: 'works',
    delayMs: 0,
    failing: () => false,
    refusing: () => false,
    requests,
    keys: () =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)).slice(0, -suffix.length))
        .sort(),
    remove: (key) => rmSync(join(root, `${key}${suffix}`)),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return bucket;
}

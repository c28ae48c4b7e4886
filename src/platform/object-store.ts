import { createHash } from 'node:crypto';
import type { AwsClient } from 'aws4fetch';
import { streamOf } from './byte-stream.ts';
import type { Bucket } from './config.ts';
import { RequestTimeoutError } from './errors.ts';
import { observeObjectStore } from './metrics.ts';
import { once } from './once.ts';
import { retry } from './retry.ts';

/** Time in which the store must accept a connection and send the head of a response, or the next bytes, in milliseconds. */
const PATIENCE_MS = 5_000;
/** Time in which the store must receive the next part of an object, or confirm the whole object, in milliseconds. */
const UPLOAD_PATIENCE_MS = 10_000;
/** Maximum number of attempts of a request, and pauses between them in milliseconds. */
const [ATTEMPTS, PAUSES_MS] = [3, [100, 500]] as const;
/** Maximum length of the text of an error response, in characters. */
const MAX_ERROR_LENGTH = 4_096;

/** Thrown if the store does not answer, or answers with a server error, in all attempts. The client can repeat the request. */
export class StoreUnavailableError extends RequestTimeoutError {
  override readonly data = { 'retry-after': 5 };

  constructor(cause?: unknown) {
    super('The file store is unavailable; nothing was changed, please try again');
    this.cause = cause;
  }
}

/** Thrown if the store refuses a request: its configuration or its rights are wrong. */
export class StoreRefusedError extends StoreUnavailableError {
  /** Status and code of the store's response. */
  readonly reason: string;

  constructor(reason: string) {
    super();
    this.reason = reason;
  }
}

/** Thrown if an object does not exist. */
export class NoObjectError extends Error {
  override name = 'NoObjectError';
}

/** Error of one attempt after which the request is repeated. */
class AttemptError extends Error {
  override name = 'AttemptError';
}

/** Opens the content of an object. Called again for each attempt to upload it. */
export type OpenContent = () => AsyncIterable<Uint8Array>;

type Operation = 'put' | 'get' | 'head' | 'delete';

interface Sending {
  readonly headers?: Record<string, string>;
  readonly body?: ReadableStream<Uint8Array>;
}

/** A bucket of an S3-compatible object store. */
export class ObjectStore {
  readonly #bucket: Bucket;
  readonly #signer: () => Promise<AwsClient>;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
    const { accessKeyId, secretAccessKey, region } = bucket;
    // Loaded only if a bucket is configured.
    this.#signer = once(async () => {
      const { AwsClient } = await import('aws4fetch');
      return new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' });
    });
  }

  /** URL of the bucket, which identifies it. */
  get place(): string {
    return `${this.#bucket.endpoint}/${this.#bucket.name}`;
  }

  /**
   * Stores an object. The store receives the checksums of the content, and refuses an object that differs. Afterwards the object
   * is looked up, with its size.
   *
   * @throws StoreUnavailableError if the store does not confirm it.
   */
  async put(key: string, size: number, open: OpenContent): Promise<void> {
    const [md5, sha256] = [createHash('md5'), createHash('sha256')];
    for await (const part of open()) for (const hash of [md5, sha256]) hash.update(part);
    const headers = {
      'Content-Length': String(size),
      'Content-MD5': md5.digest('base64'),
      'X-Amz-Content-Sha256': sha256.digest('hex'),
    };
    await this.#attempts('put', async () => {
      const watch = new Watch(UPLOAD_PATIENCE_MS);
      try {
        const body = streamOf(watch.during(open()));
        const response = await this.#send('PUT', key, { headers, body }, watch.signal);
        await response.body?.cancel();
      } finally {
        watch.end();
      }
    });
    if ((await this.size(key)) !== size)
      throw new StoreUnavailableError(new Error(`The object ${key} has another size`));
  }

  /** Returns the size of an object in bytes. Undefined if it does not exist. @throws StoreUnavailableError */
  size(key: string): Promise<number | undefined> {
    return this.#attempts('head', () =>
      this.#within(async (signal) => {
        try {
          const response = await this.#send('HEAD', key, {}, signal);
          return Number(response.headers.get('content-length'));
        } catch (error) {
          if (error instanceof NoObjectError) return undefined;
          throw error;
        }
      }),
    );
  }

  /**
   * Reads a range of an object. If the connection breaks or the store closes it because the reader is slow, the rest is requested
   * again. Holds some 100 kB in memory.
   *
   * @param start First byte. @param end Last byte, inclusive.
   * @throws NoObjectError if the object does not exist. @throws StoreUnavailableError
   */
  async *read(
    key: string,
    { start, end }: { readonly start: number; readonly end: number },
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let at = start;
    let failures = 0;
    while (at <= end) {
      const before = at;
      let watch: Watch | undefined;
      try {
        const range = `bytes=${at}-${end}`;
        const opened = await this.#attempts('get', () => this.#open(key, range));
        const { response } = opened;
        watch = opened.watch;
        if (response.body === null || response.status !== 206) throw new AttemptError(`status ${response.status}`);
        for await (const bytes of watch.until(response.body)) {
          at += bytes.length;
          yield bytes;
        }
        if (at <= end) throw new AttemptError('the body ended early');
      } catch (error) {
        if (error instanceof StoreUnavailableError || error instanceof NoObjectError) throw error;
        failures = at > before ? 1 : failures + 1;
        if (failures >= ATTEMPTS) throw new StoreUnavailableError(error);
      } finally {
        watch?.end(true);
      }
    }
  }

  /** Requests a range of an object. The caller must end the watch, which each attempt has for itself, after it has read the body. */
  async #open(key: string, range: string): Promise<{ readonly response: Response; readonly watch: Watch }> {
    const watch = new Watch(PATIENCE_MS);
    try {
      return { response: await this.#send('GET', key, { headers: { Range: range } }, watch.signal), watch };
    } catch (error) {
      watch.end(true);
      throw error;
    }
  }

  /** Deletes an object, if it exists. @throws StoreUnavailableError */
  async delete(key: string): Promise<void> {
    await this.#attempts('delete', () =>
      this.#within(async (signal) => {
        try {
          const response = await this.#send('DELETE', key, {}, signal);
          await response.body?.cancel();
        } catch (error) {
          if (!(error instanceof NoObjectError)) throw error;
        }
      }),
    );
  }

  /**
   * Checks that the store answers, with one attempt and without a change. Reads an object that does not exist.
   *
   * @throws StoreUnavailableError if it does not answer, or does not accept the credentials or the bucket.
   */
  async probe(): Promise<void> {
    try {
      await this.#within(async (signal) => {
        const response = await this.#send('GET', 'readiness', {}, signal);
        await response.body?.cancel();
      });
    } catch (error) {
      // Stores refuse to say whether an object exists if the credentials have no right to list the bucket.
      const isHidden = error instanceof StoreRefusedError && error.reason === '403 AccessDenied';
      if (error instanceof NoObjectError || isHidden) return;
      throw error instanceof StoreUnavailableError ? error : new StoreUnavailableError(error);
    }
  }

  #urlOf(key: string): string {
    const { endpoint, name, isInPath } = this.#bucket;
    if (isInPath) return `${endpoint}/${name}/${key}`;
    const url = new URL(`${endpoint}/${key}`);
    url.host = `${name}.${url.host}`;
    return url.href;
  }

  async #send(method: string, key: string, { headers = {}, body }: Sending, signal: AbortSignal): Promise<Response> {
    const signer = await this.#signer();
    const url = this.#urlOf(key);
    const signed = await signer.sign(url, { method, headers });
    const response = await fetch(signed.url, {
      ...{ method, headers: signed.headers, signal, redirect: 'manual' },
      ...(body !== undefined && { body, duplex: 'half' }),
    }).catch((error: Error) => {
      throw new AttemptError(error.cause instanceof Error ? error.cause.message : error.message);
    });
    if (response.ok) return response;
    const code = codeIn(method === 'HEAD' ? '' : await textOf(response));
    const { status } = response;
    if (status === 404 && code !== 'NoSuchBucket') throw new NoObjectError(`The object ${key} does not exist`);
    const reason = `${status}${code === '' ? '' : ` ${code}`}`;
    const isTemporary = status >= 500 || status === 408 || status === 429 || code === 'RequestTimeout';
    throw isTemporary ? new AttemptError(reason) : new StoreRefusedError(reason);
  }

  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const watch = new Watch(PATIENCE_MS);
    try {
      return await work(watch.signal);
    } finally {
      watch.end();
    }
  }

  async #attempts<T>(operation: Operation, attempt: () => Promise<T>): Promise<T> {
    try {
      const result = await retry(attempt, (error, attempts) =>
        error instanceof AttemptError && attempts < ATTEMPTS ? PAUSES_MS[attempts - 1] : undefined,
      );
      observeObjectStore(operation, 'ok');
      return result;
    } catch (error) {
      if (error instanceof NoObjectError) {
        observeObjectStore(operation, 'absent');
        throw error;
      }
      observeObjectStore(operation, error instanceof StoreRefusedError ? 'refused' : 'unavailable');
      throw error instanceof AttemptError ? new StoreUnavailableError(error) : error;
    }
  }
}

/** Aborts a request if nothing happens for some time. */
class Watch {
  readonly #controller = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(new Error('no answer in time')), this.#ms);
  }

  /** Passes the parts on, and restarts the timer whenever the reader takes one. */
  async *during<T>(parts: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    for await (const part of parts) {
      this.restart();
      yield part;
    }
    this.restart();
  }

  /** Passes the parts on. The timer runs while the next part is awaited, but not while the reader processes a part. */
  async *until<T>(parts: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    this.restart();
    for await (const part of parts) {
      clearTimeout(this.#timer);
      yield part;
      this.restart();
    }
  }

  /** Stops the timer. @param aborts Whether a request that is still in progress is aborted. */
  end(aborts = false): void {
    clearTimeout(this.#timer);
    if (aborts) this.#controller.abort();
  }
}

const codeIn = (xml: string): string => /<Code>([\w.]{1,100})<\/Code>/.exec(xml)?.[1] ?? '';

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > MAX_ERROR_LENGTH) break;
    }
  } catch {
    // The status is known without the text.
  }
  return text;
}

const stores = new WeakMap<Bucket, ObjectStore>();

/** Returns the configured object store. Undefined if no bucket is configured. */
export function objectStoreOf({ bucket }: { readonly bucket: Bucket | undefined }): ObjectStore | undefined {
  if (bucket === undefined) return undefined;
  const store = stores.get(bucket) ?? new ObjectStore(bucket);
  stores.set(bucket, store);
  return store;
}

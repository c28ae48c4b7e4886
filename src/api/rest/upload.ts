import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { BadRequestError, RequestTimeoutError } from '../../platform/errors.ts';
import { encodingObjection, mediaTypeOf, UnsupportedBodyError } from '../request-body.ts';

/** Maximum number of fields beside the file, and of bytes of each. They are ignored. */
const LIMITS = { fields: 20, fieldSize: 4096, fieldNameSize: 100, headerPairs: 20, files: 2, parts: 22 } as const;

/** Time without any data after which an upload is refused, in milliseconds. */
const SILENT_MS = 60_000;

/** Sockets on which a file is being received. */
const receiving = new WeakSet<object>();

/**
 * Returns whether a file is being received on a socket. The time limit for receiving a request does not apply to it, because a
 * large file takes minutes on a slow connection. Instead, the upload ends if no data arrives for a minute.
 */
export const isReceivingFile = (socket: object): boolean => receiving.has(socket);

/** Excludes a request from the time limit for receiving a request. @returns A function that ends the exclusion. */
export function receiveSlowly({ socket }: IncomingMessage): () => void {
  receiving.add(socket);
  return () => receiving.delete(socket);
}

/** The file of a multipart body that has not been received yet. */
export class FileUpload {
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  /** Length of the whole body in bytes, as the client declares it. 0 if it does not. */
  get declaredBytes(): number {
    return Number(this.#incoming.headers['content-length'] ?? 0);
  }

  /**
   * Receives the only file of the body, as fast as `store` reads it. The body is never held in memory.
   *
   * @param store Stores the file, and returns a handle of it. The name is as the client sent it. If `content` fails, the body
   *   ended early.
   * @param discard Called with the handle if the file was stored, but the rest of the body is invalid.
   * @throws BadRequestError if the body is malformed, or does not contain exactly one file.
   * @throws UnsupportedBodyError if the body is not multipart/form-data.
   */
  async receive<T>(
    store: (name: string, content: AsyncIterable<Uint8Array>) => Promise<T>,
    discard: (stored: T) => Promise<unknown>,
  ): Promise<T> {
    const { headers } = this.#incoming;
    const type = headers['content-type'] ?? '';
    const objection = encodingObjection(this.#incoming);
    if (objection !== undefined) throw new UnsupportedBodyError(objection);
    if (mediaTypeOf(type) !== 'multipart/form-data') {
      throw new UnsupportedBodyError('The request body must have the Content-Type multipart/form-data');
    }
    let storing: Promise<T> | undefined;
    let content: Readable | undefined;
    let hasMore = false;
    const parser = parserOf(type);
    const { promise: parsed, resolve, reject } = Promise.withResolvers<void>();
    parser.on('file', (_field, file, name) => {
      // For a file input without a chosen file, browsers send an empty file without a name.
      if (storing !== undefined || name === undefined || name === '') {
        hasMore ||= storing !== undefined;
        file.resume();
        return;
      }
      content = file;
      // The reader of the file receives its errors. Without this listener, a later error would end the process.
      file.on('error', () => {});
      storing = store(name, withoutDetails(file));
      // A refusal of the file ends the parsing of the body. The error itself is thrown below.
      storing.catch(() => resolve());
    });
    parser.once('finish', resolve);
    parser.once('error', () => reject(malformed()));
    const cut = () => {
      if (!this.#incoming.complete) {
        content?.destroy(malformed());
        reject(malformed());
      }
    };
    this.#incoming.once('close', cut).once('error', cut);
    const { socket } = this.#incoming;
    receiving.add(socket);
    const silence = setTimeout(() => {
      content?.destroy(malformed());
      reject(new RequestTimeoutError());
    }, SILENT_MS);
    this.#incoming.on('data', () => silence.refresh());
    this.#incoming.pipe(parser);
    let failure: unknown;
    try {
      await parsed;
    } catch (error) {
      failure = error;
    } finally {
      clearTimeout(silence);
      receiving.delete(socket);
      this.#incoming.unpipe(parser);
      this.#incoming.off('close', cut).off('error', cut);
      // The rest of a refused body is received but discarded, so that the client can read the response.
      this.#incoming.resume();
    }
    if (storing === undefined) throw failure ?? new BadRequestError('You must specify a file to upload');
    const stored = await storing;
    if (failure === undefined && !hasMore) return stored;
    await discard(stored);
    throw failure ?? new BadRequestError('You may only upload one file at a time');
  }
}

const malformed = () => new BadRequestError('The multipart body is malformed');

/** Returns the content of a file. If it ends early, throws an error for the client. */
async function* withoutDetails(file: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of file) yield part as Buffer;
  } catch {
    throw malformed();
  }
}

function parserOf(contentType: string) {
  try {
    return Busboy({ headers: { 'content-type': contentType }, limits: LIMITS, defCharset: 'utf8', preservePath: true });
  } catch {
    throw malformed();
  }
}

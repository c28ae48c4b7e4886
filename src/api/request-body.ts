import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { BadRequestError, RequestTimeoutError } from '../platform/errors.ts';
import { MAX_FILE_SIZES_MIB } from '../platform/limits.ts';

/**
 * Maximum size of a body without files, in bytes: several times the longest text that a parameter accepts, percent-encoded. A
 * longer body is refused with `BodyTooLargeError`. Without a limit, one request could fill the memory.
 */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/**
 * Maximum size of a body that contains a file, in bytes: the size of the largest image, plus the limit of a body without files.
 * A longer body is refused with `BodyTooLargeError`.
 */
export const FILE_BODY_LIMIT_BYTES = MAX_FILE_SIZES_MIB.avatar * 1024 * 1024 + BODY_LIMIT_BYTES;

/**
 * Maximum number of parts of a multipart body, or of fields of a form: ten times the number of fields of the largest form. A
 * body with more is refused with `BadRequestError`: parsing it would block the event loop for seconds.
 */
const MAX_PARTS = 1_000;

/**
 * Maximum total size of all bodies that are being received, in bytes: about forty of the largest bodies. Beyond it, the oldest
 * bodies are refused with `RequestTimeoutError`. Any client can send a body without authentication, and slowly, for up to a
 * minute. Without a limit, hundreds of such bodies would fill the memory.
 */
const MAX_ARRIVING_BYTES = 256 * 1024 * 1024;

/** The error for a request body over the size limit. */
export class BodyTooLargeError extends BadRequestError {
  override readonly status = 413;

  constructor(limitBytes: number) {
    super(`The request body is too large (limit: ${limitBytes} bytes)`);
  }
}

/** The error for a request body in an unsupported format. */
export class UnsupportedBodyError extends BadRequestError {
  override readonly status = 415;
}

/** Returns whether a request has a body. Also true if the length of the body is unknown. Such a body may be empty. */
export const mayHaveBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Returns the reason why the Content-Encoding of a body is refused; undefined if it is accepted. */
export function encodingObjection({ headers }: IncomingMessage): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return undefined;
  return `The request body must not have the Content-Encoding ${JSON.stringify(encoding)}`;
}

const UTF8_NAMES = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/** Returns the charset in a Content-Type header, in lower case. Undefined if there is none, or if it is UTF-8 or ASCII. */
export function foreignCharsetOf(contentType: string): string | undefined {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1]?.toLowerCase();
  return charset === undefined || UTF8_NAMES.has(charset) ? undefined : charset;
}

/** The content of a multipart body. */
export interface Multipart {
  /** Values of the text fields by name. If a name is repeated, the last value counts. */
  readonly fields: ReadonlyMap<string, string>;
  /** Files with the names of their fields, in the order sent. */
  readonly files: readonly (readonly [name: string, file: Uint8Array])[];
}

/** Returns the media type of a Content-Type header, in lower case. */
export const mediaTypeOf = (contentType: string): string => contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/**
 * Parses a complete multipart body.
 *
 * @param contentType The header as sent, which contains the boundary.
 * @throws BadRequestError if the body is malformed or has more than 1,000 parts.
 */
export async function readMultipart(body: Buffer, contentType: string): Promise<Multipart> {
  const fields = new Map<string, string>();
  const files: [string, Uint8Array][] = [];
  try {
    const headers = { 'content-type': contentType };
    if (hasTooManyParts(body, contentType)) throw new Error(`More than ${MAX_PARTS} parts`);
    for (const [name, value] of await new Response(new Uint8Array(body), { headers }).formData()) {
      if (typeof value === 'string') fields.set(name, value);
      // For a file input without a chosen file, browsers send an empty file without a name.
      else if (value.size > 0 || value.name !== '') files.push([name, await value.bytes()]);
    }
  } catch {
    throw new BadRequestError('The multipart body is malformed');
  }
  return { fields, files };
}

function hasTooManyParts(body: Buffer, contentType: string): boolean {
  return isOftenIn(body, `--${new MIMEType(contentType).params.get('boundary') ?? ''}`);
}

/**
 * Parses a complete body of type `application/x-www-form-urlencoded`.
 *
 * @returns The last value of each name.
 * @throws UnsupportedBodyError if the body is JSON, which some clients send with the type of a form.
 * @throws BadRequestError if there are more than 1,000 fields.
 */
export function readUrlEncoded(body: Buffer): ReadonlyMap<string, string> {
  const text = body.toString('utf8');
  if (BEGINS_LIKE_JSON.test(text) && isJson(text)) {
    throw new UnsupportedBodyError('The request body must be a form. It is JSON.');
  }
  if (isOftenIn(body, '&')) throw new BadRequestError(`The form has more than ${MAX_PARTS} fields`);
  return new Map(new URLSearchParams(text));
}

/** Matches the beginning of a JSON object or array, after at most 63 white space characters. */
const BEGINS_LIKE_JSON = /^\s{0,63}[[{]/;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a body contains a delimiter more than `MAX_PARTS` times. */
function isOftenIn(body: Buffer, delimiter: string): boolean {
  let parts = 0;
  for (let at = body.indexOf(delimiter); at !== -1 && parts <= MAX_PARTS; parts++) {
    at = body.indexOf(delimiter, at + delimiter.length);
  }
  return parts > MAX_PARTS;
}

/** A request body that has not arrived completely. */
interface Arriving {
  bytes: number;
  readonly giveUp: (error: Error) => void;
}

/** A reader of request bodies that limits the total size of all bodies that are being received. */
export class Arrivals {
  readonly #maxBytes: number;
  /** Bodies that are being received, oldest first. */
  readonly #bodies = new Set<Arriving>();
  #bytes = 0;

  constructor(maxBytes = MAX_ARRIVING_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Reads a whole body of at most `limitBytes`.
   *
   * @throws BodyTooLargeError if the Content-Length exceeds `limitBytes`, or as soon as the received bytes do.
   * @throws RequestTimeoutError if the bodies being received exceed the total limit, and this body is the oldest.
   * @throws BadRequestError if the connection breaks.
   */
  async read(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
    if (Number(incoming.headers['content-length'] ?? 0) > limitBytes) throw new BodyTooLargeError(limitBytes);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const chunks: Buffer[] = [];
    const body: Arriving = {
      bytes: 0,
      giveUp: (error) => {
        this.#remove(body);
        // The remaining bytes are received but discarded, so that the client can read the response.
        chunks.length = 0;
        reject(error);
      },
    };
    this.#bodies.add(body);
    incoming.on('data', (chunk: Buffer) => {
      if (!this.#bodies.has(body)) return;
      chunks.push(chunk);
      body.bytes += chunk.length;
      this.#bytes += chunk.length;
      if (body.bytes > limitBytes) body.giveUp(new BodyTooLargeError(limitBytes));
      else if (this.#bytes > this.#maxBytes) this.#makeRoom();
    });
    const cut = () => {
      // Only a body that has not been read completely is still in `#bodies`, and fails here.
      if (this.#bodies.has(body)) body.giveUp(new BadRequestError('The request body ended early'));
    };
    incoming.once('error', cut);
    incoming.once('close', cut);
    incoming.once('end', () => {
      // Every request emits `close`, usually after the whole body was read.
      incoming.off('close', cut);
      this.#remove(body);
      resolve(Buffer.concat(chunks));
    });
    return promise;
  }

  /**
   * Rejects the oldest bodies until the total size of the remaining bodies is within the limit. The oldest bodies are the
   * slowest: at normal speed, a body is complete before it becomes the oldest.
   */
  #makeRoom(): void {
    for (const body of this.#bodies) {
      if (this.#bytes <= this.#maxBytes) return;
      body.giveUp(new RequestTimeoutError());
    }
  }

  #remove(body: Arriving): void {
    if (this.#bodies.delete(body)) this.#bytes -= body.bytes;
  }
}

const arrivals = new Arrivals();

/**
 * Reads a whole body of at most `limitBytes`. All calls in this process share one limit on the total size of the bodies that
 * are being received.
 *
 * @throws BodyTooLargeError if the body exceeds `limitBytes`.
 * @throws RequestTimeoutError if the bodies being received exceed the total limit, and this body is the oldest.
 * @throws BadRequestError if the connection breaks.
 */
export const readBody = (incoming: IncomingMessage, limitBytes: number): Promise<Buffer> =>
  arrivals.read(incoming, limitBytes);

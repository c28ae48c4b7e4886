import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { BadRequestError, RequestTimeoutError } from '../platform/errors.ts';
import { MAX_FILE_SIZES_MIB } from '../platform/limits.ts';

/**
 * Our choice: the longest texts of the interface, percent-encoded, fit several times; without a bound one request could
 * fill the memory.
 */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** A body with a picture in it: the largest there may be, and beside it what any body may hold. */
export const FILE_BODY_LIMIT_BYTES = MAX_FILE_SIZES_MIB.avatar * 1024 * 1024 + BODY_LIMIT_BYTES;

/**
 * Our choice: ten times the fields of the largest form. Without a bound a body of nothing but parts, or of nothing but
 * fields, which anybody may send, would keep the service from everything else for seconds.
 */
const MAX_PARTS = 1_000;

/**
 * Our choice: forty of the largest bodies. Anybody may send one, a stranger too, and take a minute for it: hundreds at a
 * time would fill the memory.
 */
const MAX_ARRIVING_BYTES = 256 * 1024 * 1024;

/** The body is longer than the service reads. */
export class BodyTooLargeError extends BadRequestError {
  override readonly status = 413;

  constructor(limitBytes: number) {
    super(`The request body is too large (limit: ${limitBytes} bytes)`);
  }
}

/** What a multipart body holds. */
export interface Multipart {
  /** The last of each name. */
  readonly fields: ReadonlyMap<string, string>;
  /** By the names of their fields, in their order. */
  readonly files: readonly (readonly [name: string, file: Uint8Array])[];
}

/** The media type of a Content-Type header, in lower case. */
export const mediaTypeOf = (contentType: string): string => contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/**
 * Reads a multipart body that was read whole.
 *
 * @param contentType The header as it was sent: it names the boundary.
 * @throws BadRequestError when the body cannot be read, or has more than a thousand parts.
 */
export async function readMultipart(body: Buffer, contentType: string): Promise<Multipart> {
  const fields = new Map<string, string>();
  const files: [string, Uint8Array][] = [];
  try {
    const headers = { 'content-type': contentType };
    if (hasTooManyParts(body, contentType)) throw new Error(`More than ${MAX_PARTS} parts`);
    for (const [name, value] of await new Response(new Uint8Array(body), { headers }).formData()) {
      if (typeof value === 'string') fields.set(name, value);
      // Browsers send an input with nothing chosen as an empty file without a name.
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
 * Reads a body of type `application/x-www-form-urlencoded` that was read whole.
 *
 * @returns The last of each name.
 * @throws BadRequestError when it has more than a thousand fields.
 */
export function readUrlEncoded(body: Buffer): ReadonlyMap<string, string> {
  if (isOftenIn(body, '&')) throw new BadRequestError(`The form has more than ${MAX_PARTS} fields`);
  return new Map(new URLSearchParams(body.toString('utf8')));
}

/** Whether there are more of them than parts may be. */
function isOftenIn(body: Buffer, delimiter: string): boolean {
  let parts = 0;
  for (let at = body.indexOf(delimiter); at !== -1 && parts <= MAX_PARTS; parts++) {
    at = body.indexOf(delimiter, at + delimiter.length);
  }
  return parts > MAX_PARTS;
}

/** A body of which something is still to come. */
interface Arriving {
  bytes: number;
  readonly giveUp: (error: Error) => void;
}

/** Bodies this process keeps while they arrive. */
export class Arrivals {
  readonly #maxBytes: number;
  /** The one that began to arrive first stands first. */
  readonly #bodies = new Set<Arriving>();
  #bytes = 0;

  constructor(maxBytes = MAX_ARRIVING_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Reads a whole body, and no more of it than `limitBytes`.
   *
   * @throws BodyTooLargeError beyond `limitBytes`, at once if the head says so, and else as soon as it is passed.
   * @throws RequestTimeoutError when there is no room for all that arrive, and this has taken longest.
   * @throws BadRequestError when the connection breaks.
   */
  read(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (Number(incoming.headers['content-length'] ?? 0) > limitBytes) {
        reject(new BodyTooLargeError(limitBytes));
        return;
      }
      const chunks: Buffer[] = [];
      const body: Arriving = {
        bytes: 0,
        giveUp: (error) => {
          this.#remove(body);
          // What still comes is let through unread, so that the client gets to read the answer.
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
        else this.#makeRoom();
      });
      incoming.once('end', () => {
        this.#remove(body);
        resolve(Buffer.concat(chunks));
      });
      const cut = () => {
        // Every request closes; an error is made for those that were not read by then.
        if (this.#bodies.has(body)) body.giveUp(new BadRequestError('The request body ended early'));
      };
      incoming.once('error', cut);
      incoming.once('close', cut);
    });
  }

  /** The body that has taken longest gives way first: honest senders are done in a moment. */
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

/** Reads a whole body. As `Arrivals.read`, for all of this process. */
export const readBody = (incoming: IncomingMessage, limitBytes: number): Promise<Buffer> =>
  arrivals.read(incoming, limitBytes);

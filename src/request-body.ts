import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { BadRequestError } from './errors.ts';
import { MAX_FILE_SIZES_MIB } from './realm/limits.ts';

/**
 * Our choice: the longest texts of the interface, percent-encoded, fit several times; without a bound one request could
 * fill the memory.
 */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** A body with a picture in it: the largest there may be, and beside it what any body may hold. */
export const FILE_BODY_LIMIT_BYTES = MAX_FILE_SIZES_MIB.avatar * 1024 * 1024 + BODY_LIMIT_BYTES;

/**
 * Our choice: ten times the fields of the largest form. Without a bound a body of nothing but parts, which anybody may
 * send, would keep the service from everything else for a second.
 */
const MAX_PARTS = 1_000;

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
  const delimiter = `--${new MIMEType(contentType).params.get('boundary') ?? ''}`;
  let parts = 0;
  for (let at = body.indexOf(delimiter); at !== -1 && parts <= MAX_PARTS; parts++) {
    at = body.indexOf(delimiter, at + delimiter.length);
  }
  return parts > MAX_PARTS;
}

/**
 * Reads a whole body, and no more of it than `limitBytes`.
 *
 * @throws BodyTooLargeError beyond `limitBytes`, at once if the head says so, and else as soon as it is passed.
 * @throws BadRequestError when the connection breaks.
 */
export function readBody(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(incoming.headers['content-length'] ?? 0) > limitBytes) {
      reject(new BodyTooLargeError(limitBytes));
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limitBytes) {
        // What still comes is let through unread, so that the client gets to read the answer.
        chunks.length = 0;
        reject(new BodyTooLargeError(limitBytes));
      } else {
        chunks.push(chunk);
      }
    });
    incoming.once('end', () => resolve(Buffer.concat(chunks, size)));
    const cut = () => reject(new BadRequestError('The request body ended early'));
    incoming.once('error', cut);
    incoming.once('close', cut);
  });
}

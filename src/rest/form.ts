import type { IncomingMessage } from 'node:http';
import { BadRequestError } from '../errors.ts';

/**
 * Our choice: the longest texts of the interface, percent-encoded, fit several times; without a bound one request could
 * fill the memory.
 */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** The body is longer than the service reads. */
export class BodyTooLargeError extends BadRequestError {
  override readonly status = 413;

  constructor() {
    super(`The request body is too large (limit: ${BODY_LIMIT_BYTES} bytes)`);
  }
}

export type Fields = ReadonlyMap<string, string>;

const NOTHING: Fields = new Map();

/**
 * The fields of a form body, the last of each name. A body of another type, or none, has no fields; an uploaded file is
 * no field.
 *
 * @throws BodyTooLargeError beyond `BODY_LIMIT_BYTES`.
 * @throws BadRequestError when a multipart body cannot be read.
 * @see registration-and-events companion 4.7.1
 */
export async function readForm(incoming: IncomingMessage): Promise<Fields> {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = incoming.headers;
  if (type === undefined || (length === undefined && encoding === undefined) || length === '0') return NOTHING;
  const mediaType = type.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/x-www-form-urlencoded') {
    return new Map(new URLSearchParams((await readBody(incoming)).toString('utf8')));
  }
  if (mediaType === 'multipart/form-data') return readMultipart(await readBody(incoming), type);
  return NOTHING;
}

async function readMultipart(body: Buffer, type: string): Promise<Fields> {
  const fields = new Map<string, string>();
  try {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
    for (const [name, value] of form) {
      if (typeof value === 'string') fields.set(name, value);
    }
  } catch {
    throw new BadRequestError('The multipart body is malformed');
  }
  return fields;
}

function readBody(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(incoming.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) {
      reject(new BodyTooLargeError());
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > BODY_LIMIT_BYTES) {
        // What still comes is let through unread, so that the client gets to read the answer.
        chunks.length = 0;
        reject(new BodyTooLargeError());
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

/** The fields of the request target's query string, the last of each name. */
export function readQuery(target: string): Fields {
  const start = target.indexOf('?');
  return start === -1 ? NOTHING : new Map(new URLSearchParams(target.slice(start + 1)));
}

/** Both together; the body's wins where they have the same name. */
export function merge(query: Fields, body: Fields): Fields {
  if (body.size === 0) return query;
  return query.size === 0 ? body : new Map([...query, ...body]);
}

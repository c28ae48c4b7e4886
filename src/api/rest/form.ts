import type { IncomingMessage } from 'node:http';
import {
  BODY_LIMIT_BYTES,
  FILE_BODY_LIMIT_BYTES,
  mediaTypeOf,
  readBody,
  readMultipart,
  readUrlEncoded,
} from '../request-body.ts';

export type Fields = ReadonlyMap<string, string>;

/** What a body holds: its fields, the last of each name, and its files, whatever their names. */
export interface Form {
  readonly fields: Fields;
  readonly files: readonly Uint8Array[];
}

const NOTHING: Form = { fields: new Map(), files: [] };

/**
 * Reads a form body. A body of another type, or none, holds nothing.
 *
 * @param takesFile Whether the body may be as long as a file takes.
 * @throws BodyTooLargeError beyond the limit.
 * @throws BadRequestError when a multipart body cannot be read, or the form has more than a thousand fields.
 */
export async function readForm(incoming: IncomingMessage, takesFile: boolean): Promise<Form> {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = incoming.headers;
  if (type === undefined || (length === undefined && encoding === undefined) || length === '0') return NOTHING;
  const mediaType = mediaTypeOf(type);
  if (mediaType === 'application/x-www-form-urlencoded') {
    return { ...NOTHING, fields: readUrlEncoded(await readBody(incoming, BODY_LIMIT_BYTES)) };
  }
  if (mediaType !== 'multipart/form-data') return NOTHING;
  const body = await readBody(incoming, takesFile ? FILE_BODY_LIMIT_BYTES : BODY_LIMIT_BYTES);
  const { fields, files } = await readMultipart(body, type);
  return { fields, files: files.map(([, file]) => file) };
}

/** The fields of the request target's query string, the last of each name. */
export function readQuery(target: string): Fields {
  const start = target.indexOf('?');
  return start === -1 ? NOTHING.fields : new Map(new URLSearchParams(target.slice(start + 1)));
}

/** Both together; the body's wins where they have the same name. */
export function merge(query: Fields, body: Fields): Fields {
  if (body.size === 0) return query;
  return query.size === 0 ? body : new Map([...query, ...body]);
}

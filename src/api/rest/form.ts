import type { IncomingMessage } from 'node:http';
import {
  BODY_LIMIT_BYTES,
  encodingObjection,
  FILE_BODY_LIMIT_BYTES,
  foreignCharsetOf,
  mayHaveBody,
  mediaTypeOf,
  readBody,
  readMultipart,
  readUrlEncoded,
  UnsupportedBodyError,
} from '../request-body.ts';

export type Fields = ReadonlyMap<string, string>;

/** The content of a form. `fields` contains the last value of each name. The names of file fields are ignored. */
export interface Form {
  readonly fields: Fields;
  readonly files: readonly Uint8Array[];
}

const NOTHING: Form = { fields: new Map(), files: [] };

/**
 * Reads a form body. In a GET or HEAD request, a body of another content type is ignored, because some clients send `{}` in
 * such requests.
 *
 * @param takesFile Whether the body can contain a file, and therefore has a higher limit.
 * @throws UnsupportedBodyError if non-ASCII text has a charset other than UTF-8. Requests other than GET and HEAD are also
 *   refused if the body is compressed, has another content type, or has no content type.
 * @throws BodyTooLargeError if the body exceeds the limit.
 * @throws BadRequestError if a multipart body is malformed, or the form has more than 1,000 fields.
 */
export async function readForm(incoming: IncomingMessage, takesFile: boolean): Promise<Form> {
  if (!mayHaveBody(incoming)) return NOTHING;
  const { 'content-type': type = '', 'content-encoding': encoding } = incoming.headers;
  const mediaType = type === URL_ENCODED ? type : mediaTypeOf(type);
  const wrongType = FORM_TYPES.has(mediaType) ? undefined : WRONG_TYPE;
  const objection = encoding === undefined ? wrongType : (encodingObjection(incoming) ?? wrongType);
  if (objection !== undefined) {
    if (incoming.method === 'GET' || incoming.method === 'HEAD') return NOTHING;
    const isEmpty = isOfUnknownLength(incoming) && (await readBody(incoming, BODY_LIMIT_BYTES)).length === 0;
    if (isEmpty) return NOTHING;
    throw new UnsupportedBodyError(objection);
  }
  const isMultipart = mediaType === MULTIPART;
  const body = await readBody(incoming, isMultipart && takesFile ? FILE_BODY_LIMIT_BYTES : BODY_LIMIT_BYTES);
  if (body.length === 0) return NOTHING;
  if (!isMultipart) {
    if (type !== URL_ENCODED) requireUtf8(type, body);
    return { ...NOTHING, fields: readUrlEncoded(body) };
  }
  const { fields, files } = await readMultipart(body, type);
  return { fields, files: files.map(([, file]) => file) };
}

const URL_ENCODED = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
const FORM_TYPES = new Set([URL_ENCODED, MULTIPART]);
const WRONG_TYPE = `The request body must have the Content-Type ${URL_ENCODED} or ${MULTIPART}`;

const isOfUnknownLength = ({ headers }: IncomingMessage): boolean => headers['content-length'] === undefined;

/**
 * Matches a form body with non-ASCII text, percent-encoded or not. ASCII text has the same bytes in all charsets that clients
 * declare, so a form with ASCII text only is always accepted.
 */
const NOT_ASCII = /[^\t\n\r\x20-\x7e]|%[89a-f]/i;

/**
 * Checks that a form declares UTF-8 as its charset, or contains only ASCII text.
 *
 * @throws UnsupportedBodyError if the body contains non-ASCII text in a charset other than UTF-8.
 */
function requireUtf8(contentType: string, body: Buffer): void {
  const charset = foreignCharsetOf(contentType);
  if (charset === undefined || !NOT_ASCII.test(body.toString('latin1'))) return;
  throw new UnsupportedBodyError(`The request body must have the charset utf-8, not ${JSON.stringify(charset)}`);
}

/**
 * Returns the fields in the query string of a request target and in the body, with the last value of each name. If both contain
 * a name, the value in the body is used.
 */
export function withQuery(target: string, body: Fields): Fields {
  const start = target.indexOf('?');
  return start === -1 ? body : new Map([...new URLSearchParams(target.slice(start + 1)), ...body]);
}

import type { ServerResponse } from 'node:http';
import { parseAccept } from 'hono/utils/accept';
import { isLong, writeJson } from '../../../platform/json-bytes.ts';
import type { HttpOutcome } from './http-operation.ts';

/** The type of a response: the result of an operation (two media types), an event stream, or a page. */
export type ResponseForm = 'application/graphql-response+json' | 'application/json' | 'text/event-stream' | 'text/html';

/** The response forms by the media range that requests them in the Accept header. */
const FORMS: ReadonlyMap<string, ResponseForm> = new Map([
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/json', 'application/json'],
  ['text/event-stream', 'text/event-stream'],
  ['text/html', 'text/html'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
]);

/**
 * Returns the response type for the supported media range with the highest weight in an Accept header. Among equal weights, the
 * first range is used. Undefined if no range is supported. A weight of 0 rejects a range. A charset other than UTF-8 is not
 * supported, and a page is only returned for GET.
 */
export function formFor(method: string, accept: string | undefined): ResponseForm | undefined {
  for (const { type, params, q } of parseAccept(accept || '*/*')) {
    const form = FORMS.get(type.toLowerCase());
    const isUtf8 = (params['charset'] ?? 'utf-8').toLowerCase() === 'utf-8';
    if (form !== undefined && q > 0 && isUtf8 && (form !== 'text/html' || method === 'GET')) return form;
  }
  return undefined;
}

/**
 * Sends the outcome of an operation, with the media type `form`. If `form` is not application/graphql-response+json, the media
 * type is application/json.
 *
 * The Request and Response objects of the web platform are not used. For a small operation, they took three times as long as
 * all other work.
 */
export async function respond(
  response: ServerResponse,
  { result, status, legacyStatus }: HttpOutcome,
  form: ResponseForm | undefined,
): Promise<void> {
  const isLegacy = form !== 'application/graphql-response+json';
  response.statusCode = isLegacy ? legacyStatus : status;
  response.setHeader('Content-Type', `${isLegacy ? 'application/json' : form}; charset=utf-8`);
  const body = isLong(result) ? Buffer.concat((await writeJson({ ...result }, isLong)).pieces) : JSON.stringify(result);
  // Node sets Content-Length only in some responses: not for HTTP/1.0, and not if the response could have been compressed.
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

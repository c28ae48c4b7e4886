import type { ServerResponse } from 'node:http';
import { parseAccept } from 'hono/utils/accept';
import { isLong, writeJson } from '../../../platform/json-bytes.ts';
import type { HttpOutcome } from './http-operation.ts';

/** The form of a response: that of an operation over HTTP, an event stream, or a page. */
export type ResponseForm = 'application/graphql-response+json' | 'application/json' | 'text/event-stream' | 'text/html';

/** The forms by the media ranges of an Accept header. */
const FORMS: ReadonlyMap<string, ResponseForm> = new Map([
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/json', 'application/json'],
  ['text/event-stream', 'text/event-stream'],
  ['text/html', 'text/html'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
]);

/**
 * Returns the form of the media range with the highest weight in an Accept header that the service supports for the method, and
 * of the first one among equal weights; undefined if there is none. A weight of 0 rejects a range. Pages have no other method than GET, and every text is UTF-8.
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
 * Sends the outcome of an operation: as application/graphql-response+json if that is the form, otherwise as application/json.
 * It avoids the Request and Response objects of the web platform, because for a small operation these took three times as long
 * as all other work.
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
  // The length is set here, because Node sets it only in some responses. It is missing for HTTP/1.0, and if the response could
  // have been compressed.
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

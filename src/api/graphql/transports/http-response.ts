import type { ServerResponse } from 'node:http';
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
 * Returns the form of the first media range in an Accept header that the service supports for the method; undefined if there
 * is none. Weights are ignored. Pages have no other method than GET, and every text is UTF-8.
 */
export function formFor(method: string, accept: string | undefined): ResponseForm | undefined {
  for (const range of (accept || '*/*').replaceAll(/\s/g, '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';');
    const form = FORMS.get(type);
    const isUtf8 = !parameters.some((parameter) => /^charset=(?!utf-8$)/.test(parameter));
    if (form !== undefined && isUtf8 && (form !== 'text/html' || method === 'GET')) return form;
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

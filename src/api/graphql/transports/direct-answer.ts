import type { ExecutionResult, GraphQLSchema } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import { isLong, writeJson } from '../../../platform/json-bytes.ts';
import { type DocumentSources, readDocument } from '../documents/persisted-documents.ts';
import type { HttpOperation } from './http-operation.ts';

interface Parts extends DocumentSources {
  readonly schema: GraphQLSchema;
}

/**
 * Responds to an operation that was sent by POST and succeeds, without Yoga. It avoids the Request and Response objects of the
 * web platform, because for a small operation these took three times as long as all other work.
 *
 * If anything fails, from the authentication to a single field, nothing is sent. Yoga must then respond; it continues with the
 * stored outcomes of `operation`.
 *
 * @returns Whether the response was sent.
 * @see src/api/graphql/README.md#over-http
 */
export async function answerDirectly(parts: Parts, operation: HttpOperation): Promise<boolean> {
  const { request, response } = operation;
  const mediaType = request.method === 'POST' ? mediaTypeFor(request.headers.accept) : undefined;
  if (mediaType === undefined) return false;
  const result = await resultOf(parts, operation);
  if (result?.data == null || result.errors !== undefined) return false;
  response.setHeader('Content-Type', `${mediaType}; charset=utf-8`);
  const body = isLong(result) ? Buffer.concat((await writeJson({ ...result }, isLong)).pieces) : JSON.stringify(result);
  // The length is set here, because Node sets it only in some responses. It is missing for HTTP/1.0, and if the response could
  // have been compressed.
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
  return true;
}

async function resultOf(parts: Parts, operation: HttpOperation): Promise<ExecutionResult | undefined> {
  try {
    const params = await operation.params();
    if (!isWellFormed(params)) return undefined;
    const { document } = readDocument(parts, params);
    if (document === undefined) return undefined;
    const context = await operation.context(document, params);
    return await operation.result({ schema: parts.schema, document, context, params });
  } catch {
    return undefined;
  }
}

const PARAMS: ReadonlySet<string> = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions']);

function isWellFormed(params: GraphQLParams): boolean {
  return (
    isObject(params) &&
    Object.keys(params).every((name) => PARAMS.has(name)) &&
    (params.variables == null || isObject(params.variables)) &&
    (params.extensions == null || isObject(params.extensions))
  );
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const MEDIA_TYPES = ['application/graphql-response+json', 'application/json'];

/**
 * Returns the media type of the response: the first type in the Accept header that GraphQL over HTTP supports. Undefined if
 * there is none, or if the client names a charset or uses patterns.
 */
function mediaTypeFor(accept = '*/*'): string | undefined {
  if (accept === '*/*' || accept === 'application/json') return 'application/json';
  if (accept.includes('charset')) return undefined;
  const named = accept.split(',').map((form) => (form.split(';', 1)[0] as string).trim().toLowerCase());
  return named.some((form) => form.includes('*')) ? undefined : named.find((form) => MEDIA_TYPES.includes(form));
}

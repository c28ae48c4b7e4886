import type { ExecutionResult, GraphQLSchema } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { HttpOperation } from './http-operation.ts';
import { type DocumentSources, readDocument } from './persisted-documents.ts';

interface Parts extends DocumentSources {
  readonly schema: GraphQLSchema;
}

/**
 * Answers an operation that comes as JSON and in which all is well: without a request and a response in the form that
 * browsers have them, which took three times what else there is to do for a small one.
 *
 * Whatever is amiss in it, from the sign-in to a field that failed, is for Yoga to tell, which finds each step as it ended
 * here.
 *
 * @returns Whether it is answered.
 * @see src/api/graphql/README.md#over-http
 */
export async function answerDirectly(parts: Parts, operation: HttpOperation): Promise<boolean> {
  const { request, response } = operation;
  const mediaType = request.method === 'POST' ? mediaTypeFor(request.headers.accept) : undefined;
  if (mediaType === undefined) return false;
  const result = await resultOf(parts, operation);
  if (result?.data == null || result.errors !== undefined) return false;
  const text = JSON.stringify(result);
  response.setHeader('Content-Type', `${mediaType}; charset=utf-8`);
  // Node tells it by itself in some answers alone: not to HTTP/1.0, and not where the answer could have been compressed.
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
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
 * The type that a client names first, in whichever of the two it takes the answer; undefined where it names its own text
 * encoding, or types by patterns.
 */
function mediaTypeFor(accept = '*/*'): string | undefined {
  if (accept === '*/*' || accept === 'application/json') return 'application/json';
  if (accept.includes('charset')) return undefined;
  const named = accept.split(',').map((form) => (form.split(';', 1)[0] as string).trim().toLowerCase());
  return named.some((form) => form.includes('*')) ? undefined : named.find((form) => MEDIA_TYPES.includes(form));
}

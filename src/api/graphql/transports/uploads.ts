import type { IncomingMessage } from 'node:http';
import type { GraphQLParams } from 'graphql-yoga';
import { BadRequestError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { PREFLIGHT_HEADERS } from '../../cross-site.ts';
import { mediaTypeOf, readMultipart } from '../../request-body.ts';

/** The error message for a body that is neither JSON nor an upload. */
export const NEITHER_JSON_NOR_UPLOAD =
  'The body must be application/json, or multipart/form-data with a header "GraphQL-Require-Preflight: 1" or ' +
  '"Apollo-Require-Preflight: true"';

/**
 * Returns whether a request contains an operation with files, and one of `PREFLIGHT_HEADERS`. A page of another origin cannot
 * send these headers without a preflight request.
 */
export function isUpload({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    mediaTypeOf(headers['content-type'] ?? '') === 'multipart/form-data' &&
    PREFLIGHT_HEADERS.some((name) => (headers[name] ?? '') !== '')
  );
}

/**
 * Parses a multipart body that contains an operation with files. The field `operations` is the operation as JSON, with null in
 * place of each file. The field `map` contains the paths of these nulls, by name of the file's field.
 *
 * @param contentType The Content-Type header as sent, which contains the boundary.
 * @throws BadRequestError if the body does not follow the specification.
 * @see https://github.com/jaydenseric/graphql-multipart-request-spec
 */
export async function readUpload(body: Buffer, contentType: string): Promise<GraphQLParams> {
  const { fields, files } = await readMultipart(body, contentType);
  const operations = objectIn(fields, 'operations');
  const sent = new Map(files);
  for (const [name, paths] of Object.entries(objectIn(fields, 'map'))) {
    const file = sent.get(name);
    if (file === undefined) throw new BadRequestError(`"map" names the file "${name}", which was not sent`);
    for (const path of Array.isArray(paths) ? paths : [paths]) place(operations, String(path), file);
  }
  return operations;
}

function objectIn(fields: ReadonlyMap<string, string>, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(fields.get(name) ?? '', `"${name}"`);
  } catch (error) {
    throw error instanceof BadRequestError ? error : new BadRequestError(`"${name}" is not valid JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequestError(`"${name}" is not an object`);
  }
  return value as Record<string, unknown>;
}

/**
 * Replaces the null at a path in `operations` by a file.
 *
 * @throws BadRequestError if the path does not lead to null in `variables`.
 */
function place(operations: object, path: string, file: Uint8Array): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let holder: unknown = operations;
  for (const key of keys) holder = ownValue(holder, key);
  if (keys[0] !== 'variables' || ownValue(holder, last) !== null) {
    throw new BadRequestError('"map" contains a path that does not lead to null in "variables"');
  }
  Reflect.set(holder as object, last, file);
}

function ownValue(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key)
    ? Reflect.get(holder, key)
    : undefined;
}

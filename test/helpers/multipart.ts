import { randomUUID } from 'node:crypto';

/** A multipart body of form fields and files. */
export interface MultipartBody {
  readonly type: string;
  readonly content: Buffer;
}

/** Encodes fields. Strings become text fields, bytes become files. */
export function multipart(fields: Iterable<readonly [name: string, value: string | Uint8Array]>): MultipartBody {
  const boundary = randomUUID();
  const parts = [...fields].flatMap(([name, value]) => {
    const file = typeof value === 'string' ? '' : '; filename="a file"\r\nContent-Type: application/octet-stream';
    return [`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`, value, '\r\n'];
  });
  const content = Buffer.concat([...parts, `--${boundary}--\r\n`].map((part) => Buffer.from(part as string)));
  return { type: `multipart/form-data; boundary=${boundary}`, content };
}

/** Returns whether the value contains bytes, at any depth. */
export function holdsFile(value: unknown): boolean {
  if (value instanceof Uint8Array) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsFile);
}

/** Encodes a GraphQL operation with bytes in its variables, by the GraphQL multipart request specification. */
export function multipartOperation(operation: { readonly query: string; readonly variables: unknown }): MultipartBody {
  const files: [path: string, file: Uint8Array][] = [];
  const withNulls = (value: unknown, path: string): unknown => {
    if (value instanceof Uint8Array) {
      files.push([path, value]);
      return null;
    }
    if (Array.isArray(value)) return value.map((inner, i) => withNulls(inner, `${path}.${i}`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withNulls(inner, `${path}.${key}`)]));
  };
  const variables = withNulls(operation.variables, 'variables');
  const map = Object.fromEntries(files.map(([path], i) => [i, [path]]));
  return multipart([
    ['operations', JSON.stringify({ ...operation, variables })],
    ['map', JSON.stringify(map)],
    ...files.map(([, file], i) => [String(i), file] as const),
  ]);
}

/** Additional header that the service requires for multipart operations. */
export const PREFLIGHT = { 'graphql-require-preflight': '1' } as const;

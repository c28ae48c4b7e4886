import { randomUUID } from 'node:crypto';

/** A body of form fields and files. */
export interface MultipartBody {
  readonly type: string;
  readonly content: Buffer;
}

/** Texts go as they are, bytes as files. */
export function multipart(fields: Iterable<readonly [name: string, value: string | Uint8Array]>): MultipartBody {
  const boundary = randomUUID();
  const parts = [...fields].flatMap(([name, value]) => {
    const file = typeof value === 'string' ? '' : '; filename="a file"\r\nContent-Type: application/octet-stream';
    return [`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`, value, '\r\n'];
  });
  const content = Buffer.concat([...parts, `--${boundary}--\r\n`].map((part) => Buffer.from(part as string)));
  return { type: `multipart/form-data; boundary=${boundary}`, content };
}

/** Whether there are bytes anywhere in it. */
export function holdsFile(value: unknown): boolean {
  if (value instanceof Uint8Array) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsFile);
}

/** A GraphQL operation with bytes in its variables, as the multipart request specification has it. */
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

/** What such a request needs besides. */
export const PREFLIGHT = { 'graphql-require-preflight': '1' } as const;

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { COMPRESSIBLE, type Coding, codingOf, compress, type Effort } from './compression.ts';

/** A file that does not depend on the client, ready to be sent. */
export interface SharedFile {
  /**
   * Content of the file, shared by all responses. It is not a string, because a string would be encoded again for each
   * response.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The strong entity tag (ETag) of the content. */
  readonly tag: string;
  /** The effort with which the content is compressed. */
  readonly effort: Effort;
}

/**
 * Prepares a file that does not depend on the client, and computes its entity tag.
 *
 * @param compressedBefore Compressed versions of the content that were made before the service started, such as by a build. For
 *   any other coding, the content is compressed when a client first requests this coding.
 * @param effort Effort of the compressions on request. Default: `once`, for content that many responses share.
 */
export function sharedFile(
  content: string | Uint8Array<ArrayBuffer>,
  compressedBefore: readonly (readonly [Coding, Uint8Array<ArrayBuffer>])[] = [],
  effort: Effort = 'once',
): SharedFile {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  const file = { bytes, tag, effort };
  compressed.set(file, new Map(compressedBefore.map(([coding, made]) => [coding, Promise.resolve(made)])));
  return file;
}

const compressed = new WeakMap<SharedFile, Map<Coding, Promise<Uint8Array<ArrayBuffer>>>>();

/** Returns the content of a file in a coding. The content is compressed at the first call for this coding. */
function compressedOf(file: SharedFile, coding: Coding): Promise<Uint8Array<ArrayBuffer>> {
  const known = compressed.get(file) ?? new Map();
  compressed.set(file, known);
  const made = known.get(coding) ?? compress(file.bytes, coding, file.effort);
  known.set(coding, made);
  return made;
}

/**
 * Returns a response with a file in the best coding that the client accepts. The status is 304 if the client already has this
 * version. Hono's own middleware is not used, because it copies the body for each response.
 *
 * @param headers Headers of the response, which must include `Content-Type`.
 */
export async function fileAnswer(
  file: SharedFile,
  { 'if-none-match': known, 'accept-encoding': accepted }: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Promise<Response> {
  const coding = COMPRESSIBLE.test(headers['Content-Type'] ?? '') ? codingOf(accepted) : undefined;
  const tag = coding === undefined ? file.tag : file.tag.replace(/"$/, `-${coding}"`);
  const all = { ...headers, ETag: tag, Vary: 'Accept-Encoding, Origin', 'X-Content-Type-Options': 'nosniff' };
  if (status === 200 && hasTag(known, tag)) return new Response(null, { status: 304, headers: all });
  const bytes = coding === undefined ? file.bytes : await compressedOf(file, coding);
  // After HEAD, clients keep a connection open only if the response has a length.
  const sized = { ...all, 'Content-Length': String(bytes.length) };
  return new Response(bytes, {
    status,
    headers: coding === undefined ? sized : { ...sized, 'Content-Encoding': coding },
  });
}

/** Maximum number of pages that `sharedFiles` caches. Beyond it, the page used least recently is dropped. */
const MAX_VARIANTS = 4;

/**
 * Returns a function that returns the page for a key, such as an origin. Pages are created by `make`, and the pages of the most
 * recently used keys are cached. Once the cache is full, new pages are compressed with less effort. If clients request
 * many keys in turn, each request creates a new page.
 */
export function sharedFiles(make: (key: string) => string | Uint8Array<ArrayBuffer>): (key: string) => SharedFile {
  const kept = new LRUCache<string, SharedFile>({ max: MAX_VARIANTS });
  return (key) => {
    const file = kept.get(key) ?? sharedFile(make(key), [], kept.size < MAX_VARIANTS ? 'once' : 'each');
    kept.set(key, file);
    return file;
  };
}

/** Returns whether an If-None-Match header contains the entity tag, compared weakly. */
export function hasTag(known = '', tag: string): boolean {
  return known.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { COMPRESSIBLE, type Coding, codingOf, compress } from './compression.ts';

/** A file that is the same for everybody, as it is sent. */
export interface SharedFile {
  /** Shared by all answers: text would be copied for each, which may be many that nobody reads. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A strong entity tag. */
  readonly tag: string;
}

/**
 * @param compressedBefore The same, where it was compressed before the service started; the rest is when it is first asked for.
 */
export function sharedFile(
  content: string | Uint8Array<ArrayBuffer>,
  compressedBefore: readonly (readonly [Coding, Uint8Array<ArrayBuffer>])[] = [],
): SharedFile {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const file = { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
  compressed.set(file, new Map(compressedBefore.map(([coding, made]) => [coding, Promise.resolve(made)])));
  return file;
}

const compressed = new WeakMap<SharedFile, Map<Coding, Promise<Uint8Array<ArrayBuffer>>>>();

/** The file compressed, which is done once. */
function compressedOf(file: SharedFile, coding: Coding): Promise<Uint8Array<ArrayBuffer>> {
  const known = compressed.get(file) ?? new Map();
  compressed.set(file, known);
  const made = known.get(coding) ?? compress(file.bytes, coding, 'once');
  known.set(coding, made);
  return made;
}

/**
 * Serves a file, of the `Content-Type` among `headers`, as the client takes it best, or 304 to whoever has it. Hono's own middleware would look into the answer,
 * which copies it for each.
 */
export async function fileAnswer(
  file: SharedFile,
  { 'if-none-match': known, 'accept-encoding': accepted }: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const coding = COMPRESSIBLE.test(headers['Content-Type'] ?? '') ? codingOf(accepted) : undefined;
  const tag = coding === undefined ? file.tag : file.tag.replace(/"$/, `-${coding}"`);
  const all = { ...headers, ETag: tag, Vary: 'Accept-Encoding, Origin', 'X-Content-Type-Options': 'nosniff' };
  if (hasTag(known, tag)) return new Response(null, { status: 304, headers: all });
  if (coding === undefined) return new Response(file.bytes, { headers: all });
  return new Response(await compressedOf(file, coding), { headers: { ...all, 'Content-Encoding': coding } });
}

/** Whether the client has this version, or one it takes for the same. */
function hasTag(known = '', tag: string): boolean {
  return known.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

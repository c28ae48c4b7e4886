import { createHash } from 'node:crypto';

/** A text that is the same for everybody, as it is sent. */
export interface SharedFile {
  /** Shared by all answers: text would be copied for each, which may be many that nobody reads. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A strong entity tag. */
  readonly tag: string;
}

export function sharedFile(text: string): SharedFile {
  const bytes = Buffer.from(text);
  return { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/**
 * Serves a file, or 304 to whoever has it. Hono's own middleware would look into the answer, which copies it for each.
 *
 * @param known What the client has, in the words of If-None-Match.
 */
export function fileAnswer(
  { bytes, tag }: SharedFile,
  known: string | undefined,
  headers: Readonly<Record<string, string>>,
): Response {
  const all = { ...headers, ETag: tag, 'X-Content-Type-Options': 'nosniff' };
  return hasTag(known, tag) ? new Response(null, { status: 304, headers: all }) : new Response(bytes, { headers: all });
}

/** Whether the client has this version, or one it takes for the same. */
function hasTag(known = '', tag: string): boolean {
  return known.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

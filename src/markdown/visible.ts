import { withoutEntities } from './entities.ts';

/** Matches text that has only invisible characters, or characters without ink such as the note head U+1D159. */
const INVISIBLE =
  /^[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800\u{1D159}\u{13441}\u{13442}\u{16FE4}\uFFFC]*$/u;

/** Matches the start tag of an element that is visible without any text. */
const VISIBLE_TAG = /^<(?:img|video|audio|hr)\b/;

const TAG_OR_TEXT = /<[^>]*>|[^<]+/g;

/** Matches most HTML that has something visible. */
const BEGINS_VISIBLE = /^(?:<p>)?[A-Za-z0-9]/;

/** Returns whether rendered HTML has nothing visible: no image, video, audio or horizontal rule, and no visible character. */
export function showsNothing(html: string): boolean {
  if (BEGINS_VISIBLE.test(html)) return false;
  for (const [piece] of html.matchAll(TAG_OR_TEXT)) {
    if (piece.startsWith('<') ? VISIBLE_TAG.test(piece) : !INVISIBLE.test(withoutEntities(piece))) return false;
  }
  return true;
}

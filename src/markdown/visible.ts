import { withoutEntities } from './entities.ts';

/** Matches text that has only invisible characters. U+1D159 is a note head without ink. */
const INVISIBLE = /^[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800\u{1D159}]*$/u;

/** Matches elements that are visible without any text. */
const VISIBLE_TAG = /^<(?:img|video|audio|hr)\b/;

const TAG_OR_TEXT = /<[^>]*>|[^<]+/g;

/** Returns whether rendered HTML has nothing visible: no image, video, audio or horizontal rule, and no visible character. */
export function showsNothing(html: string): boolean {
  for (const [piece] of html.matchAll(TAG_OR_TEXT)) {
    if (piece.startsWith('<') ? VISIBLE_TAG.test(piece) : !INVISIBLE.test(withoutEntities(piece))) return false;
  }
  return true;
}

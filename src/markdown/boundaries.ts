/**
 * Characters of scripts without spaces between words, and their punctuation. For a character class of a regular expression
 * with the flag `u`: a link or a mention next to them needs no space.
 */
export const UNSPACED =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}' +
  '\\p{scx=Khmer}\\p{scx=Myanmar}\\u3000-\\u303F\\uFF01-\\uFF0F\\uFF1A-\\uFF20\\uFF3B-\\uFF40\\uFF5B-\\uFF65';

/** Last characters of emoji, for a character class: a link or a mention after them needs no space. */
export const EMOJI_END = '\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{Regional_Indicator}\\uFE0F\\u20E3';

/** Marks of emphasis and strikethrough, for a character class: they can enclose a link or a mention. */
export const EMPHASIS = '*~';

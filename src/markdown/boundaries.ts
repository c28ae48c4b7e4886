/**
 * Characters of scripts that are written without spaces between words, and their punctuation. A link or a mention next to such
 * a character needs no space. The text is for a character class of a regular expression with the flag `u`.
 */
export const UNSPACED =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}' +
  '\\p{scx=Khmer}\\p{scx=Myanmar}\\p{scx=Tibetan}\\u3000-\\u303F\\uFF01-\\uFF0F\\uFF1A-\\uFF20\\uFF3B-\\uFF40\\uFF5B-\\uFF65';

/**
 * Characters with which an emoji can end, for a character class of a regular expression. A link or a mention after an emoji
 * needs no space.
 */
export const EMOJI_END = '\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{Regional_Indicator}\\uFE0F\\u20E3\\u{E007F}';

/**
 * Characters that mark emphasis and strikethrough, for a character class of a regular expression. They can enclose a link or a
 * mention.
 */
export const EMPHASIS = '*~';

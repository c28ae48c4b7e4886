/**
 * Topic identity. Two names are the same topic if their keys are equal.
 *
 * The key is the name in normalization form C (NFC) with the simple case folding of Unicode. The SQL function `topic_key`
 * returns the same key in every locale. Names are stored and shown as they were written.
 *
 * @see prisma/migrations/20261127180000_topic_identity
 */

/**
 * Characters that are not folded, although `toUpperCase` converts them to other letters. The dotless i (ı) must stay different
 * from i. The iota below a letter (U+0345) must stay a combining mark, because the letter iota (ι) does not compose with the
 * letter before it.
 */
const KEPT = new Set(['ı', '\u0345']);
/**
 * A letter that the simple case folding of Unicode leaves unchanged, because its folding depends on the language. This module
 * folds it to i, like the simple lower-case mapping of Unicode.
 */
const DOTTED_I = 'İ';

/**
 * Returns `text` if it is one code point, otherwise `letter`: a simple case mapping converts one code point to one code point.
 */
const single = (text: string, letter: string): string => ([...text].length === 1 ? text : letter);

function fold(letter: string): string {
  if (letter === DOTTED_I) return 'i';
  if (KEPT.has(letter)) return letter;
  // Letters with the same upper case are equal: σ and ς, s and ſ, μ and µ.
  const upper = single(letter.toUpperCase(), letter);
  return single(upper.toLowerCase(), upper);
}

const ASCII = /^\p{ASCII}*$/u;

/** Returns the key by which a topic is compared with other topics of its channel. Idempotent. */
export function topicKey(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  return Array.from(name.normalize('NFC'), fold).join('').normalize('NFC');
}

/** Returns whether two names are the same topic. */
export const isSameTopic = (one: string, other: string): boolean => one === other || topicKey(one) === topicKey(other);

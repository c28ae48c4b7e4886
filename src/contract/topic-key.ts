/**
 * Topic identity. Two names are the same topic if their keys are equal.
 *
 * The key is the name in normalization form C (NFC) with the simple case folding of Unicode. The SQL function `topic_key`
 * returns the same key in every locale. Names are stored and shown as they were written.
 *
 * @see prisma/migrations/20261127180000_topic_identity
 */

/**
 * Letters that `toUpperCase` and `toLowerCase` would fold, but that stay as they are. The dotless i is not an i. The iota below a
 * letter is a combining mark. As a separate letter it would not compose with the letter.
 */
const KEPT = new Set(['ı', '\u0345']);
/**
 * A letter that the simple folding of Unicode excludes, because it depends on the language. All lower-case mappings
 * include it.
 */
const DOTTED_I = 'İ';

/** Returns `text` if it is one code point, as simple mappings are; otherwise `letter`. */
const single = (text: string, letter: string): string => ([...text].length === 1 ? text : letter);

function fold(letter: string): string {
  if (letter === DOTTED_I) return 'i';
  if (KEPT.has(letter)) return letter;
  // Letters with the same upper case are equal: σ and ς, s and ſ, μ and µ.
  const upper = single(letter.toUpperCase(), letter);
  return single(upper.toLowerCase(), upper);
}

const ASCII = /^\p{ASCII}*$/u;

/** Returns the key by which a topic is compared with others of its channel. Idempotent. */
export function topicKey(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  return Array.from(name.normalize('NFC'), fold).join('').normalize('NFC');
}

/** Returns whether two names are the same topic. */
export const isSameTopic = (one: string, other: string): boolean => one === other || topicKey(one) === topicKey(other);

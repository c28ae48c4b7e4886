/**
 * Where letters with case are: the planes above have ideographs, tags and private use. Looked through once, in some
 * milliseconds.
 */
const CASED_BELOW = 0x2_00_00;
/** Two letters, and one at the end of a word: which of them `toLowerCase` makes depends on what is around. */
const [SIGMA, FINAL_SIGMA] = ['σ', 'ς'];
/** The one letter that becomes two characters. */
const [DOTTED_I, DOT] = ['İ', '\u0307'];

let uppers: ReadonlyMap<string, string> | undefined;

/** By a letter in lower case: all that `toLowerCase` makes it of. */
function findUppers(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let code = 0; code < CASED_BELOW; code++) {
    const character = String.fromCodePoint(code);
    const lower = character.toLowerCase();
    if (lower !== character) found.set(lower, (found.get(lower) ?? '') + character);
  }
  found.set(FINAL_SIGMA, (found.get(FINAL_SIGMA) ?? '') + SIGMA + found.get(SIGMA));
  found.set(SIGMA, found.get(SIGMA) + FINAL_SIGMA);
  return found;
}

/**
 * A regular expression of PostgreSQL, without anchors, for texts that are the same as `text` once both went through
 * `toLowerCase`. The database's own `lower` goes by its locale, and knows other letters. It matches all of these texts, and
 * next to nothing else: a sigma that stands in the wrong place.
 */
export function sameInLowerCase(text: string): string {
  uppers ??= findUppers();
  const letters = [...text.toLowerCase()];
  let pattern = '';
  for (const [i, letter] of letters.entries()) {
    const upper = uppers.get(letter) ?? '';
    if (letter === 'i' && letters[i + 1] === DOT) pattern += `(${DOTTED_I}|[i${upper}]${DOT})`;
    else if (letter === DOT && letters[i - 1] === 'i') continue;
    else if (upper !== '') pattern += `[${letter}${upper}]`;
    else pattern += /[!-/:-@[-`{-~]/.test(letter) ? `\\${letter}` : letter;
  }
  return pattern;
}

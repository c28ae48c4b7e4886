/**
 * Exclusive upper bound of the code points that have an upper and a lower case. Higher planes contain ideographs, tags and
 * private use. All code points below are scanned once, in a few milliseconds.
 */
const CASED_BELOW = 0x2_00_00;
/** The two lower-case forms of sigma. `toLowerCase` selects one by the surrounding letters. */
const [SIGMA, FINAL_SIGMA] = ['σ', 'ς'];
/** The only letter whose lower case is two characters, and the second of these characters. */
const [DOTTED_I, DOT] = ['İ', '\u0307'];

let uppers: ReadonlyMap<string, string> | undefined;

/** Returns a map from each lower-case letter to all letters that `toLowerCase` converts to it. */
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
 * Returns a PostgreSQL regular expression, without anchors, that matches all texts whose `toLowerCase` equals that of `text`.
 * The expression also matches texts with the wrong form of a sigma (σ, ς), but no other texts. SQL's `lower` cannot be used
 * instead: it depends on the locale of the database and maps other letters than `toLowerCase`.
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

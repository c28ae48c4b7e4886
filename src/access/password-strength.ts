import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { folded } from '../platform/folding.ts';
import { MIN_PASSWORD_GUESSES } from '../platform/limits.ts';

/** Data of the account that a password belongs to. Attackers try the email address, the name and the organization first. */
export interface PasswordOwner {
  readonly email: string;
  readonly fullName: string;
  readonly organization: { readonly name: string; readonly subdomain: string };
}

/** Maximum number of words of one text that are combined into pairs. Each pair is a guess. Further words are not paired. */
const MAX_WORDS = 4;
/**
 * Maximum number of guesses that `firstGuesses` returns. Further guesses are omitted. A password at position n of the returned
 * list counts as guessed after n guesses.
 */
const MAX_GUESSES = 400;
/** Separators that people put between two words of a password. The empty separator joins the words directly. */
const JOINTS = ['', '.', '_', '-', ' '];
const SHORTEST_GUESS = 3;

const wordsOf = (text: string): string[] => text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '');

/** Returns the words of a text joined: all in order, all in reverse, and each pair of the first `MAX_WORDS` words. */
function joined(words: readonly string[]): string[] {
  const few = words.slice(0, MAX_WORDS);
  const pairs = few.flatMap((word) => few.map((other) => [word, other]));
  return [words, words.toReversed(), ...pairs].flatMap((chosen) => JOINTS.map((joint) => chosen.join(joint)));
}

/**
 * Returns the first guesses of an attacker who has the account's data: likeliest first, in lower case, with accents and
 * without.
 */
export function firstGuesses({ email, fullName, organization }: PasswordOwner): string[] {
  const [local = '', domain = ''] = email.split(/@(?=[^@]*$)/);
  const texts = [fullName, local, domain, organization.name, organization.subdomain];
  // Domains are known by their labels: "example.com" is called "example".
  const labels = domain.split('.');
  const guesses = [
    email,
    ...texts,
    ...labels,
    ...texts.flatMap(wordsOf),
    ...texts.flatMap((text) => joined(wordsOf(text))),
  ];
  const forms = guesses.flatMap((guess) => [guess.normalize('NFC').toLowerCase(), folded(guess)]);
  return [...new Set(forms)].filter((guess) => guess.length >= SHORTEST_GUESS).slice(0, MAX_GUESSES);
}

/**
 * Maximum number of characters whose strength is estimated in one call. Of a longer password, only this many characters at the
 * beginning and at the end are estimated. The time grows with the square of the length, and is 20 ms for this length.
 */
const ESTIMATED = 40;

let estimator: Promise<ZxcvbnFactory> | undefined;

/** Loads the dictionaries of the estimator, which take 30 MB and half a second. Called only when the first password is set. */
async function load(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}

/**
 * Returns whether an attacker needs fewer than 10,000 guesses for a password. Of a long password, the beginning and the end
 * are estimated, and one strong part is enough.
 *
 * @param password At most 100 characters.
 */
export async function isWeak(password: string, owner: PasswordOwner): Promise<boolean> {
  estimator ??= load();
  const loaded = await estimator;
  const known = firstGuesses(owner);
  const given = password.normalize('NFC');
  const estimated = new Set([given.slice(0, ESTIMATED), given.slice(-ESTIMATED)]);
  return [...estimated].every((part) => loaded.check(part, known).guesses < MIN_PASSWORD_GUESSES);
}

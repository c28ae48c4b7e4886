import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Name and code of a Unicode emoji. */
export interface UnicodeEmoji {
  /** Canonical name. The service writes this name, but also accepts other names. */
  readonly name: string;
  /** Code points in lower-case hexadecimal, joined by "-", without U+FE0F: "1f44d", "1f3f3-200d-1f308". */
  readonly code: string;
}

/** Name of the only emoji that is neither a Unicode emoji nor a custom emoji of an organization. */
export const EXTRA_EMOJI = 'team_chat';

export const EXTRA_EMOJI_URL = `/static/generated/emoji/images/emoji/unicode/${EXTRA_EMOJI}.png`;

/** Matches valid names of an organization's custom emoji. */
export const CUSTOM_EMOJI_NAME: RegExp = /^[0-9a-z_-]*[0-9a-z]$/;

/**
 * Names of all Unicode emoji by code, in the form that clients read from `server_emoji_data_url`. The first name is canonical.
 */
export interface EmojiTable {
  readonly code_to_names: { readonly [code: string]: readonly string[] };
}

interface Tables {
  readonly emojis: ReadonlyMap<string, UnicodeEmoji>;
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** Codes of characters that are shown as text unless U+FE0F follows: arrows, digits, (c). */
  readonly textByDefault: ReadonlySet<string>;
}

/**
 * Names of emoji that take precedence over names in the data sets, canonical name first. The list contains the emoji that
 * emoticons stand for, and the names that users type most often for the most frequent emoji.
 */
const CURATED: readonly (readonly [code: string, ...names: string[]])[] = [
  ['1f642', 'slight_smile'],
  ['1f641', 'frown', 'slight_frown'],
  ['2764', 'heart'],
  ['1f610', 'neutral', 'neutral_face'],
  ['1f615', 'confused'],
  ['1f609', 'wink'],
  ['1f604', 'big_smile'],
  ['1f62e', 'open_mouth'],
  ['1f61b', 'stuck_out_tongue'],
  ['1f44d', 'thumbs_up', '+1', 'like'],
  ['1f44e', 'thumbs_down', '-1', 'dislike'],
  ['1f44b', 'wave', 'hello'],
  ['1f389', 'tada', 'party_popper'],
  ['1f6e0', 'tools', 'hammer_and_wrench', 'working_on_it', 'working'],
  ['2705', 'check', 'white_check_mark', 'done'],
  // In the data sets, the following emoji have only names that also belong to earlier emoji.
  ['1fab2', 'beetle_insect'],
  ['1f997', 'cricket_insect'],
  ['1f9fe', 'invoice'],
];

/**
 * Data sets with further names of emoji, best first. If two emoji have the same name, the emoji that has it in the better set
 * gets the name. Within one set, the earlier emoji gets it. The first three sets provide canonical names, with the CLDR short
 * names as the last resort. The other sets only add names.
 */
const NAME_SETS = ['joypixels', 'github', 'cldr', 'iamcal', 'emojibase', 'emojibase-legacy'] as const;

/**
 * File with further names of emoji, by emoji code. Clients use these names, but the data sets lack them or give them to another
 * emoji. If a data set gives a name to another emoji, this file takes precedence. Otherwise a client could not name an emoji
 * that the client shows.
 */
const ALIASES = 'emoji-aliases.json';

/** Value of the field `group`, in the emoji data, for emoji that only modify other emoji: skin tones and hair. */
const COMPONENTS = 2;

/** Value of the field `type`, in the emoji data, for emoji that are shown as text unless U+FE0F follows. */
const TEXT = 0;

const KEYCAP = '[0-9#*]\\uFE0F?\\u20E3';
const FLAG = '\\p{RI}\\p{RI}';
const ELEMENT = '\\p{Extended_Pictographic}(?:\\p{EMod}|[\\uFE0E\\uFE0F]|[\\u{E0020}-\\u{E007E}]+\\u{E007F})?';
const SEQUENCE = `${KEYCAP}|${FLAG}|${ELEMENT}(?:\\u200D${ELEMENT})*`;
const WHOLE = new RegExp(`^(?:${SEQUENCE})$`, 'u');

/**
 * Matches every candidate for an emoji in a text. `emojiOf` decides whether a candidate is an emoji. A candidate includes its
 * skin tone, its variation selector and all joined characters, so no part of an unknown sequence counts as an emoji.
 *
 * The work is linear in the text. The pattern is global: use it only with `matchAll`, `replace` or `split`, which do not depend
 * on `lastIndex`.
 */
export const emojiPattern: RegExp = new RegExp(SEQUENCE, 'gu');

/** Returns the emoji that has a name, canonical or not. The name must be in lower case. Undefined if there is no such emoji. */
export function emojiNamed(name: string): UnicodeEmoji | undefined {
  return tables().emojis.get(name);
}

/** Returns an emoji code without U+FE0F, the form of the codes in the emoji table. Clients may send "2764-fe0f". */
export const normalEmojiCode = (code: string): string => code.replaceAll(/-fe0f(?=-|$)/g, '');

/** Returns all names of the emoji with this code, canonical name first. Undefined if there is no such emoji. */
export function emojiWithCode(code: string): { readonly names: readonly string[] } | undefined {
  const names = tables().names.get(code);
  return names && { names };
}

/**
 * Returns the emoji that consists of exactly these characters.
 *
 * @returns Undefined for emoji without a name in the emoji table, such as emoji with a skin tone. Also undefined for a
 *   character that is shown as text by default, if U+FE0F is missing.
 */
export function emojiOf(characters: string): UnicodeEmoji | undefined {
  if (!WHOLE.test(characters)) return undefined;
  const code = codeOf(characters);
  const name = tables().names.get(code)?.[0];
  if (name === undefined) return undefined;
  if (tables().textByDefault.has(code) && !characters.includes('\uFE0F')) return undefined;
  return { name, code };
}

/** Returns the names of all Unicode emoji, in the form that clients read from `server_emoji_data_url`. */
export function emojiTable(): EmojiTable {
  return { code_to_names: Object.fromEntries(tables().names) };
}

function codeOf(characters: string): string {
  return [...characters]
    .filter((character) => character !== '\uFE0F')
    .map((character) => (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0'))
    .join('-');
}

let made: Tables | undefined;

/** Returns the tables of emoji. Loads them on the first call only, because this takes about 20 ms. */
function tables(): Tables {
  made ??= makeTables();
  return made;
}

interface DataEmoji {
  readonly hexcode: string;
  readonly emoji: string;
  readonly type: number;
  /** Group of the emoji. Absent for the regional letters that form flags. */
  readonly group?: number;
}

function makeTables(): Tables {
  const all = readData('data') as readonly DataEmoji[];
  const listed = all.filter(({ group }) => group !== undefined && group !== COMPONENTS);
  const codes = listed.map(({ emoji }) => codeOf(emoji));
  const names = new Map<string, string[]>(codes.map((code) => [code, []]));
  const emojis = new Map<string, UnicodeEmoji>();
  const claim = (code: string, name: string) => {
    const known = names.get(code);
    if (known === undefined || emojis.has(name)) return;
    known.push(name);
    emojis.set(name, { name: known[0] ?? name, code });
  };
  for (const [code, ...own] of CURATED) for (const name of own) claim(code, name);
  const aliases = readAliases();
  const kept = new Map(aliases.map(({ name, code }) => [name, code]));
  for (const set of NAME_SETS) {
    const given = readData(`shortcodes/${set}`) as Readonly<Record<string, string | readonly string[]>>;
    listed.forEach(({ hexcode }, i) => {
      const code = codes[i] ?? '';
      for (const name of [given[hexcode] ?? []].flat()) if ((kept.get(name) ?? code) === code) claim(code, name);
    });
  }
  // Names from `ALIASES` are added last. Such a name is canonical only if the data sets have no name for the emoji.
  for (const { name, code } of aliases) claim(code, name);
  const textByDefault = new Set(
    listed.flatMap(({ type, hexcode }, i) => (type === TEXT || hexcode.endsWith('-20E3') ? [codes[i] ?? ''] : [])),
  );
  return { emojis, names, textByDefault };
}

function readAliases(): { readonly name: string; readonly code: string }[] {
  const text = readFileSync(new URL(ALIASES, import.meta.url), 'utf8');
  const byCode = JSON.parse(text) as Readonly<Record<string, readonly string[]>>;
  return Object.entries(byCode).flatMap(([code, names]) => names.map((name) => ({ name, code })));
}

function readData(name: string): unknown {
  const path = createRequire(import.meta.url).resolve(`emojibase-data/en/${name}.json`);
  return JSON.parse(readFileSync(path, 'utf8'));
}

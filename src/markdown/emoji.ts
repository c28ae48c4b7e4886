import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A Unicode emoji under its canonical name. */
export interface UnicodeEmoji {
  /** The canonical name: the one the service writes when it names the emoji itself. */
  readonly name: string;
  /** The code points in lower-case hex, joined by "-", without U+FE0F: "1f44d", "1f3f3-200d-1f308". */
  readonly code: string;
}

/** The one emoji of the service's own. Our choice of name: the document's is a brand. */
export const EXTRA_EMOJI = 'team_chat';

export const EXTRA_EMOJI_URL = `/static/generated/emoji/images/emoji/unicode/${EXTRA_EMOJI}.png`;

/** What the names of an organisation's own emoji look like. */
export const CUSTOM_EMOJI_NAME: RegExp = /^[0-9a-z_-]*[0-9a-z]$/;

/** Every Unicode emoji by its code, as clients read it from `server_emoji_data_url`; the first name is canonical. */
export interface EmojiTable {
  readonly code_to_names: { readonly [code: string]: readonly string[] };
}

interface Tables {
  readonly emojis: ReadonlyMap<string, UnicodeEmoji>;
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** Codes that are characters of a text unless U+FE0F follows: arrows, digits, (c). */
  readonly textByDefault: ReadonlySet<string>;
}

/**
 * Names that go before those of the data sets, canonical first: the targets of the emoticons, and the names people
 * type first for what is sent most (our choice).
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
  // Their only names are those of others, which came first.
  ['1fab2', 'beetle_insect'],
  ['1f997', 'cricket_insect'],
  ['1f9fe', 'invoice'],
];

/**
 * The data sets that name the rest, best first; where two emoji claim a name, the better set wins, then the earlier
 * emoji. The first three give canonical names, the CLDR short names being the last resort; the others only know more.
 */
const NAME_SETS = ['joypixels', 'github', 'cldr', 'iamcal', 'emojibase', 'emojibase-legacy'] as const;

/**
 * By code, what clients of this interface call emoji and the data sets do not, or call another emoji: such a name is
 * theirs, or a client could not say what it shows.
 */
const ALIASES = 'emoji-aliases.json';

/** In the data, the group of what only changes other emoji: skin tones and hair. */
const COMPONENTS = 2;

/** In the data, the type of an emoji that is text unless U+FE0F follows it. */
const TEXT = 0;

const KEYCAP = '[0-9#*]\\uFE0F?\\u20E3';
const FLAG = '\\p{RI}\\p{RI}';
const ELEMENT = '\\p{Extended_Pictographic}(?:\\p{EMod}|[\\uFE0E\\uFE0F]|[\\u{E0020}-\\u{E007E}]+\\u{E007F})?';
const SEQUENCE = `${KEYCAP}|${FLAG}|${ELEMENT}(?:\\u200D${ELEMENT})*`;
const WHOLE = new RegExp(`^(?:${SEQUENCE})$`, 'u');

/**
 * Finds in a text whatever may be one emoji; `emojiOf` says whether it is. A candidate takes in its skin tone, its
 * variation selector and everything joined to it, so that no part of an unknown sequence passes for an emoji.
 *
 * The work is linear in the text. Global: use it with `matchAll`, `replace` or `split`, which leave `lastIndex` alone.
 */
export const emojiPattern: RegExp = new RegExp(SEQUENCE, 'gu');

/** The emoji called `name`, by its canonical name or any other; names are lower-case. */
export function emojiNamed(name: string): UnicodeEmoji | undefined {
  return tables().emojis.get(name);
}

/** The code as the table has it, for one a client may have written with U+FE0F in it: "2764-fe0f". */
export const normalEmojiCode = (code: string): string => code.replaceAll(/-fe0f(?=-|$)/g, '');

/** All names of the emoji with `code`, canonical first. */
export function emojiWithCode(code: string): { readonly names: readonly string[] } | undefined {
  const names = tables().names.get(code);
  return names && { names };
}

/**
 * The emoji that `characters`, from the first to the last, are.
 *
 * @returns undefined for what the table does not have, such as skin tones, and for a character whose default
 *   presentation is text and which U+FE0F does not follow.
 */
export function emojiOf(characters: string): UnicodeEmoji | undefined {
  if (!WHOLE.test(characters)) return undefined;
  const code = codeOf(characters);
  const name = tables().names.get(code)?.[0];
  if (name === undefined) return undefined;
  if (tables().textByDefault.has(code) && !characters.includes('\uFE0F')) return undefined;
  return { name, code };
}

/** The whole table, for clients. */
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

/** Reading the data takes some 20 ms, which a process that renders nothing need not spend. */
function tables(): Tables {
  made ??= makeTables();
  return made;
}

interface DataEmoji {
  readonly hexcode: string;
  readonly emoji: string;
  readonly type: number;
  /** Absent for the letters that flags are made of. */
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
  // Last, so that one of them is canonical only where the data sets have no other name.
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

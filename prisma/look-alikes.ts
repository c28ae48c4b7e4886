/**
 * Prints the two tables of the migration `name_look_alikes`, from a file of Unicode Technical Standard 39:
 *
 *     curl -O https://www.unicode.org/Public/security/15.0.0/confusables.txt
 *     node prisma/look-alikes.ts confusables.txt
 *
 * Characters that look alike form a class. The tables contain the classes with characters of at least two scripts. They contain
 * letters and digits that do not decompose (NFKD), and the symbols that look like a Latin, Greek or Cyrillic letter.
 */
import { readFileSync } from 'node:fs';

/** Characters that look like the second text although the file does not contain them, or says otherwise. */
const ADDED: readonly (readonly [alike: string, character: string])[] = [
  ['кκ', 'k'],
  ['ь', 'b'],
  ['л', 'λ'],
  ['Ԛ', 'Q'],
  ['τ', 't'],
  ['η', 'n'],
  ['χ', 'x'],
  ['ε', 'e'],
  ['յ', 'j'],
  ['Լ', 'L'],
  ['ო', 'o'],
  ['𐌌', 'M'],
];
/** Characters of one script whose classes are joined, because a character of another script can look like both. */
const JOINED = ['lI1iі', 'oO0'];

/** Names of scripts, in the order of preference for the representative of a class. */
const SCRIPTS = (
  'Latin Greek Cyrillic Han Katakana Hiragana Hangul Bopomofo Yi Arabic Hebrew Syriac Armenian Georgian Coptic ' +
  'Gothic Cherokee Lisu Miao Canadian_Aboriginal Deseret Osage Osmanya Elbasan Caucasian_Albanian Old_Italic ' +
  'Old_Permic Old_Hungarian Lycian Lydian Carian Runic Ogham Tifinagh Nko Vai Bamum Adlam Ethiopic Mende_Kikakui ' +
  'Medefaidrin Pahawh_Hmong Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai ' +
  'Lao Tibetan Myanmar Khmer Mongolian Phags_Pa New_Tai_Lue Tai_Le Tai_Tham Ahom Tirhuta Grantha Modi Newa Sharada ' +
  'Khudawadi Takri Warang_Citi Nag_Mundari Mro Linear_A Linear_B Cypriot Cypro_Minoan Phoenician Imperial_Aramaic ' +
  'Brahmi Kharoshthi Javanese Balinese Sundanese Cham Limbu Lepcha Buginese Kayah_Li Tai_Viet Saurashtra ' +
  'Meetei_Mayek Ugaritic Cuneiform Egyptian_Hieroglyphs Anatolian_Hieroglyphs Samaritan Mandaic Thaana Siddham ' +
  'Masaram_Gondi Gunjala_Gondi Zanabazar_Square Soyombo Bhaiksuki Marchen Nandinagari Dogra Kaithi Mahajani Khojki ' +
  'Multani Chakma Wancho Toto Vithkuqi Yezidi Hanifi_Rohingya Ol_Chiki Tagalog Hanunoo Buhid Tagbanwa Glagolitic ' +
  'Batak Rejang Syloti_Nagri Makasar Kawi Tangut Dives_Akuru Nushu Duployan Old_Persian Avestan Old_Turkic ' +
  'Meroitic_Cursive Meroitic_Hieroglyphs Nabataean Palmyrene Hatran Inscriptional_Parthian Inscriptional_Pahlavi ' +
  'Psalter_Pahlavi Old_South_Arabian Old_North_Arabian Manichaean Sora_Sompeng Bassa_Vah Shavian Braille ' +
  'Old_Sogdian Sogdian Elymaic Chorasmian Old_Uyghur Pau_Cin_Hau Nyiakeng_Puachue_Hmong Khitan_Small_Script ' +
  'Inherited Common'
)
  .split(' ')
  .map((name) => ({ name, has: new RegExp(`\\p{Script=${name}}`, 'u'), uses: new RegExp(`\\p{scx=${name}}`, 'u') }));

/** Returns the script of a character. Digits of ASCII are Latin. A digit that several scripts share is of the first of them. */
function scriptOf(character: string): string {
  if (/^[\0-\x7f]$/.test(character)) return 'Latin';
  const found = SCRIPTS.find(({ has, uses }) => (/\p{Nd}/u.test(character) ? uses : has).test(character));
  if (found === undefined) throw new Error(`the script of ${character} is missing in SCRIPTS`);
  return found.name;
}

const isOf = (characters: readonly string[], pattern: RegExp) => characters.some((one) => pattern.test(one));
const isWhole = (character: string) =>
  character.normalize('NFKD') === character &&
  /^(?![\0-\x7f])[\p{L}\p{N}\p{Sm}\p{So}]$|^[0-9A-Za-z]$/u.test(character) &&
  !/\p{Emoji}(?<![0-9])/u.test(character);

function readClasses(file: string): string[][] {
  const decode = (codes: string) => String.fromCodePoint(...codes.split(' ').map((code) => Number.parseInt(code, 16)));
  const prototypes = new Map<string, string>();
  for (const [, from = '', to = ''] of readFileSync(file, 'utf8').matchAll(/^([0-9A-F]+) ;\s([0-9A-F ]+) ;/gm)) {
    prototypes.set(decode(from), decode(to));
  }
  const prototypeOf = (character: string) => prototypes.get(character) ?? character;
  const moved = new Map(ADDED.flatMap(([alike, to]) => [...alike].map((one) => [one, prototypeOf(to)] as const)));
  const joined = new Map(
    JOINED.flatMap(([to = '', ...rest]) => rest.map((one) => [prototypeOf(one), prototypeOf(to)] as const)),
  );
  const classes = new Map<string, Set<string>>();
  for (const character of new Set([...prototypes].flat().concat([...moved.keys()]))) {
    if (!isWhole(character)) continue;
    const prototype = moved.get(character) ?? prototypeOf(character);
    const key = joined.get(prototype) ?? prototype;
    classes.set(key, (classes.get(key) ?? new Set()).add(character));
  }
  return [...classes.values()]
    .map((members) => [...members])
    .map((all) =>
      isOf(all, /\p{L}/u) && isOf(all, /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u)
        ? all
        : all.filter((one) => /[\p{L}\p{N}]/u.test(one)),
    )
    .filter((members) => new Set(members.map(scriptOf)).size > 1);
}

/** Returns the character that stands for a class: a small letter of ASCII, or else the first one of the first script. */
function representativeOf(members: readonly string[]): string {
  const rank = (one: string) => [/[a-z]/, /[0-9A-Z]/].findIndex((pattern) => pattern.test(one)) >>> 0;
  const order = (one: string) => SCRIPTS.findIndex(({ name }) => name === scriptOf(one));
  const inOrder = [...members].sort(
    (a, b) => rank(a) - rank(b) || order(a) - order(b) || (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0),
  );
  const preferred = JOINED.map(([first = '']) => first).find((first) => members.includes(first));
  return preferred ?? inOrder[0] ?? '';
}

const inJson = (text: string) =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const inSql = (text: string) =>
  text.replace(/[^\0-\x7f]/gu, (one) => {
    const code = (one.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\+${code.padStart(6, '0')}` : `\\${code.padStart(4, '0')}`;
  });

const classes = readClasses(process.argv[2] ?? 'confusables.txt');
const pairs = classes.map((members) => {
  const to = representativeOf(members);
  return members.filter((one) => one !== to).map((one) => `"${inJson(one)}":"${inJson(to)}"`);
});
const byScript = new Map<string, Set<string>>();
for (const one of classes.flat()) {
  const characters = byScript.get(scriptOf(one)) ?? new Set();
  byScript.set(scriptOf(one), characters.add(one.toLowerCase()).add(one));
}
console.log(
  `    '{\n${pairs
    .map((some) => some.join(','))
    .filter(Boolean)
    .join(',\n')}\n}'`,
);
for (const [script, characters] of byScript) {
  const sorted = [...characters].filter((one) => one === one.toLowerCase()).sort();
  console.log(`    U&'${inSql(sorted.join(''))}', -- ${script}`);
}

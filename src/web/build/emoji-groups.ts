import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const GENERATED = join(import.meta.dirname, '../generated');

/** Groups of the emoji data, in the order of the picker, with an emoji that stands for each of them. */
const GROUPS = [
  [0, 'Smileys and emotion', '😀'],
  [1, 'People and body', '👋'],
  [3, 'Animals and nature', '🐻'],
  [4, 'Food and drink', '🍎'],
  [5, 'Travel and places', '🚗'],
  [6, 'Activities', '⚽'],
  [7, 'Objects', '💡'],
  [8, 'Symbols', '🔣'],
  [9, 'Flags', '🏳️'],
] as const;

interface DataEmoji {
  readonly hexcode: string;
  readonly group?: number;
  readonly order?: number;
  readonly skins?: readonly { readonly hexcode: string }[];
}

/**
 * Writes the groups of the emoji picker to `generated/emoji-groups.json`: the codes of each group, and the codes of the emoji
 * that can have a skin tone. Codes are in the form of the emoji table of the service.
 */
export function writeEmojiGroups(): void {
  const path = createRequire(import.meta.url).resolve('emojibase-data/en/data.json');
  const all = (JSON.parse(readFileSync(path, 'utf8')) as readonly DataEmoji[]).toSorted(
    (a, b) => (a.order ?? 0) - (b.order ?? 0),
  );
  const groups = GROUPS.map(([group, title, glyph]) => ({
    title,
    glyph,
    codes: all.filter((one) => one.group === group).map(({ hexcode }) => codeOf(hexcode)),
  }));
  const toned = all.filter(hasSimpleTones).map(({ hexcode }) => codeOf(hexcode));
  writeFileSync(join(GENERATED, 'emoji-groups.json'), JSON.stringify({ groups, toned }));
}

const codeOf = (hexcode: string): string =>
  hexcode
    .toLowerCase()
    .split('-')
    .filter((point) => point !== 'fe0f')
    .join('-');

/** Returns whether the tone directly follows the first character, as it does in emoji of one person or hand. */
function hasSimpleTones({ hexcode, skins }: DataEmoji): boolean {
  const [first, ...rest] = codeOf(hexcode).split('-');
  return skins !== undefined && codeOf(skins[0]?.hexcode ?? '') === [first, '1f3fb', ...rest].join('-');
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import {
  emojiNamed,
  emojiOf,
  emojiPattern,
  emojiTable,
  emojiWithCode,
  normalEmojiCode,
} from '../../src/markdown/emoji.ts';

const table = Object.entries(emojiTable().code_to_names);

/**
 * The emoji data set of the package emojibase-data. It has the characters of each emoji with all variation selectors and skin
 * tones.
 */
const data = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('emojibase-data/en/data.json'), 'utf8'),
) as { emoji: string; hexcode: string; group?: number; skins?: { emoji: string }[] }[];
const listed = data.filter(({ group }) => group !== undefined && group !== 2);

/** Returns the names of the emoji that the renderer recognizes in `text`. */
const found = (text: string) =>
  [...text.matchAll(emojiPattern)].flatMap(([characters]) => emojiOf(characters)?.name ?? []);

test('every emoji has a code, a canonical name, and unique names', () => {
  expect(table.length).toBeGreaterThan(1850);
  const names = table.flatMap(([, own]) => own);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z0-9_+-]+$/.test(name))).toEqual([]);
  for (const [code, own] of table) {
    expect(code).toMatch(/^[0-9a-f]{4,6}(-[0-9a-f]{4,6})*$/);
    expect(code).not.toMatch(/fe0f|1f3f[b-f]/);
    expect(own).not.toEqual([]);
    expect(emojiWithCode(code)).toEqual({ names: own });
    for (const name of own) expect(emojiNamed(name)).toEqual({ name: own[0], code });
  }
});

test('names for emoticons exist', () => {
  const codes = {
    slight_smile: '1f642',
    frown: '1f641',
    heart: '2764',
    neutral: '1f610',
    confused: '1f615',
    wink: '1f609',
    open_mouth: '1f62e',
    stuck_out_tongue: '1f61b',
    heart_eyes: '1f60d',
    octopus: '1f419',
    tada: '1f389',
  };
  for (const [name, code] of Object.entries(codes)) expect(emojiNamed(name)).toEqual({ name, code });
  expect(emojiNamed('+1')).toEqual({ name: 'thumbs_up', code: '1f44d' });
  for (const name of ['', 'no_such_emoji', 'Heart', 'constructor', '__proto__', 'thumbs_up_tone1']) {
    expect(emojiNamed(name)).toBeUndefined();
    expect(emojiWithCode(name)).toBeUndefined();
  }
});

test('emoji have the names that clients use, whatever the data sets say', () => {
  const aliases: Readonly<Record<string, readonly string[]>> = JSON.parse(
    readFileSync(new URL('../../src/markdown/emoji-aliases.json', import.meta.url), 'utf8'),
  );
  const pairs = Object.entries(aliases).flatMap(([code, names]) => names.map((name) => [name, code] as const));
  expect(pairs.length).toBeGreaterThan(600);
  expect(pairs.filter(([name, code]) => emojiNamed(name)?.code !== code)).toEqual([]);
  const others = { smile: '1f642', big_smile: '1f604', calendar: '1f4c5', date: '1f4c6', cat: '1f408', ok: '1f44c' };
  for (const [name, code] of Object.entries(others)) expect([name, emojiNamed(name)?.code]).toEqual([name, code]);
  // The data set still defines these canonical names. Earlier names of an emoji remain valid.
  expect(emojiWithCode('1f642')?.names.slice(0, 1)).toEqual(['slight_smile']);
  expect(emojiWithCode('1f604')?.names[0]).toBe('big_smile');
  expect(emojiWithCode('1f44d')?.names.slice(0, 3)).toEqual(['thumbs_up', '+1', 'like']);
  expect(emojiNamed('tears')).toEqual({ name: 'joy', code: '1f602' });
});

test('a code with U+FE0F equals the code without it', () => {
  expect(normalEmojiCode('2764-fe0f')).toBe('2764');
  expect(normalEmojiCode('1f3f3-fe0f-200d-1f308')).toBe('1f3f3-200d-1f308');
  expect(normalEmojiCode('0031-fe0f-20e3')).toBe('0031-20e3');
  expect(normalEmojiCode('1f44d')).toBe('1f44d');
  expect(normalEmojiCode('fe0f')).toBe('fe0f');
});

test('every emoji of the data set is found in a text, but none of its skin-tone variants', () => {
  const misread = listed.filter(({ emoji }) => {
    const shown = emoji.endsWith('\uFE0F') ? emoji : emoji.replace(/^(.)$/u, '$1\uFE0F');
    const known = emojiOf(shown);
    return known === undefined || found(`a${shown}b ${shown}, 1`).join() !== `${known.name},${known.name}`;
  });
  expect(misread).toEqual([]);
  const toned = listed.flatMap(({ skins = [] }) => skins);
  expect(toned.length).toBeGreaterThan(300);
  expect(toned.filter(({ emoji }) => found(`a ${emoji} b`).length > 0)).toEqual([]);
});

test('characters that are text by default count as emoji only with a variation selector', () => {
  expect(emojiOf('❤')).toBeUndefined();
  expect(emojiOf('❤\uFE0F')).toEqual({ name: 'heart', code: '2764' });
  expect(emojiOf('1\u20E3')).toBeUndefined();
  expect(emojiOf('1\uFE0F\u20E3')?.code).toBe('0031-20e3');
  expect(emojiOf('👍')?.name).toBe('thumbs_up');
  expect(emojiOf('👍\uFE0E')).toBeUndefined();
  expect(emojiOf('🏳\uFE0F\u200D🌈')?.code).toBe('1f3f3-200d-1f308');
  for (const text of ['', 'a', '1', '👍👍', '👍 ', '🇩', '\uFE0F', '🐱\u200D👤']) expect(emojiOf(text)).toBeUndefined();
  expect(found('© 1 # → 2⃣ ❤ 👍🏽 🐱\u200D👤 🇩🇪🇫🇷 ok👍🐙')).toEqual(['flag_de', 'flag_fr', 'thumbs_up', 'octopus']);
});

test('every text is matched in one pass', () => {
  expect(found(`🏴${'\u{E0061}'.repeat(10_000)}`)).toEqual(['flag_black']);
  expect(found('🏴\u200D'.repeat(10_000))).toEqual([]);
  expect(found('🇦'.repeat(9_999))).toEqual([]);
  expect(found('🐙'.repeat(10_000))).toHaveLength(10_000);
});

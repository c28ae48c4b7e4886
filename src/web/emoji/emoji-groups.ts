import { createStore } from '../base/store.ts';
import type { Emoji } from './emoji-table.ts';

interface Groups {
  readonly groups: readonly { readonly title: string; readonly glyph: string; readonly codes: readonly string[] }[];
  /** Codes of the emoji that can have a skin tone. */
  readonly toned: ReadonlySet<string>;
}

/** The groups of the picker. Undefined until they are loaded. */
export const emojiGroups = createStore<Groups | undefined>(undefined);

/** Loads the groups once. After a failure, the next call retries. */
export async function loadGroups(): Promise<void> {
  if (emojiGroups.get() !== undefined) return;
  const { groups, toned } = (await import('../generated/emoji-groups.json')).default;
  emojiGroups.set({ groups, toned: new Set(toned) });
}

/** Skin tones, by the last digit of their code point. 0: none. */
export const TONES = ['0', 'b', 'c', 'd', 'e', 'f'] as const;
export type Tone = (typeof TONES)[number];

const KEY = 'skin tone';

/** Skin tone of the emoji that the user inserts. This browser remembers it. */
export const tone = createStore<Tone>(TONES.find((one) => one === localStorage.getItem(KEY)) ?? '0');

export function setTone(next: Tone): void {
  tone.set(next);
  localStorage.setItem(KEY, next);
}

/** Returns the characters of an emoji with a skin tone. Without the tone if the emoji cannot have it. */
export function withTone(glyph: string, code: string, chosen: Tone): string {
  if (chosen === '0' || emojiGroups.get()?.toned.has(code) !== true) return glyph;
  const [first = '', ...rest] = [...glyph];
  return [
    first,
    String.fromCodePoint(Number.parseInt(`1f3f${chosen}`, 16)),
    ...rest.slice(rest[0] === '\ufe0f' ? 1 : 0),
  ].join('');
}

/** Returns the active emoji of a group. @param title Title of a group, or "Custom" for the emoji of the organization. */
export function inGroup(all: readonly Emoji[], title: string): readonly Emoji[] {
  if (title === CUSTOM) return all.filter(({ type, isActive }) => type === 'REALM_EMOJI' && isActive);
  const codes = emojiGroups.get()?.groups.find((group) => group.title === title)?.codes ?? [];
  const known = new Map(all.filter(({ type }) => type === 'UNICODE_EMOJI').map((emoji) => [emoji.code, emoji]));
  return codes.flatMap((code) => known.get(code) ?? []);
}

export const CUSTOM = 'Custom';

import type { Client } from 'urql';
import { EmojiSourcesDocument } from '../generated/graphql.ts';
import { glyphOf } from '../ui/person.tsx';

/** An emoji by one of its names: a character, or an image of the organization's. */
export interface Emoji {
  /** As it stands between colons. */
  readonly name: string;
  readonly glyph: string | undefined;
  readonly imageUrl: string | undefined;
}

let unicode: Promise<readonly Emoji[]> | undefined;

/** All emoji that can be written here, the organization's own first. The names of the others are read once. */
export async function loadEmoji(client: Client): Promise<readonly Emoji[]> {
  const { data } = await client.query(EmojiSourcesDocument, {}).toPromise();
  if (data === undefined) return [];
  unicode ??= readUnicode(data.serverSettings.emojiDataUrl);
  const own = (data.customEmoji?.nodes ?? []).filter(({ isActive }) => isActive);
  return [...own.map(({ name, imageUrl }) => ({ name, glyph: undefined, imageUrl })), ...(await unicode)];
}

async function readUnicode(url: string): Promise<readonly Emoji[]> {
  try {
    const reply = await fetch(url);
    const { code_to_names: names } = (await reply.json()) as { readonly code_to_names: Record<string, string[]> };
    return Object.entries(names).flatMap(([code, all]) => {
      const glyph = glyphOf(code);
      return all.map((name) => ({ name, glyph, imageUrl: undefined }));
    });
  } catch {
    // Without the network: asked for again by the next who wants them.
    unicode = undefined;
    return [];
  }
}

/**
 * The emoji that are meant by what is written of a name by now: named so, beginning so, then with a later word that does;
 * each emoji once, under the name that fits best.
 */
export function emojiFor(all: readonly Emoji[], written: string, limit: number): readonly Emoji[] {
  const text = written.toLowerCase();
  const ranked = all.flatMap((emoji) => {
    const rank = rankOf(emoji.name, text);
    return rank === undefined ? [] : [{ emoji, rank }];
  });
  ranked.sort((a, b) => a.rank - b.rank || a.emoji.name.length - b.emoji.name.length);
  const once = new Map(ranked.toReversed().map(({ emoji }) => [emoji.glyph ?? emoji.name, emoji]));
  return [...once.values()].toReversed().slice(0, limit);
}

function rankOf(name: string, text: string): number | undefined {
  if (name === text) return 0;
  if (name.startsWith(text)) return 1;
  return name.includes(`_${text}`) ? 2 : undefined;
}

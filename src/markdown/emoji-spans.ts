import { CUSTOM_EMOJI_NAME, EXTRA_EMOJI, EXTRA_EMOJI_URL, emojiNamed, emojiOf, emojiPattern } from './emoji.ts';
import { escapeAttribute, escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';

const EMOTICONS: Readonly<Record<string, string>> = {
  ':)': 'slight_smile',
  '(:': 'slight_smile',
  ':(': 'frown',
  '<3': 'heart',
  ':|': 'neutral',
  ':/': 'confused',
  ';)': 'wink',
  ':D': 'smile',
  ':o': 'open_mouth',
  ':O': 'open_mouth',
  ':p': 'stuck_out_tongue',
  ':P': 'stuck_out_tongue',
};

/** Matches emoticons that are not next to a letter or digit. So there is no match in "https://" or "(:name)". */
const EMOTICON = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${Object.keys(EMOTICONS)
    .map((face) => face.replace(/[()|]/g, '\\$&'))
    .join('|')})(?![\\p{L}\\p{N}])`,
  'gu',
);

/** Matches emoticons at any position. This test is cheap, and comes before the test with `EMOTICON`. */
const IN_EMOTICON = /[:;][)(|/DoOpP]|\(:|<3/;

/** Matches text that may contain Unicode emoji: some symbols, and the high surrogates of most emoji. It is a cheap test. */
const MAY_HOLD_EMOJI = /[\u00a9\u00ae\u203c-\u3299\ud83c-\ud83e]/;

/**
 * Returns the names in a text that may be custom emoji of the organization. The second colon of a name can also be the first
 * colon of the next name.
 *
 * @param hasEmoticons Whether to include the names for which emoticons such as `:)` stand.
 */
export function emojiNamesIn(text: string, hasEmoticons: boolean): string[] {
  if (!text.includes(':') && !hasEmoticons) return [];
  const names = [...text.matchAll(/:(?=([\w\-+]+):)/g)].map(([, name = '']) => name);
  const faces = hasEmoticons && IN_EMOTICON.test(text) ? [...text.matchAll(EMOTICON)] : [];
  const meant = faces.flatMap(([face]) => EMOTICONS[face] ?? []);
  return [...new Set([...names, ...meant])].filter((name) => CUSTOM_EMOJI_NAME.test(name));
}

/**
 * Replaces each `:name:` in a text by a placeholder, if the name belongs to a custom emoji of the organization or to a Unicode
 * emoji.
 */
export function emojiNames(inline: Inline, text: string): string {
  if (!text.includes(':')) return text;
  const pattern = /:([\w\-+]+):/g;
  let [result, end] = ['', 0];
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [source, name = ''] = match;
    const html = emojiHtml(inline, name);
    if (html === undefined) {
      // The second colon can be the first colon of the next name.
      pattern.lastIndex--;
    } else {
      result += text.slice(end, match.index) + inline.keep(source, html);
      end = pattern.lastIndex;
    }
  }
  return result + text.slice(end);
}

/**
 * Replaces emoticons such as `:)` in a text by placeholders of emoji. Does nothing unless the sender has enabled the
 * replacement.
 */
export function emoticons(inline: Inline, text: string): string {
  if (!inline.rendering.options.translateEmoticons || !IN_EMOTICON.test(text)) return text;
  return text.replace(EMOTICON, (face) => inline.keep(face, emojiHtml(inline, EMOTICONS[face] ?? '') ?? face));
}

/** Replaces Unicode emoji in a text by placeholders of their HTML. */
export function emojiCharacters(inline: Inline, text: string): string {
  if (!MAY_HOLD_EMOJI.test(text)) return text;
  return text.replace(emojiPattern, (characters) => inline.keepAlike(characters, characterHtml));
}

function emojiHtml({ rendering: { directory } }: Inline, name: string): string | undefined {
  const custom = directory?.customEmoji(name);
  if (custom !== undefined) return imageHtml(name, custom.url);
  if (name === EXTRA_EMOJI) return imageHtml(name, EXTRA_EMOJI_URL);
  const emoji = emojiNamed(name);
  return emoji && unicodeHtml(name, emoji.code);
}

const labelOf = (name: string) => escapeAttribute(name.replaceAll('_', ' '));

/** Returns the HTML of a Unicode emoji. If the characters are not an emoji with a name, returns them unchanged. */
function characterHtml(characters: string): string {
  const emoji = emojiOf(characters);
  return emoji === undefined ? characters : unicodeHtml(emoji.name, emoji.code);
}

function unicodeHtml(name: string, code: string): string {
  const label = labelOf(name);
  const text = escapeText(name);
  return `<span aria-label="${label}" class="emoji emoji-${code}" role="img" title="${label}">:${text}:</span>`;
}

function imageHtml(name: string, url: string): string {
  const alt = escapeAttribute(`:${name}:`);
  return `<img alt="${alt}" class="emoji" src="${escapeAttribute(url)}" title="${labelOf(name)}">`;
}

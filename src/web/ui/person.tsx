import type { PersonBadgeFragment } from '../generated/graphql.ts';
import { usePresence } from './presence.ts';

/** Image of a user. @param size In pixels. The space is reserved before the image is loaded. */
export function Avatar({ url, size = 36 }: { readonly url: string; readonly size?: number }) {
  return <img className="avatar" src={url} alt="" width={size} height={size} loading="lazy" decoding="async" />;
}

/** Presence of a user: a dot on the screen, and a word for screen readers. */
export function PresenceDot({
  person,
}: {
  readonly person: Pick<PersonBadgeFragment, 'presence' | 'isBot' | 'status'>;
}) {
  const presence = usePresence(person);
  return (
    <span className="presence" data-presence={presence}>
      <span className="only-heard">{presence}</span>
    </span>
  );
}

/** The emoji of a user's status, with the status text as tooltip. */
export function StatusEmoji({ status }: { readonly status: PersonBadgeFragment['status'] }) {
  const glyph = glyphOf(status.emojiCode, status.reactionType);
  if (glyph === undefined) return null;
  return (
    <span className="status-emoji" role="img" aria-label={status.text || (status.emojiName ?? '')} title={status.text}>
      {glyph}
    </span>
  );
}

/**
 * Returns a Unicode emoji by its code, which consists of code points in hexadecimal, joined by "-". Undefined for emoji of
 * other types and for invalid codes.
 */
export function glyphOf(code: string | null, type: string | null = 'UNICODE_EMOJI'): string | undefined {
  if (code === null || type !== 'UNICODE_EMOJI' || !/^[0-9a-f]+(-[0-9a-f]+)*$/i.test(code)) return undefined;
  const points = code.split('-').map((point) => Number.parseInt(point, 16));
  return points.every((point) => point <= 0x10ffff) ? withEmojiStyle(points) : undefined;
}

/** Adds U+FE0F to the characters that browsers would otherwise show as text: ❤, ☀ and the digits of keycaps. */
const withEmojiStyle = (points: readonly number[]): string =>
  points
    .map((point, i) => {
      const character = String.fromCodePoint(point);
      const isText = /^(?=\p{Emoji})\P{Emoji_Presentation}$/u.test(character);
      const next = points[i + 1] ?? 0;
      const isStyled = next === 0xfe0f || /\p{Emoji_Modifier}/u.test(String.fromCodePoint(next));
      return isText && !isStyled ? `${character}\ufe0f` : character;
    })
    .join('');

/** Returns the names of users, joined as in a sentence. */
export const namesOf = (people: readonly { readonly fullName: string }[]): string =>
  new Intl.ListFormat(undefined, { type: 'conjunction' }).format(people.map(({ fullName }) => fullName));

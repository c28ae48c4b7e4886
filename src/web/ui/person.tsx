import type { CSSProperties } from 'react';
import type { PersonBadgeFragment } from '../generated/graphql.ts';
import { usePresence } from './presence.ts';

/** The properties of a user that their picture depends on. */
export type Face = Pick<PersonBadgeFragment, 'fullName' | 'avatarUrl' | 'avatarSource'>;

interface AvatarProps {
  readonly person: Face;
  /** Width and height in pixels. The space is reserved before the image is loaded. */
  readonly size?: number;
  /** Address of the image, if another size than the usual one is needed. */
  readonly url?: string;
}

/** Picture of a user: the image of the user, or initials for users who have none. */
export function Avatar({ person, size = 36, url = person.avatarUrl }: AvatarProps) {
  const { fullName, avatarSource } = person;
  if (avatarSource !== 'GENERATED') {
    return <img className="avatar" src={url} alt="" width={size} height={size} loading="lazy" decoding="async" />;
  }
  const style = { width: size, height: size, fontSize: size * 0.4, '--hue': hueOf(fullName) } as CSSProperties;
  // The style sheet renders the initials, so that they are not part of the text of the page.
  return (
    <span className="avatar avatar-initials" aria-hidden="true" data-initials={initialsOf(fullName)} style={style} />
  );
}

/** Returns the first letters of the first and last word of a name, in upper case. */
function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? [];
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return letters
    .map((word = '') => [...word][0] ?? '')
    .join('')
    .toLocaleUpperCase();
}

/** Returns a hue in degrees that is always the same for a name. */
const hueOf = (name: string): number =>
  [...name].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % 360, 7);

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

/** Picture of a user with the presence in its corner. */
export function AvatarWithPresence({ person, size }: { readonly person: PersonBadgeFragment; readonly size: number }) {
  return (
    <span className="avatar-with-presence">
      <Avatar person={person} size={size} />
      <PresenceDot person={person} />
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

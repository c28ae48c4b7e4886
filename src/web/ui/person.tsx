import type { PersonBadgeFragment } from '../generated/graphql.ts';
import { usePresence } from './presence.ts';

/** @param size In pixels, reserved before the picture is there. */
export function Avatar({ url, size = 36 }: { readonly url: string; readonly size?: number }) {
  return <img className="avatar" src={url} alt="" width={size} height={size} loading="lazy" decoding="async" />;
}

/** Whether somebody is there: a dot for the eye, a word for the ear. */
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

/** The emoji of somebody's status; its text is the tooltip. */
export function StatusEmoji({ status }: { readonly status: PersonBadgeFragment['status'] }) {
  const glyph = glyphOf(status.emojiCode, status.reactionType);
  if (glyph === undefined) return null;
  return (
    <span className="status-emoji" role="img" aria-label={status.text || (status.emojiName ?? '')} title={status.text}>
      {glyph}
    </span>
  );
}

/** A Unicode emoji by its code, code points in hex joined by "-"; undefined for any other. */
export function glyphOf(code: string | null, type: string | null = 'UNICODE_EMOJI'): string | undefined {
  if (code === null || type !== 'UNICODE_EMOJI' || !/^[0-9a-f]+(-[0-9a-f]+)*$/i.test(code)) return undefined;
  const points = code.split('-').map((point) => Number.parseInt(point, 16));
  return points.every((point) => point <= 0x10ffff) ? String.fromCodePoint(...points) : undefined;
}

/** Names as a sentence has them. */
export const namesOf = (people: readonly { readonly fullName: string }[]): string =>
  new Intl.ListFormat(undefined, { type: 'conjunction' }).format(people.map(({ fullName }) => fullName));

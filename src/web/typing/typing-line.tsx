import { belongsTo } from '../api/narrow.ts';
import { useStore } from '../base/store.ts';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { namesOf } from '../ui/person.tsx';
import './typing.css';
import { typists } from './typists.ts';

/** Maximum number of typing users whose names are shown. If more users are typing, no names are shown. */
const NAMED = 3;

interface Props {
  readonly narrow: MessageNarrowInput;
  readonly viewerId: string;
}

/**
 * Line with the names of other users who are typing in a narrow (message filter). The line takes up space even if no user is
 * typing. Screen readers do not announce it.
 */
export function TypingLine({ narrow, viewerId }: Props) {
  const said = useStore(typists, (all) => {
    const here = all.filter(
      ({ userId, place }) => userId !== viewerId && place !== undefined && belongsTo(narrow, place, viewerId) === true,
    );
    if (here.length === 0) return '';
    if (here.length > NAMED) return 'Several people are typing…';
    const names = namesOf(here.map(({ name }) => ({ fullName: name })));
    return `${names} ${here.length === 1 ? 'is' : 'are'} typing…`;
  });
  return <p className="typing-line">{said}</p>;
}

/** Shows the name of another user who is editing a message, if any. */
export function EditTyping({ messageId, viewerId }: { readonly messageId: string; readonly viewerId: string }) {
  const name = useStore(
    typists,
    (all) => all.find((one) => one.messageId === messageId && one.userId !== viewerId)?.name,
  );
  return name === undefined ? null : <span className="edit-typing">{name} is editing…</span>;
}

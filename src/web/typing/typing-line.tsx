import { belongsTo } from '../api/narrow.ts';
import { useStore } from '../api/store.ts';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { namesOf } from '../ui/person.tsx';
import './typing.css';
import { typists } from './typists.ts';

/** More are not named. */
const NAMED = 3;

interface Props {
  readonly narrow: MessageNarrowInput;
  readonly viewerId: string;
}

/** Who of the others is writing here. It takes up its place whether anybody is or not; nobody has it read out to them. */
export function TypingLine({ narrow, viewerId }: Props) {
  const said = useStore(typists, (all) => {
    const here = all.filter(
      ({ userId, place }) => userId !== viewerId && place !== undefined && belongsTo(narrow, place) === true,
    );
    if (here.length === 0) return '';
    if (here.length > NAMED) return 'Several people are writing…';
    const names = namesOf(here.map(({ name }) => ({ fullName: name })));
    return `${names} ${here.length === 1 ? 'is' : 'are'} writing…`;
  });
  return <p className="typing-line">{said}</p>;
}

/** Who is changing a message right now. */
export function EditTyping({ messageId, viewerId }: { readonly messageId: string; readonly viewerId: string }) {
  const name = useStore(
    typists,
    (all) => all.find((one) => one.messageId === messageId && one.userId !== viewerId)?.name,
  );
  return name === undefined ? null : <span className="edit-typing">{name} is editing…</span>;
}

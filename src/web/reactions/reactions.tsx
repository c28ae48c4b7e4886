import { useEffect } from 'react';
import { useClient } from 'urql';
import { useStore } from '../base/store.ts';
import { EmojiShown, openEmojiPicker } from '../emoji/emoji-picker.tsx';
import { emojiTable, loadEmoji } from '../emoji/emoji-table.ts';
import type { MessageRowFragment as Message } from '../generated/graphql.ts';
import { IconButton } from '../ui/button.tsx';
import { glyphOf } from '../ui/person.tsx';
import { useNames } from './names.ts';
import './reactions.css';
import { isSameEmoji, pendingReactions, react, toggleReaction } from './toggle.ts';

type Group = Message['reactionGroups'][number];

/**
 * Maximum number of reactions on a message for which the names of the users are shown beside each emoji. If there are more
 * reactions, a count is shown beside each emoji.
 */
const FEW = 3;

interface Props {
  readonly message: Message;
  readonly viewerId: string;
}

/** The reactions of a message. Each emoji is a button that adds or removes the reaction of the viewer. */
export function Reactions({ message, viewerId }: Props) {
  const isPending = useStore(pendingReactions, (all) => all.some(({ messageId }) => messageId === message.id));
  return message.reactionGroups.length === 0 && !isPending ? null : <Chips message={message} viewerId={viewerId} />;
}

function Chips({ message, viewerId }: Props) {
  const client = useClient();
  const { id, reactionGroups } = message;
  const pending = useStore(pendingReactions).filter(({ messageId }) => messageId === id);
  const isNew = (one: (typeof pending)[number]) => !reactionGroups.some((group) => isSameEmoji(group, one));
  const names = useNames(reactionGroups.flatMap(({ users }) => users.map((user) => user.id)));
  const areFew = reactionGroups.reduce((sum, { count }) => sum + count, 0) <= FEW;
  return (
    <ul className="reactions" aria-label="Reactions">
      {reactionGroups.map((group) => {
        const who = whoOf(group, names, viewerId);
        const change = pending.find((one) => isSameEmoji(group, one));
        const title = `${who} reacted with ${shownName(group)}`;
        return (
          <li key={group.reactionType + group.emojiCode}>
            <button
              type="button"
              className="reaction"
              tabIndex={-1}
              aria-pressed={change?.isAdded ?? group.viewerHasReacted}
              aria-busy={change !== undefined}
              aria-label={title}
              title={title}
              onClick={() => void toggleReaction(client, id, group)}
            >
              <Glyph group={group} />
              <span className="reaction-who">{areFew && who !== '' ? who : group.count}</span>
            </button>
          </li>
        );
      })}
      {pending.filter(isNew).map((one) => (
        <li key={one.reactionType + one.emojiCode}>
          <span className="reaction" aria-busy="true">
            <Glyph group={one} />
          </span>
        </li>
      ))}
      <li>
        <IconButton
          className="reaction-add"
          icon="smile"
          label="Add another reaction"
          tabIndex={-1}
          onClick={({ currentTarget }) => openEmojiPicker(currentTarget, (emoji) => react(client, message, emoji))}
        />
      </li>
    </ul>
  );
}

const shownName = ({ emojiName }: Group): string => emojiName.replaceAll('_', ' ');

/** The emoji of a reaction. Custom emoji are images from the emoji table. */
function Glyph({
  group: { emojiName, emojiCode, reactionType },
}: {
  readonly group: Omit<Group, 'count' | 'users' | 'viewerHasReacted'>;
}) {
  const client = useClient();
  const glyph = glyphOf(emojiCode, reactionType);
  const known = useStore(emojiTable, (all) =>
    glyph === undefined ? all.find(({ code, type }) => code === emojiCode && type === reactionType) : undefined,
  );
  const isWanted = glyph === undefined && known === undefined;
  useEffect(() => {
    if (isWanted) void loadEmoji(client);
  }, [client, isWanted]);
  return <EmojiShown names={[emojiName]} glyph={glyph} imageUrl={known?.imageUrl} />;
}

const LIST = new Intl.ListFormat(undefined, { type: 'conjunction' });

/** Returns the users of a reaction as text: "You, Mona Lindqvist and 3 others". */
function whoOf({ users, count }: Group, names: ReadonlyMap<string, string>, viewerId: string): string {
  const ids = users.map(({ id }) => id);
  const own = ids.includes(viewerId) ? ['You'] : [];
  const others = ids.filter((id) => id !== viewerId).flatMap((id) => names.get(id) ?? []);
  const shown = [...own, ...others];
  const rest = count - shown.length;
  return LIST.format([...shown, ...(rest > 0 ? [`${rest} ${rest === 1 ? 'other' : 'others'}`] : [])]);
}

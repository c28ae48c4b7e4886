import { useClient } from 'urql';
import { useStore } from '../base/store.ts';
import { EmojiShown, openEmojiPicker } from '../emoji/emoji-picker.tsx';
import { emojiTable, quickEmoji } from '../emoji/emoji-table.ts';
import type { MessageRowFragment as Message } from '../generated/graphql.ts';
import { groupOf, react, toggleReaction } from '../reactions/toggle.ts';
import { IconButton } from '../ui/button.tsx';
import { star } from './acted.ts';
import { openMessageMenu } from './message-menu.tsx';
import { quoteAndReply } from './reply.ts';
import './message-actions.css';

/**
 * Toolbar with the actions of the active message, which was last focused or pointed at. Users reach it by pointer, by touch, or
 * with the Enter key on the message.
 */
export function Toolbar({ message, viewerId }: { readonly message: Message; readonly viewerId: string }) {
  const client = useClient();
  const quick = useStore(emojiTable, quickOf);
  const { id, viewerHasStarred } = message;
  return (
    <div className="message-toolbar" role="toolbar" aria-label="Actions on the message">
      {quick.map((emoji) => {
        const group = groupOf(message, emoji);
        const label = `React with ${emoji.names[0].replaceAll('_', ' ')}`;
        return (
          <button
            key={emoji.type + emoji.code}
            type="button"
            className="icon-button"
            aria-label={label}
            title={label}
            aria-pressed={group.viewerHasReacted}
            tabIndex={-1}
            onClick={() => void toggleReaction(client, id, group)}
          >
            <EmojiShown {...emoji} />
          </button>
        );
      })}
      <IconButton
        icon="smile"
        label="Add a reaction"
        tabIndex={-1}
        onClick={({ currentTarget }) => openEmojiPicker(currentTarget, (emoji) => react(client, message, emoji))}
      />
      <IconButton
        icon="reply"
        label="Quote and reply"
        tabIndex={-1}
        onClick={() => void quoteAndReply(client, message.id)}
      />
      <IconButton
        className="message-toolbar-star"
        icon="star"
        label="Star"
        aria-pressed={viewerHasStarred}
        tabIndex={-1}
        onClick={() => star(client, id, !viewerHasStarred)}
      />
      <IconButton
        icon="more"
        label="More actions"
        aria-haspopup="menu"
        tabIndex={-1}
        onClick={({ currentTarget }) => openMessageMenu(currentTarget, id, viewerId)}
      />
    </div>
  );
}

let kept: { readonly of: unknown; readonly quick: ReturnType<typeof quickEmoji> } | undefined;

/** Returns the quick reactions, the same array for the same table of emoji. */
function quickOf(all: Parameters<typeof quickEmoji>[0]) {
  if (kept?.of !== all) kept = { of: all, quick: quickEmoji(all) };
  return kept.quick;
}

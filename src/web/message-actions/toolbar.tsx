import { useClient } from 'urql';
import { openEmojiPicker } from '../emoji/emoji-picker.tsx';
import type { MessageRowFragment as Message } from '../generated/graphql.ts';
import { react } from '../reactions/toggle.ts';
import { IconButton } from '../ui/button.tsx';
import { star } from './acted.ts';
import { openMessageMenu } from './message-menu.tsx';
import './message-actions.css';

/**
 * Toolbar with the actions of the active message, which was last focused or pointed at. Users reach it by pointer, by touch, or
 * with the Enter key on the message.
 */
export function Toolbar({ message, viewerId }: { readonly message: Message; readonly viewerId: string }) {
  const client = useClient();
  const { id, viewerHasStarred } = message;
  return (
    <div className="message-toolbar" role="toolbar" aria-label="Actions on the message">
      <IconButton
        icon="smile"
        label="Add a reaction"
        tabIndex={-1}
        onClick={({ currentTarget }) => openEmojiPicker(currentTarget, (emoji) => react(client, message, emoji))}
      />
      <IconButton
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

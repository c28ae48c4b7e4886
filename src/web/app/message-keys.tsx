import type { Client } from 'urql';
import { openEmojiPicker } from '../emoji/emoji-picker.tsx';
import type { MessageRowFragment } from '../generated/graphql.ts';
import { composerField } from '../keyboard/focus.ts';
import type { SHORTCUTS } from '../keyboard/keys.ts';
import { edit, markUnread, readActed, star } from '../message-actions/acted.ts';
import { MoveDialog } from '../message-actions/move-dialog.tsx';
import { placeAddress } from '../message-actions/place-address.ts';
import { quoteAndReply, reply, viewerIdIn } from '../message-actions/reply.ts';
import { shownMessages, targetMessage } from '../messages/active-message.ts';
import { openPerson } from '../people/open-person.tsx';
import { react } from '../reactions/toggle.ts';
import { navigate } from '../routing/router.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { notify } from '../ui/notices.tsx';

/** A message that a shortcut applies to, with its element. */
export interface Targeted {
  readonly message: MessageRowFragment;
  readonly row: HTMLElement;
}

/**
 * Returns the message that a shortcut applies to: the focused message, or else the last one that was pointed at. Undefined if
 * there is none.
 */
export function targeted(): Targeted | undefined {
  const row = targetMessage();
  const message = shownMessages.get().find(({ id }) => id === row?.dataset['id']);
  return row === null || message === undefined ? undefined : { message, row };
}

type Doing = (client: Client, targeted: Targeted) => void;

/** The actions of the shortcuts in `SHORTCUTS.message`. The service decides whether the viewer may run them. */
export const MESSAGE_ACTIONS: Readonly<Record<keyof (typeof SHORTCUTS)['message'], Doing>> = {
  reply: (client, { message }) => reply(client, message),
  quote: (client, { message }) => void quoteAndReply(client, message.id),
  edit: (client, { message }) => void edit(client, message.id),
  star: (client, { message }) => star(client, message.id, !message.viewerHasStarred),
  react: (client, { message, row }) => openEmojiPicker(row, (emoji) => react(client, message, emoji)),
  sender: (_, { message }) => openPerson(message.sender.id),
  move: (client, { message }) => void move(client, message.id),
  show: (client, { message }) => navigate(placeAddress(message, viewerIdIn(client))),
  unreadFrom: (client, { message }) => void markUnread(client, message.id),
};

/**
 * Starts to edit the last message of the viewer in the list.
 *
 * @returns False, without effect, unless the empty field of the composer has the focus.
 */
export function editLast(client: Client): boolean {
  const field = composerField();
  if (field === null || document.activeElement !== field || field.value !== '') return false;
  const viewerId = viewerIdIn(client);
  const last = shownMessages.get().findLast(({ sender }) => sender.id === viewerId);
  if (last !== undefined) void edit(client, last.id);
  return last !== undefined;
}

async function move(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  if (message.viewerCanMove) openDialog(<MoveDialog message={message} />);
  else notify('You do not have permission to move this message.');
}

import type { Client } from 'urql';
import { openEmojiPicker } from '../emoji/emoji-picker.tsx';
import { type MessageRowFragment, OwnDocument } from '../generated/graphql.ts';
import { edit, markUnread, readActed, star } from '../message-actions/acted.ts';
import { MoveDialog } from '../message-actions/move-dialog.tsx';
import { placeAddress } from '../message-actions/place-address.ts';
import { shownMessages, targetMessage } from '../messages/active-message.ts';
import { openPerson } from '../people/open-person.tsx';
import { react } from '../reactions/toggle.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { notify } from '../ui/notices.tsx';
import { focusComposer, focusComposerSoon } from './focus.ts';
import type { SHORTCUTS } from './keys.ts';

/** A message that a key is for, where it stands on the screen. */
export interface Targeted {
  readonly message: MessageRowFragment;
  readonly row: HTMLElement;
}

/** The message that a key is meant for; undefined where there is none. */
export function targeted(): Targeted | undefined {
  const row = targetMessage();
  const message = shownMessages.get().find(({ id }) => id === row?.dataset['id']);
  return row === null || message === undefined ? undefined : { message, row };
}

type Doing = (client: Client, targeted: Targeted) => void;

/** What the keys of `SHORTCUTS.message` do with a message. What of it the viewer may do, the service says. */
export const MESSAGE_ACTIONS: Readonly<Record<keyof (typeof SHORTCUTS)['message'], Doing>> = {
  reply: (client, { message }) => reply(client, message),
  edit: (client, { message }) => void edit(client, message.id),
  star: (client, { message }) => star(client, message.id, !message.viewerHasStarred),
  react: (client, { message, row }) => openEmojiPicker(row, (emoji) => react(client, message, emoji)),
  sender: (_, { message }) => openPerson(message.sender.id),
  move: (client, { message }) => void move(client, message.id),
  show: (client, { message }) => navigate(placeAddress(message, viewerIdIn(client))),
  unreadFrom: (client, { message }) => void markUnread(client, message.id),
};

const viewerIdIn = (client: Client): string => client.readQuery(OwnDocument, {})?.data?.viewer?.id ?? '';

/** Where the message stands, one writes; so one goes there first, if need be. */
function reply(client: Client, message: MessageRowFragment): void {
  const route = currentRoute();
  const isThere = route.name === 'direct' || (route.name === 'channel' && route.topic !== undefined);
  if (isThere) focusComposer();
  else {
    navigate(placeAddress(message, viewerIdIn(client)));
    focusComposerSoon();
  }
}

async function move(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  if (message.viewerCanMove) openDialog(<MoveDialog message={message} />);
  else notify('You may not move this message.');
}

import type { Client } from 'urql';
import { createStore } from '../base/store.ts';
import {
  type ActedMessageFragment,
  MessageActionsDocument,
  type MessageNarrowInput,
  SetFlagDocument,
} from '../generated/graphql.ts';
import { addressOf } from '../routing/routes.ts';
import { act } from '../ui/act.ts';
import { copyText } from '../ui/copy.ts';
import { notify } from '../ui/notices.tsx';
import { markUnreadSince } from './mark-in-narrow.ts';
import { markUnreadFrom } from './unread-from.ts';

export type Acted = ActedMessageFragment;

/** The message that the viewer is editing in a message list. Undefined if there is none. */
export const edited = createStore<{ readonly id: string; readonly content: string } | undefined>(undefined);

/**
 * Reads a message with the viewer's permissions on it. The cache is not used, because permissions change with time.
 *
 * @returns The message. Null if it could not be read; a notice then shows the reason.
 */
export async function readActed(client: Client, messageId: string): Promise<Acted | null> {
  const { data, error } = await client
    .query(MessageActionsDocument, { messageId }, { requestPolicy: 'network-only' })
    .toPromise();
  if (error !== undefined) notify('The message could not be loaded. Try again in a moment.');
  else if (data?.message === null) notify('The message was deleted, or you no longer have access to it.');
  return data?.message ?? null;
}

/** Starts to edit a message in its list. If the viewer cannot edit it, shows a notice. */
export async function edit(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  if (message.viewerCanEdit) edited.set({ id: message.id, content: message.content });
  else notify('You do not have permission to edit this message.');
}

export function star(client: Client, id: string, isStarred: boolean): void {
  const operation = isStarred ? 'ADD' : 'REMOVE';
  void act(client, SetFlagDocument, { input: { messageIds: [id], flag: 'STARRED', operation } });
}

/** Returns the narrow (message filter) that matches the messages of the same topic or conversation. */
export const placeOf = ({ channel, topicName, participants }: Acted): MessageNarrowInput =>
  channel === null
    ? { directWith: participants?.map(({ id }) => id) ?? [] }
    : { channel: { id: channel.id }, topicNamed: topicName };

/**
 * Marks a message and the later messages of its topic or conversation as unread. While the messages are on the screen, the page
 * does not mark them as read again.
 */
export async function markUnread(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  markUnreadFrom(message.id);
  const isDone = await markUnreadSince(client, placeOf(message), message.id);
  if (isDone) notify('All messages from here on are unread.');
}

/** Copies the URL of a message to the clipboard. The URL stays valid if the message is moved. */
export async function copyLink(messageId: string): Promise<void> {
  const link = location.origin + addressOf({ name: 'message', messageId });
  notify((await copyText(link)) ? 'The link was copied.' : `The link could not be copied: ${link}`);
}

/** Copies the text of a message, in Markdown, to the clipboard. */
export async function copyContent(content: string): Promise<void> {
  notify((await copyText(content)) ? 'The text was copied.' : 'The text could not be copied.');
}

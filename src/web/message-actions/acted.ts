import type { Client } from 'urql';
import { act } from '../api/act.ts';
import { createStore } from '../api/store.ts';
import {
  type ActedMessageFragment,
  MarkInNarrowDocument,
  MessageActionsDocument,
  type MessageNarrowInput,
  SetFlagDocument,
} from '../generated/graphql.ts';
import { markUnreadFrom } from '../messages/unread-from.ts';
import { addressOf } from '../routing/routes.ts';
import { notify } from '../ui/notices.tsx';

export type Acted = ActedMessageFragment;

/** The message that is being edited in its place. */
export const edited = createStore<{ readonly id: string; readonly content: string } | undefined>(undefined);

/** A message with what the viewer may do with it, read anew: that changes as time goes by. */
export async function readActed(client: Client, messageId: string): Promise<Acted | null> {
  const { data, error } = await client
    .query(MessageActionsDocument, { messageId }, { requestPolicy: 'network-only' })
    .toPromise();
  if (error !== undefined) notify('The message could not be read. Try again in a moment.');
  else if (data?.message === null) notify('The message is gone.');
  return data?.message ?? null;
}

/** Begins to edit a message where it stands; says so where the viewer may not. */
export async function edit(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  if (message.viewerCanEdit) edited.set({ id: message.id, content: message.content });
  else notify('You may not edit this message.');
}

export function star(client: Client, id: string, isStarred: boolean): void {
  const operation = isStarred ? 'ADD' : 'REMOVE';
  void act(client, SetFlagDocument, { input: { messageIds: [id], flag: 'STARRED', operation } });
}

/** As many as one mutation marks. */
const AT_ONCE = 5_000;

/** The place a message stands in: its topic, or its conversation. */
export const placeOf = ({ channel, topicName, participants }: Acted): MessageNarrowInput =>
  channel === null
    ? { directWith: participants?.map(({ id }) => id) ?? [] }
    : { channel: { id: channel.id }, topic: topicName };

/** Marks a message and all that follow it in its place as unread; what is shown is not marked as read again meanwhile. */
export async function markUnread(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  markUnreadFrom(message.id);
  const narrow = placeOf(message);
  const range = { anchor: { messageId: message.id }, numBefore: 0, numAfter: AT_ONCE };
  const input = { ...range, narrow, flag: 'READ', operation: 'REMOVE' } as const;
  if ((await act(client, MarkInNarrowDocument, { input })) !== undefined) notify('Marked as unread from here on.');
}

/** Puts the address of a message on the clipboard: it leads there wherever the message is moved. */
export async function copyLink(messageId: string): Promise<void> {
  const link = location.origin + addressOf({ name: 'message', messageId });
  const isCopied = await navigator.clipboard?.writeText(link).then(
    () => true,
    () => false,
  );
  // Without a secure connection there is no clipboard for pages.
  notify(isCopied === true ? 'The link is copied.' : `The link is ${link}`);
}

import type { Client } from 'urql';
import { NEWEST } from '../api/narrow.ts';
import { MarkInNarrowDocument, type MessageAnchor, type MessageNarrowInput } from '../generated/graphql.ts';
import { act } from '../ui/act.ts';

/** Maximum number of messages that one mutation changes. Further messages are changed by further mutations. */
const AT_ONCE = 5_000;

/** Marks all unread messages of a narrow (message filter) as read, the newest first. @returns Whether all are marked. */
export const markNarrowAsRead = (client: Client, narrow: MessageNarrowInput): Promise<boolean> =>
  markAll(client, { ...narrow, is: [...(narrow.is ?? []), 'UNREAD'] }, NEWEST, 'ADD');

/** Marks a message and all later ones of a narrow as unread. @returns Whether all are marked. */
export const markUnreadSince = (client: Client, narrow: MessageNarrowInput, messageId: string): Promise<boolean> =>
  markAll(client, narrow, { messageId }, 'REMOVE');

/**
 * Adds the read flag to the messages of a narrow up to an anchor, or removes it from those after an anchor, with as many
 * mutations as needed. If one of them fails, shows a notice with the reason.
 */
async function markAll(
  client: Client,
  narrow: MessageNarrowInput,
  from: MessageAnchor,
  operation: 'ADD' | 'REMOVE',
): Promise<boolean> {
  const isBack = operation === 'ADD';
  const range = isBack ? { countBefore: AT_ONCE, countAfter: 0 } : { countBefore: 0, countAfter: AT_ONCE };
  let anchor = from;
  for (;;) {
    const done = await act(client, MarkInNarrowDocument, {
      input: { ...range, anchor, narrow, flag: 'READ', operation },
    });
    const result = done?.updateMessageFlagsInNarrow;
    if (result?.__typename !== 'UpdateMessageFlagsInNarrowPayload') return false;
    if ((isBack ? result.foundOldest : result.foundNewest) === true) return true;
    const last = isBack ? result.firstProcessed : result.lastProcessed;
    if (last !== null) anchor = { messageId: last.id };
  }
}

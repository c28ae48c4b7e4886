import { createStore } from '../api/store.ts';

/**
 * The message from which the viewer has marked messages as unread. While it is set, messages on the screen are not marked as
 * read. It is cleared when the viewer leaves the list.
 */
export const unreadFrom = createStore<string | undefined>(undefined);

export const markUnreadFrom = (messageId: string): void => unreadFrom.set(messageId);

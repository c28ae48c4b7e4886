import { createStore } from '../base/store.ts';

/**
 * ID of the first message that the viewer has marked as unread. While it is set, messages on the screen are not marked as
 * read. It is cleared when the viewer leaves the list.
 */
export const unreadFrom = createStore<string | undefined>(undefined);

export const markUnreadFrom = (messageId: string): void => unreadFrom.set(messageId);

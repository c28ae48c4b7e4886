import { createStore } from '../api/store.ts';

/**
 * The message from which on somebody marked all as unread: as long as they stay where they are, being on the screen does
 * not make anything read again.
 */
export const unreadFrom = createStore<string | undefined>(undefined);

export const markUnreadFrom = (messageId: string): void => unreadFrom.set(messageId);

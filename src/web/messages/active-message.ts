import type { FocusEvent, PointerEvent } from 'react';
import { createStore } from '../base/store.ts';
import type { MessageRowFragment } from '../generated/graphql.ts';

/** ID of the active message: the message that was last focused or pointed at. Only this message renders its actions. */
export const activeMessage = createStore<string | undefined>(undefined);

/** The messages that the list on the screen has loaded, oldest first. */
export const shownMessages = createStore<readonly MessageRowFragment[]>([]);

const idOf = (target: EventTarget | null): string | undefined =>
  target instanceof Element ? target.closest<HTMLElement>('article[data-id]')?.dataset['id'] : undefined;

/** Returns the element of the message that has, or contains, the focus. Null if there is none. */
export const focusedMessage = (): HTMLElement | null =>
  document.activeElement?.closest<HTMLElement>('article[data-id]') ?? null;

/**
 * Returns the element of the message that a shortcut applies to: the focused message, or else the active message. Null if there
 * is none.
 */
export function targetMessage(): HTMLElement | null {
  const id = activeMessage.get();
  return focusedMessage() ?? (id === undefined ? null : document.querySelector(`article[data-id="${CSS.escape(id)}"]`));
}

/** Event handlers of a message list that set the active message. */
export const activeMessageHandlers = {
  onPointerOver({ target, pointerType }: PointerEvent): void {
    const id = idOf(target);
    if (id !== undefined && pointerType === 'mouse') activeMessage.set(id);
  },
  onPointerLeave({ pointerType }: PointerEvent): void {
    if (pointerType === 'mouse') activeMessage.set(idOf(focusedMessage()));
  },
  onFocus({ target }: FocusEvent): void {
    const id = idOf(target);
    if (id !== undefined) activeMessage.set(id);
  },
};

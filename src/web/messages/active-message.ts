import type { FocusEvent, PointerEvent } from 'react';
import { createStore } from '../api/store.ts';
import type { MessageRowFragment } from '../generated/graphql.ts';

/** The message whose actions are at hand: the one with the focus or else under the pointer. One alone draws them. */
export const activeMessage = createStore<string | undefined>(undefined);

/** The messages of the list that is shown. */
export const shownMessages = createStore<readonly MessageRowFragment[]>([]);

const idOf = (target: EventTarget | null): string | undefined =>
  target instanceof Element ? target.closest<HTMLElement>('article[data-id]')?.dataset['id'] : undefined;

/** The message that has the focus. */
export const focusedMessage = (): HTMLElement | null =>
  document.activeElement?.closest<HTMLElement>('article[data-id]') ?? null;

/** The message that a key is meant for: the one with the focus, or the one under the pointer. */
export function targetMessage(): HTMLElement | null {
  const id = activeMessage.get();
  return focusedMessage() ?? (id === undefined ? null : document.querySelector(`article[data-id="${CSS.escape(id)}"]`));
}

/** What a list of messages listens to, so that it is known which one is active. */
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

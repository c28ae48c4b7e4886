import { lazy, useEffect } from 'react';
import { type Client, useClient } from 'urql';
import { focusedMessage } from '../messages/active-message.ts';
import { openJump, openSearch } from '../search/open-search.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { focusComposer, focusList } from './focus.ts';
import { goToNextUnread, markPlaceAsRead, walkSidebar } from './go.ts';
import { isKey, SHORTCUTS, writesNothing } from './keys.ts';
import { MESSAGE_ACTIONS, targeted } from './message-keys.tsx';
import { goToSection } from './sections.ts';

const HelpDialog = lazy(() => import('./help-dialog.tsx').then((module) => ({ default: module.HelpDialog })));

/** Shows what the keys do. */
export const openHelp = (): void => openDialog(<HelpDialog />);

type Everywhere = keyof (typeof SHORTCUTS)['everywhere'];

/** What the keys of `SHORTCUTS.everywhere` do; `false` where there is nothing to do, so that the key is the browser's. */
const ACTIONS: Readonly<Record<Everywhere, (client: Client) => unknown>> = {
  help: openHelp,
  search: () => openSearch(),
  jump: openJump,
  nextUnread: (client) => void goToNextUnread(client),
  markRead: (client) => void markPlaceAsRead(client),
  placeBelow: () => walkSidebar(1, { unread: false }),
  placeAbove: () => walkSidebar(-1, { unread: false }),
  unreadBelow: () => walkSidebar(1, { unread: true }),
  unreadAbove: () => walkSidebar(-1, { unread: true }),
  nextSection: () => goToSection(1),
  sectionBefore: () => goToSection(-1),
  back: () => focusList(),
};

/** Hears the keys of `SHORTCUTS` that are for no single part of the page, unless that has taken them for itself. */
export function useKeyboard(): void {
  const client = useClient();
  useEffect(() => {
    const stop = new AbortController();
    const hear = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      // Before all that takes longer: most keys are of somebody who writes.
      if (isWriting(event.target) && !writesNothing(event)) return;
      if (isSomethingAbove()) return;
      if (act(client, event)) event.preventDefault();
    };
    addEventListener('keydown', hear, stop);
    return () => stop.abort();
  }, [client]);
}

/** @returns Whether the key does something. */
function act(client: Client, event: KeyboardEvent): boolean {
  for (const [name, shortcut] of Object.entries(SHORTCUTS.everywhere)) {
    if (!isKey(shortcut, event)) continue;
    return ACTIONS[name as Everywhere](client) !== false;
  }
  if (isWriting(event.target)) return false;
  for (const [name, shortcut] of Object.entries(SHORTCUTS.message)) {
    if (!isKey(shortcut, event)) continue;
    const one = targeted();
    if (one !== undefined) MESSAGE_ACTIONS[name as keyof typeof MESSAGE_ACTIONS](client, one);
    else if (name === 'reply') focusComposer();
    return one !== undefined || name === 'reply';
  }
  return isForList(event) && focusList();
}

/** Whoever is elsewhere comes into the list: with its letters from everywhere, with arrows, which scroll, from nowhere. */
function isForList(event: KeyboardEvent): boolean {
  const { next, before } = SHORTCUTS.list;
  if (!(isKey(next, event) || isKey(before, event)) || focusedMessage() !== null) return false;
  return event.key.length === 1 || document.activeElement === document.body || document.activeElement?.id === 'main';
}

/** A dialog, a menu or a picker has the keys for itself. */
const isSomethingAbove = (): boolean => document.querySelector('dialog[open], :popover-open') !== null;

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('textarea, select, input:not([type="checkbox"], [type="radio"])'));

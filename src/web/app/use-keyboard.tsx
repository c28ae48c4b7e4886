import { useEffect } from 'react';
import { type Client, useClient } from 'urql';
import { focusComposer, focusList } from '../keyboard/focus.ts';
import { isForInputMethod } from '../keyboard/input-method.ts';
import { isKey, SHORTCUTS, writesNothing } from '../keyboard/keys.ts';
import { goToSection } from '../keyboard/sections.ts';
import { focusedMessage } from '../messages/active-message.ts';
import { openJump, openSearch } from '../search/open-search.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { lazyDialog } from '../ui/lazy-dialog.tsx';
import { goToNextUnread, markPlaceAsRead, walkSidebar } from './go.ts';
import { editLast, MESSAGE_ACTIONS, targeted } from './message-keys.tsx';

const HelpDialog = lazyDialog(async () => (await import('../keyboard/help-dialog.tsx')).HelpDialog);

/** Opens the dialog with all keyboard shortcuts. */
export const openHelp = (): void => openDialog(<HelpDialog />);

type Everywhere = keyof (typeof SHORTCUTS)['everywhere'];

/**
 * The actions of the shortcuts in `SHORTCUTS.everywhere`. An action returns `false` if it does nothing, so that the browser
 * handles the key.
 */
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
  editLast,
  back: () => focusList(),
};

/** Handles the shortcuts that apply to the whole page, unless a part of the page has already handled the key. */
export function useKeyboard(): void {
  const client = useClient();
  useEffect(() => {
    const stop = new AbortController();
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isForInputMethod(event)) return;
      // This check is first because it is cheap, and most keys are typed text.
      if (isWriting(event.target) && !writesNothing(event)) return;
      if (isSomethingAbove()) return;
      if (act(client, event)) event.preventDefault();
    };
    addEventListener('keydown', onKeyDown, stop);
    return () => stop.abort();
  }, [client]);
}

/** Runs the action of a key. @returns False if the key has no action, or if its action does nothing. */
function act(client: Client, event: KeyboardEvent): boolean {
  for (const [name, shortcut] of Object.entries(SHORTCUTS.everywhere)) {
    if (isKey(shortcut, event) && ACTIONS[name as Everywhere](client) !== false) return true;
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

/**
 * Returns whether a key moves the focus into the message list. Letter keys do so wherever the focus is. The other keys also
 * scroll, so they move the focus only if the main area or no element at all has the focus.
 */
function isForList(event: KeyboardEvent): boolean {
  const { next, before } = SHORTCUTS.list;
  if (!(isKey(next, event) || isKey(before, event)) || focusedMessage() !== null) return false;
  return event.key.length === 1 || document.activeElement === document.body || document.activeElement?.id === 'main';
}

/** Returns whether a dialog, a menu or a picker is open. An open dialog, menu or picker handles all keys itself. */
const isSomethingAbove = (): boolean => document.querySelector('dialog[open], :popover-open') !== null;

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('textarea, select, [role="combobox"], input:not([type="checkbox"], [type="radio"])'));

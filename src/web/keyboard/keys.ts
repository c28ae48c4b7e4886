/** A keyboard shortcut, for its handler and for the help dialog. */
export interface Shortcut {
  /**
   * Keys of the shortcut in the format of `aria-keyshortcuts`. `Mod` is the Command key on Apple devices, and the Control key
   * elsewhere.
   */
  readonly keys: readonly string[];
  /** Description in the help dialog. */
  readonly does: string;
}

/**
 * All shortcuts of the page, by the part of the page in which they work. Shortcuts with a single character are ignored in text
 * fields. While a dialog or a menu is open, all shortcuts are ignored, because the dialog or menu handles keys itself.
 */
export const SHORTCUTS = {
  everywhere: {
    help: { keys: ['?'], does: 'Show keyboard shortcuts' },
    search: { keys: ['/'], does: 'Search messages' },
    jump: { keys: ['Mod+K'], does: 'Jump to a channel, a person or a view' },
    nextUnread: { keys: ['n'], does: 'Go to the next unread topic or conversation' },
    markRead: { keys: ['Shift+M'], does: 'Mark the current view as read' },
    placeBelow: { keys: ['Alt+ArrowDown'], does: 'Next entry in the sidebar' },
    placeAbove: { keys: ['Alt+ArrowUp'], does: 'Previous entry in the sidebar' },
    unreadBelow: { keys: ['Alt+Shift+ArrowDown'], does: 'Next unread entry in the sidebar' },
    unreadAbove: { keys: ['Alt+Shift+ArrowUp'], does: 'Previous unread entry in the sidebar' },
    nextSection: { keys: ['F6'], does: 'Next section of the page' },
    sectionBefore: { keys: ['Shift+F6'], does: 'Previous section of the page' },
    editLast: { keys: ['ArrowUp'], does: 'Edit your last message, from the empty message field' },
    back: { keys: ['Escape'], does: 'Return from the message field, or from within a message, to the list' },
  },
  list: {
    next: { keys: ['ArrowDown', 'j', 'PageDown'], does: 'Next message' },
    before: { keys: ['ArrowUp', 'k', 'PageUp'], does: 'Previous message' },
    first: { keys: ['Home'], does: 'First loaded message' },
    last: { keys: ['End'], does: 'Last message' },
    into: { keys: ['Enter'], does: 'Enter the message: ArrowLeft and ArrowRight move through its links and buttons' },
    seekBack: { keys: ['Shift+ArrowLeft'], does: 'In a player within a message: 5 seconds back' },
    seek: { keys: ['Shift+ArrowRight'], does: 'In a player within a message: 5 seconds forward' },
  },
  message: {
    reply: { keys: ['r'], does: 'Reply' },
    quote: { keys: ['>'], does: 'Quote and reply' },
    edit: { keys: ['e'], does: 'Edit your message' },
    star: { keys: ['s'], does: 'Star or unstar the message' },
    react: { keys: ['+', ':'], does: 'Add a reaction' },
    sender: { keys: ['u'], does: 'Show the profile of the sender' },
    move: { keys: ['m'], does: 'Move the message to another topic' },
    show: { keys: ['v'], does: 'View the message in context' },
    unreadFrom: { keys: ['Shift+U'], does: 'Mark as unread from here' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Shortcut>>>>;

type Shortcuts = typeof SHORTCUTS;
export type Action = { [G in keyof Shortcuts]: keyof Shortcuts[G] }[keyof Shortcuts];

/** A pressed key with its modifiers. */
type Pressed = Pick<KeyboardEvent, 'key' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>;

/** Returns whether a pressed key, with its modifiers, is one of the keys of a shortcut. */
export const isKey = ({ keys }: Shortcut, pressed: Pressed): boolean => keys.some((key) => isOne(key, pressed));

function isOne(key: string, { key: pressed, altKey, ctrlKey, metaKey, shiftKey }: Pressed): boolean {
  const parts = key.split(/(?<=.)\+/);
  const name = parts.at(-1) ?? '';
  if (altKey !== parts.includes('Alt') || (ctrlKey || metaKey) !== parts.includes('Mod')) return false;
  // For characters that are not letters, such as `?`, the Shift key is ignored, because only some keyboards need it to type
  // them.
  const isSign = name.length === 1 && !/\p{L}/u.test(name);
  if (!isSign && shiftKey !== parts.includes('Shift')) return false;
  return name.length === 1 ? pressed.toLowerCase() === name.toLowerCase() : pressed === name;
}

/** Returns whether a key enters no text, so that shortcuts can use it in text fields. */
export const writesNothing = ({ key, ctrlKey, metaKey, altKey }: Pressed): boolean =>
  key.length > 1 || ctrlKey || metaKey || altKey;

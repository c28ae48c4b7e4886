/** What a key does: once, for what hears it and for the help that tells of it. */
export interface Shortcut {
  /** As `aria-keyshortcuts` has them; `Mod` is the Command key on Apple's machines, and the Control key elsewhere. */
  readonly keys: readonly string[];
  /** What it does, for whoever reads the help. */
  readonly does: string;
}

/**
 * All keys of the page, by where they work. Those with a character alone do nothing where somebody writes, and none is
 * heard while a dialog or a menu is open, which have their own.
 */
export const SHORTCUTS = {
  everywhere: {
    help: { keys: ['?'], does: 'Show these keys' },
    search: { keys: ['/'], does: 'Search messages' },
    jump: { keys: ['Mod+K'], does: 'Jump to a channel, a person or a view' },
    nextUnread: { keys: ['n'], does: 'Go to the next unread topic or conversation' },
    markRead: { keys: ['Shift+M'], does: 'Mark the open place as read' },
    placeBelow: { keys: ['Alt+ArrowDown'], does: 'Next place in the sidebar' },
    placeAbove: { keys: ['Alt+ArrowUp'], does: 'Place before it in the sidebar' },
    unreadBelow: { keys: ['Alt+Shift+ArrowDown'], does: 'Next unread place in the sidebar' },
    unreadAbove: { keys: ['Alt+Shift+ArrowUp'], does: 'Unread place before it in the sidebar' },
    nextSection: { keys: ['F6'], does: 'Next section of the page' },
    sectionBefore: { keys: ['Shift+F6'], does: 'Section before it' },
    back: { keys: ['Escape'], does: 'Back from where you write, or from within a message, to the list' },
  },
  list: {
    next: { keys: ['ArrowDown', 'j', 'PageDown'], does: 'Next message' },
    before: { keys: ['ArrowUp', 'k', 'PageUp'], does: 'Message before it' },
    first: { keys: ['Home'], does: 'First message that is shown' },
    last: { keys: ['End'], does: 'Last message' },
    into: { keys: ['Enter'], does: 'Into the message: ArrowLeft and ArrowRight go through its links and buttons' },
  },
  message: {
    reply: { keys: ['r'], does: 'Reply' },
    edit: { keys: ['e'], does: 'Edit your message' },
    star: { keys: ['s'], does: 'Star it, or take the star away' },
    react: { keys: ['+', ':'], does: 'Add a reaction' },
    sender: { keys: ['u'], does: 'Show who wrote it' },
    move: { keys: ['m'], does: 'Move it to another topic' },
    show: { keys: ['v'], does: 'Show it in its place' },
    unreadFrom: { keys: ['Shift+U'], does: 'Mark as unread from here' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Shortcut>>>>;

type Shortcuts = typeof SHORTCUTS;
export type Action = { [G in keyof Shortcuts]: keyof Shortcuts[G] }[keyof Shortcuts];

/** A key as it is pressed. */
type Pressed = Pick<KeyboardEvent, 'key' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>;

/** Whether a key that is pressed is one of these. */
export const isKey = ({ keys }: Shortcut, pressed: Pressed): boolean => keys.some((key) => isOne(key, pressed));

function isOne(key: string, { key: pressed, altKey, ctrlKey, metaKey, shiftKey }: Pressed): boolean {
  const parts = key.split(/(?<=.)\+/);
  const name = parts.at(-1) ?? '';
  if (altKey !== parts.includes('Alt') || (ctrlKey || metaKey) !== parts.includes('Mod')) return false;
  // Which characters need the Shift key, keyboards differ in.
  const isSign = name.length === 1 && !/\p{L}/u.test(name);
  if (!isSign && shiftKey !== parts.includes('Shift')) return false;
  return name.length === 1 ? pressed.toLowerCase() === name.toLowerCase() : pressed === name;
}

/** Whether keys of the page are for somebody who writes here: those that write nothing. */
export const writesNothing = ({ key, ctrlKey, metaKey, altKey }: Pressed): boolean =>
  key.length > 1 || ctrlKey || metaKey || altKey;

import { type KeyboardEvent, useEffect, useRef } from 'react';
import { Icon, type IconName } from './icons.tsx';
import { closePopup } from './popup.tsx';

export interface MenuItem {
  /** Unique key of the item. Required if another item of the menu has the same label. */
  readonly id?: string;
  readonly label: string;
  readonly icon: IconName;
  /** Keyboard shortcut of the item. */
  readonly keys?: string;
  readonly isDangerous?: boolean;
  readonly onChoose: () => void;
}

interface Props {
  readonly label: string;
  /** Groups of items; undefined until they are loaded. */
  readonly groups: readonly (readonly MenuItem[])[] | undefined;
}

/**
 * Menu within a popup. Arrows move the focus through the items. A letter moves the focus to the next item whose label begins
 * with the letter.
 */
export function Menu({ label, groups }: Props) {
  const menu = useRef<HTMLDivElement>(null);
  const isKnown = groups !== undefined;
  useEffect(() => {
    if (isKnown) itemsOf(menu.current)[0]?.focus();
  }, [isKnown]);
  const shown = groups?.filter((items) => items.length > 0) ?? [];
  return (
    <div
      className="menu"
      role="menu"
      aria-label={label}
      aria-busy={!isKnown}
      ref={menu}
      onKeyDown={onKeyDown}
      tabIndex={-1}
    >
      {!isKnown && <span className="menu-waiting">…</span>}
      {shown.map((items, i) => [
        i > 0 && <hr key={`before ${items[0]?.label}`} className="menu-line" />,
        ...items.map((item) => <Item key={item.id ?? item.label} item={item} />),
      ])}
    </div>
  );
}

function Item({ item: { label, icon, keys, isDangerous = false, onChoose } }: { readonly item: MenuItem }) {
  const choose = () => {
    closePopup();
    onChoose();
  };
  return (
    <button
      type="button"
      role="menuitem"
      aria-keyshortcuts={keys}
      className="menu-item"
      tabIndex={-1}
      data-danger={isDangerous}
      onClick={choose}
    >
      <Icon name={icon} size={16} />
      <span>{label}</span>
      {keys !== undefined && (
        // biome-ignore lint/a11y/noAriaHiddenOnFocusable: `<kbd>` takes no focus; `aria-keyshortcuts` describes the shortcut.
        <kbd className="key" aria-hidden="true">
          {keys}
        </kbd>
      )}
    </button>
  );
}

const itemsOf = (menu: HTMLElement | null): HTMLElement[] => [
  ...(menu?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? []),
];

function onKeyDown(event: KeyboardEvent<HTMLElement>): void {
  const items = itemsOf(event.currentTarget);
  const here = items.indexOf(document.activeElement as HTMLElement);
  const next = nextOf(event.key, items, here);
  if (event.key === 'Tab') closePopup();
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
}

function nextOf(key: string, items: readonly HTMLElement[], here: number): HTMLElement | undefined {
  if (key === 'ArrowDown') return items[(here + 1) % items.length];
  if (key === 'ArrowUp') return items.at(here - 1);
  if (key === 'Home') return items[0];
  if (key === 'End') return items.at(-1);
  if (key.length !== 1 || key === ' ') return undefined;
  const after = [...items.slice(here + 1), ...items.slice(0, here + 1)];
  return after.find(({ textContent }) => textContent?.toLowerCase().startsWith(key.toLowerCase()));
}

import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { createPortal } from 'react-dom';
import { createStore, useStore } from '../base/store.ts';
import { Broken } from './broken.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import './popup.css';

interface Opened {
  readonly key: number;
  readonly anchor: Element;
  readonly content: ReactNode;
}

const opened = createStore<Opened | undefined>(undefined);
let last = 0;

/** Opens a popup beside an element, and closes the previous one. Escape and a click outside of the popup close it. */
export function openPopup(anchor: Element, content: ReactNode): void {
  closePopup();
  last += 1;
  opened.set({ key: last, anchor, content });
}

/** Closes the popup, if one is open. The focus returns to the element that had the focus before. */
export function closePopup(): void {
  document.querySelector<HTMLElement>('.popup:popover-open')?.hidePopover();
  opened.set(undefined);
}

/** Renders the popup: within the dialog in which it was opened, or else on the page. Mounted once. */
export function Popups() {
  const current = useStore(opened);
  if (current === undefined) return null;
  return createPortal(
    <Popup
      key={current.key}
      anchor={current.anchor}
      content={<ErrorBoundary fallback={(retry) => <Broken retry={retry} />}>{current.content}</ErrorBoundary>}
    />,
    current.anchor.closest('dialog') ?? document.body,
  );
}

function Popup({ anchor, content }: Omit<Opened, 'key'>) {
  const popup = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = popup.current;
    if (element === null) return undefined;
    element.showPopover();
    // If the anchor disappears, the popup stays where it is.
    const put = () => anchor.isConnected && placeBeside(element, anchor);
    put();
    (element.querySelector<HTMLElement>('[data-autofocus]') ?? element).focus({ preventScroll: true });
    const observer = new ResizeObserver(put);
    observer.observe(element);
    return () => observer.disconnect();
  }, [anchor]);
  return (
    <div
      className="popup"
      ref={popup}
      popover="auto"
      tabIndex={-1}
      onToggle={({ newState }) => newState === 'closed' && opened.set(undefined)}
    >
      {content}
    </div>
  );
}

/** Minimum distance between a popup and the edges of the window, in pixels. */
const MARGIN = 8;

/**
 * Places a popup below an element, or above the element if there is more space.
 *
 * @param edge The edges of popup and element that are aligned: the left ones (`start`) or the right ones (`end`). The popup is
 *   moved if it would leave the window.
 */
export function placeBeside(popup: HTMLElement, anchor: Element, edge: 'start' | 'end' = 'end'): void {
  const { top, bottom, left, right } = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popup;
  const isBelow = bottom + height + MARGIN < innerHeight || top < innerHeight - bottom;
  const y = isBelow ? bottom + 4 : top - height - 4;
  const within = (value: number, size: number, room: number) => Math.max(MARGIN, Math.min(value, room - size - MARGIN));
  popup.style.setProperty('--popup-top', `${within(y, height, innerHeight)}px`);
  popup.style.setProperty('--popup-left', `${within(edge === 'end' ? right - width : left, width, innerWidth)}px`);
}

import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { createPortal } from 'react-dom';
import { createStore, useStore } from '../api/store.ts';
import './popup.css';

interface Opened {
  readonly key: number;
  readonly anchor: Element;
  readonly content: ReactNode;
}

const opened = createStore<Opened | undefined>(undefined);
let last = 0;

/** Shows something small beside an element, in place of what else is shown so. Escape and a click elsewhere close it. */
export function openPopup(anchor: Element, content: ReactNode): void {
  closePopup();
  last += 1;
  opened.set({ key: last, anchor, content });
}

/** Closes it; the focus is where it was before. */
export function closePopup(): void {
  document.querySelector<HTMLElement>('.popup:popover-open')?.hidePopover();
  opened.set(undefined);
}

/** Where it is: once on the page; above a dialog, where it was opened in one. */
export function Popups() {
  const current = useStore(opened);
  if (current === undefined) return null;
  return createPortal(
    <Popup key={current.key} anchor={current.anchor} content={current.content} />,
    current.anchor.closest('dialog') ?? document.body,
  );
}

function Popup({ anchor, content }: Omit<Opened, 'key'>) {
  const popup = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = popup.current;
    if (element === null) return undefined;
    element.showPopover();
    // Where what it stands beside goes, it stays.
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

/** How far it stays from the edges of the window, in pixels. */
const MARGIN = 8;

/** Below the element, or above it where there is more room; its end at the element's end, as far as it fits. */
function placeBeside(popup: HTMLElement, anchor: Element): void {
  const { top, bottom, right } = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popup;
  const isBelow = bottom + height + MARGIN < innerHeight || top < innerHeight - bottom;
  const y = isBelow ? bottom + 4 : top - height - 4;
  const within = (value: number, size: number, room: number) => Math.max(MARGIN, Math.min(value, room - size - MARGIN));
  popup.style.setProperty('--popup-top', `${within(y, height, innerHeight)}px`);
  popup.style.setProperty('--popup-left', `${within(right - width, width, innerWidth)}px`);
}

import { createContext, type ReactNode, use, useId, useLayoutEffect, useRef } from 'react';
import { createStore, useStore } from '../base/store.ts';
import { Announcer } from './announcer.tsx';
import { Broken } from './broken.tsx';
import { IconButton } from './button.tsx';
import './dialog.css';
import { ErrorBoundary } from './error-boundary.tsx';
import { Notices } from './notices.tsx';

interface Opened {
  readonly key: number;
  readonly content: ReactNode;
}

const opened = createStore<readonly Opened[]>([]);
let last = 0;

/** Opens a dialog above the page and all other dialogs. @param content A component that renders a `Dialog`. */
export function openDialog(content: ReactNode): void {
  last += 1;
  opened.set([...opened.get(), { key: last, content }]);
}

/** Closes all dialogs, so that the page below them is visible. */
export const closeDialogs = (): void => opened.set([]);

const Close = createContext<() => void>(() => undefined);

/** Returns a function that closes the dialog around the component. */
export const useClose = (): (() => void) => use(Close);

/** Renders the open dialogs. Mounted once on the page. */
export function Dialogs() {
  return useStore(opened).map(({ key, content }) => (
    <Close key={key} value={() => opened.set(opened.get().filter((one) => one.key !== key))}>
      <ErrorBoundary
        fallback={(retry) => (
          <Dialog title="Error">
            <Broken retry={retry} />
          </Dialog>
        )}
      >
        {content}
      </ErrorBoundary>
    </Close>
  ));
}

interface Props {
  readonly title: string;
  readonly children: ReactNode;
  readonly size?: 'small' | 'wide';
}

/**
 * A modal dialog. The browser keeps the focus in the dialog, and restores the previous focus afterwards. At first the title has
 * the focus, or an element with `data-autofocus` if there is one. Escape and a click outside of the dialog close it.
 */
export function Dialog({ title, children, size = 'small' }: Props) {
  const close = useClose();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    const start = element?.querySelector<HTMLElement>('[data-autofocus]') ?? element?.querySelector('h2');
    start?.focus();
    return () => element?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog from the keyboard.
    <dialog
      ref={dialog}
      className={`dialog dialog-${size}`}
      aria-labelledby={id}
      onClose={close}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <div className="dialog-inside">
        <header className="dialog-head">
          <h2 id={id} tabIndex={-1}>
            {title}
          </h2>
          <IconButton icon="close" label="Close" onClick={close} />
        </header>
        {children}
      </div>
      <Notices />
      <Announcer />
    </dialog>
  );
}

import { createContext, type ReactNode, Suspense, use, useId, useLayoutEffect, useRef } from 'react';
import { createStore, useStore } from '../api/store.ts';
import { Announcer } from './announcer.tsx';
import { IconButton } from './button.tsx';
import './dialog.css';
import { Notices } from './notices.tsx';

interface Opened {
  readonly key: number;
  readonly content: ReactNode;
}

const opened = createStore<readonly Opened[]>([]);
let last = 0;

/** Shows a dialog above all else, also above another one. @param content A component that draws a `Dialog`. */
export function openDialog(content: ReactNode): void {
  last += 1;
  opened.set([...opened.get(), { key: last, content }]);
}

/** Closes every dialog: what is shown below them is to be seen. */
export const closeDialogs = (): void => opened.set([]);

const Close = createContext<() => void>(() => undefined);

/** What closes the dialog that a component stands in. */
export const useClose = (): (() => void) => use(Close);

/** Where dialogs are: once on the page. */
export function Dialogs() {
  return useStore(opened).map(({ key, content }) => (
    <Close key={key} value={() => opened.set(opened.get().filter((one) => one.key !== key))}>
      <Suspense fallback={null}>{content}</Suspense>
    </Close>
  ));
}

interface Props {
  readonly title: string;
  readonly children: ReactNode;
  readonly size?: 'small' | 'wide';
}

/**
 * A modal dialog: the browser keeps the focus in it, and gives it back to where it was. It begins at its title, unless
 * something in it is marked `data-autofocus`. Escape and a click beside it close it.
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
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does for the keyboard what a click beside it does.
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

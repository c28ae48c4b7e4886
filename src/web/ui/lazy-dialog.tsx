import type { ComponentType, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { lazily } from './lazily.tsx';
import { reloadPage } from './reload.ts';

const Frame = ({ children }: { readonly children: ReactNode }) => <Dialog title="Loading failed">{children}</Dialog>;

/** Wraps a dialog whose chunk is loaded when the dialog is first opened. */
export const lazyDialog = <P extends object>(importDialog: () => Promise<ComponentType<P>>): ComponentType<P> =>
  lazily(importDialog, {
    Frame,
    isHiddenAtFirst: true,
    // A reload would lose edits behind the dialog, so the page reloads only on request.
    onGone: (isAsked) => isAsked && void reloadPage(),
  });

import type { ComponentType, ReactNode } from 'react';
import { Header } from '../ui/header.tsx';
import { lazily } from '../ui/lazily.tsx';
import { reloadOnce, reloadPage } from '../ui/reload.ts';

interface ViewProps {
  readonly menu: ReactNode;
}

/** Wraps a view whose chunk is loaded when the view is first shown. @param title Heading until the chunk is loaded. */
export const lazyView = <P extends ViewProps>(
  title: string,
  importView: () => Promise<ComponentType<P>>,
): ComponentType<P> =>
  lazily(importView, {
    Frame: ({ menu, children }) => (
      <>
        <Header menu={menu} title={title} />
        {children}
      </>
    ),
    // An upgrade of the service has renamed the chunk. After a reload, the new version of the page shows the same view.
    onGone: (isAsked) => void (isAsked ? reloadPage() : reloadOnce()),
  });

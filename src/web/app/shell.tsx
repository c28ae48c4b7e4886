import { useEffect, useRef, useState } from 'react';
import { PermissionBar } from '../notifications/permission-bar.tsx';
import { Link, useVisits } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { SignOut } from '../session/sign-out.tsx';
import { Sidebar } from '../sidebar/sidebar.tsx';
import { Broken } from '../ui/broken.tsx';
import { IconButton } from '../ui/button.tsx';
import { Dialogs } from '../ui/dialog.tsx';
import { ErrorBoundary } from '../ui/error-boundary.tsx';
import { Icon } from '../ui/icons.tsx';
import { Notices } from '../ui/notices.tsx';
import { Popups } from '../ui/popup.tsx';
import { ConnectionStatus } from './connection-status.tsx';
import { MainView } from './main-view.tsx';
import { Outdated } from './outdated.tsx';
import { PageTitle } from './page-title.tsx';
import { openHelp, useKeyboard } from './use-keyboard.tsx';
import './shell.css';
import { ThemeSwitch } from './theme-switch.tsx';
import { useAppearance } from './use-appearance.ts';
import { useOnePane } from './use-one-pane.ts';
import { useViewport } from './use-viewport.ts';

/**
 * The sidebar beside the main view. Narrow screens show only one of them. A button in the main view leads back to the sidebar.
 */
export function Shell({ isReady }: { readonly isReady: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const visits = useVisits();
  const main = useRef<HTMLElement>(null);
  useKeyboard();
  useViewport();
  useOnePane(isOpen, () => setOpen(false));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each navigation closes the sidebar, even to the current route.
  useEffect(() => setOpen(false), [visits]);
  return (
    <div className="shell" data-sidebar={isOpen ? 'open' : 'closed'}>
      <button type="button" className="skip-link" onClick={() => main.current?.focus()}>
        Skip to main content
      </button>
      {isReady && <PermissionBar />}
      <nav className="shell-sidebar" aria-label="Sidebar" data-section>
        <IconButton className="shell-close" icon="close" label="Close sidebar" onClick={() => setOpen(false)} />
        {isReady && <Appearance />}
        {isReady && <PageTitle />}
        {isReady ? (
          <ErrorBoundary resetKey={visits} fallback={(retry) => <Broken retry={retry} />}>
            <Sidebar />
          </ErrorBoundary>
        ) : (
          <p className="shell-waiting">Loading…</p>
        )}
        <div className="shell-foot">
          <ConnectionStatus />
          <ThemeSwitch />
          <IconButton icon="keyboard" label="Keyboard shortcuts" aria-keyshortcuts="?" onClick={openHelp} />
          <Link
            className="icon-button"
            to={addressOf({ name: 'settings' })}
            within="/settings/"
            aria-label="Settings"
            title="Settings"
          >
            <Icon name="settings" />
          </Link>
          <SignOut />
        </div>
      </nav>
      <main className="shell-main" id="main" ref={main} tabIndex={-1} data-section>
        {isReady ? (
          <MainView menu={<Menu onOpen={() => setOpen(true)} />} />
        ) : (
          <div className="shell-blank" aria-busy="true" />
        )}
      </main>
      <Notices />
      <Outdated />
      <Dialogs />
      <Popups />
    </div>
  );
}

/** Applies the viewer's settings, which are loaded with the first screen. Renders nothing. */
function Appearance() {
  useAppearance();
  return null;
}

/** Button that opens the sidebar. Visible on narrow screens only. */
function Menu({ onOpen }: { readonly onOpen: () => void }) {
  return <IconButton className="shell-menu" icon="back" label="Back to sidebar" onClick={onOpen} />;
}

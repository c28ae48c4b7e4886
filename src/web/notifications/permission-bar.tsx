import { useState } from 'react';
import { useClient } from 'urql';
import { Button } from '../ui/button.tsx';
import { notify } from '../ui/notices.tsx';
import { isPushOff, subscribeToPush } from './push.ts';
import './permission-bar.css';

/** Local storage key with the time at which the user has dismissed the bar, in milliseconds since 1970. */
const KEY = 'notifications dismissed';
/** Time in milliseconds after which a dismissed bar is shown again. */
const AGAIN_AFTER_MS = 30 * 24 * 60 * 60_000;

/** Returns whether the browser would ask the user about notifications, and the user has not dismissed the bar recently. */
const isOpen = (): boolean =>
  'Notification' in window &&
  Notification.permission === 'default' &&
  Date.now() - Number(localStorage.getItem(KEY) ?? 0) > AGAIN_AFTER_MS;

/** Bar above the page that asks for the permission to show desktop notifications. Browsers require a click for the request. */
export function PermissionBar() {
  const [isShown, setShown] = useState(isOpen);
  const client = useClient();
  if (!isShown) return null;
  const turnOn = async () => {
    const permission = await Notification.requestPermission();
    setShown(permission === 'default');
    isPushOff.set(false);
    void subscribeToPush(client);
    if (permission === 'denied') notify('Notifications are blocked. You can allow them in your browser settings.');
  };
  const dismiss = () => {
    localStorage.setItem(KEY, String(Date.now()));
    setShown(false);
  };
  return (
    <aside className="permission-bar" aria-label="Notifications">
      <span>Get notified about direct messages and mentions, even when this page is closed.</span>
      <Button kind="primary" onClick={() => void turnOn()}>
        Turn on notifications
      </Button>
      <Button kind="quiet" onClick={dismiss}>
        Not now
      </Button>
    </aside>
  );
}

import type { Client } from 'urql';
import { mutate } from '../api/mutate.ts';
import { refusalIn } from '../base/refusals.ts';
import { createSwitch } from '../base/remembered.ts';
import { createStore } from '../base/store.ts';
import { PushPublicKeyDocument, RegisterPushDeviceDocument } from '../generated/graphql.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { notify } from '../ui/notices.tsx';

/** Message of the service worker: the user has selected the notification of a message. */
export interface OpenMessage {
  readonly type: 'open-message';
  /** ID of the message. */
  readonly messageId: string;
}

/** ID of this browser among the viewer's push devices. Undefined until it is registered. */
export const ownDeviceId = createStore<string | undefined>(undefined);

/** Whether the user has removed this browser from the push devices, so that visits do not register it again. */
export const isPushOff = createSwitch('push off');

/** Returns whether the browser has a push service, and the user has permitted notifications. */
export const canSubscribe = (): boolean =>
  'Notification' in window &&
  Notification.permission === 'granted' &&
  'serviceWorker' in navigator &&
  'PushManager' in window;

/**
 * Subscribes this browser to push notifications, which also arrive while the page is closed. Does nothing if the user has not
 * permitted notifications or has removed this browser, or if the browser has no push service. While the page is open, it shows
 * notifications without push.
 */
export async function subscribeToPush(client: Client): Promise<void> {
  if (!canSubscribe() || isPushOff.get()) return;
  try {
    const { pushManager } = await navigator.serviceWorker.ready;
    const { data } = await client.query(PushPublicKeyDocument, {}, { requestPolicy: 'network-only' });
    if (data?.pushPublicKey == null) return;
    const key = bytesOf(data.pushPublicKey);
    const subscription = await subscribe(pushManager, key);
    const { endpoint, keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON();
    if (endpoint === undefined) return;
    const input = { endpoint, publicKey: p256dh, authSecret: auth, name: browserName(navigator.userAgent) };
    const { data: registered, error } = await mutate(client, RegisterPushDeviceDocument, { input });
    // Without a response, the next visit tries again.
    if (error?.networkError !== undefined) return;
    const result = registered?.registerPushDevice;
    if (result?.__typename === 'RegisterPushDevicePayload') ownDeviceId.set(result.pushDevice?.id);
    const refusal = refusalIn(registered, error);
    if (refusal !== undefined) notify(`This browser cannot receive notifications while the page is closed. ${refusal}`);
  } catch {
    // The push service of the browser cannot be reached. The next visit tries again.
  }
}

/** Ends the push subscription of this browser. Later visits do not subscribe again until `isPushOff` is off. */
export async function unsubscribeFromPush(): Promise<void> {
  isPushOff.set(true);
  ownDeviceId.set(undefined);
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
}

/** Returns the subscription of this browser for a key. A subscription for another key is replaced. */
async function subscribe(pushManager: PushManager, key: Uint8Array<ArrayBuffer>): Promise<PushSubscription> {
  const known = await pushManager.getSubscription();
  const knownKey = known?.options.applicationServerKey;
  if (known != null && knownKey != null && textOf(new Uint8Array(knownKey)) === textOf(key)) return known;
  await known?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

/** Opens the message of a notification that the user has selected. @returns A function that stops this. */
export function openSelectedMessages(): () => void {
  if (!('serviceWorker' in navigator)) return () => undefined;
  const open = ({ data }: MessageEvent<OpenMessage | undefined>) => {
    if (data?.type === 'open-message') navigate(addressOf({ name: 'message', messageId: data.messageId }));
  };
  navigator.serviceWorker.addEventListener('message', open);
  return () => navigator.serviceWorker.removeEventListener('message', open);
}

/** Closes the notifications of messages that the service worker has shown. */
export async function closePushed(messageIds: readonly string[]): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  const registration = await navigator.serviceWorker.getRegistration();
  for (const shown of (await registration?.getNotifications?.()) ?? [])
    if (messageIds.includes(shown.tag)) shown.close();
}

const bytesOf = (base64url: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));

const textOf = (bytes: Uint8Array): string => bytes.join();

const BROWSERS = [
  ['Edg/', 'Edge'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** Returns a name for this browser: "Firefox on Linux". */
function browserName(userAgent: string): string {
  const named = (names: readonly (readonly [string, string])[], otherwise: string) =>
    names.find(([part]) => userAgent.includes(part))?.[1] ?? otherwise;
  return `${named(BROWSERS, 'Browser')} on ${named(SYSTEMS, 'another system')}`;
}

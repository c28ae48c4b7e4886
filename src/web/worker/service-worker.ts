import { OFFLINE_DATA, OFFLINE_HEADER } from '../base/offline.ts';
import type { OpenMessage } from '../notifications/push.ts';
import { addressOf, isChatAddress } from '../routing/routes.ts';

// Service worker of the page. While the service responds, it changes no response: the page always comes from the service, so that
// page and service have the same contract. If the service does not respond, the worker answers with the last page, and with the
// last response to the same GraphQL document with the same variables. The worker also shows push notifications.

/** Addresses of the scripts and styles of this version of the page. Set by the build. */
declare const __PAGE_FILES__: readonly string[];

/** The part of the scope of service workers that is used here. Its types exclude those of the page. */
interface Scope {
  addEventListener(type: 'install' | 'activate', listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: NotificationEvent) => void): void;
  skipWaiting(): Promise<void>;
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { readonly type: 'window'; readonly includeUncontrolled: boolean }): Promise<readonly Tab[]>;
    openWindow(url: string): Promise<unknown>;
  };
}
interface ExtendableEvent extends Event {
  waitUntil(done: Promise<unknown>): void;
}
interface PushEvent extends ExtendableEvent {
  readonly data: { json(): PushMessage } | null;
}
interface NotificationEvent extends ExtendableEvent {
  readonly notification: Notification;
}
/** A tab of the page. */
interface Tab {
  readonly focused: boolean;
  focus(): Promise<unknown>;
  postMessage(message: OpenMessage): void;
}
/** A push message of the service. See the mutation `registerPushDevice`. */
type PushMessage =
  | {
      readonly type: 'message';
      readonly messageId: string;
      readonly title: string;
      readonly body: string;
      readonly icon: string;
      readonly sentAt: number;
    }
  | { readonly type: 'removal'; readonly messageIds: readonly string[] };
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

const scope = globalThis as unknown as Scope;
const [ASSETS, PAGE] = ['assets', 'page'] as const;
/** Maximum number of responses of the service that are kept. Beyond it, the oldest is dropped. */
const MOST_KEPT = 200;

scope.addEventListener('install', (event) => event.waitUntil(install()));
scope.addEventListener('activate', (event) => event.waitUntil(activate()));
scope.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin) return;
  if (request.mode === 'navigate') {
    if (pathname === '/' || isChatAddress(pathname)) event.respondWith(openPage(request));
  } else if (request.method === 'GET' && pathname.startsWith('/assets/')) event.respondWith(readAsset(request));
  else if (request.method === 'POST' && pathname === '/graphql' && isJson(request)) event.respondWith(readData(event));
});

scope.addEventListener('push', (event) => {
  const message = event.data?.json();
  if (message !== undefined) event.waitUntil(message.type === 'message' ? show(message) : remove(message.messageIds));
});
scope.addEventListener('notificationclick', (event) => event.waitUntil(openMessage(event.notification)));

/** Shows the notification of a message, unless the user sees the page, which then notifies by itself. */
async function show(message: Extract<PushMessage, { readonly type: 'message' }>): Promise<void> {
  if ((await tabs()).some(({ focused }) => focused)) return;
  const { messageId, title, body, icon, sentAt } = message;
  // The tag is that of the notification of an open page: the browser replaces it by this one.
  const options = { body, icon, tag: messageId, timestamp: sentAt };
  await scope.registration.showNotification(title, options);
}

async function remove(messageIds: readonly string[]): Promise<void> {
  for (const shown of await scope.registration.getNotifications()) if (messageIds.includes(shown.tag)) shown.close();
}

/** Opens the message of a notification, in an open tab if there is one. */
async function openMessage(notification: Notification): Promise<void> {
  const messageId = notification.tag;
  notification.close();
  const [tab] = await tabs();
  if (tab === undefined) return void (await scope.clients.openWindow(addressOf({ name: 'message', messageId })));
  tab.postMessage({ type: 'open-message', messageId });
  await tab.focus();
}

const tabs = (): Promise<readonly Tab[]> => scope.clients.matchAll({ type: 'window', includeUncontrolled: true });

const isJson = ({ headers }: Request): boolean => headers.get('Content-Type')?.startsWith('application/json') === true;

async function install(): Promise<void> {
  const assets = await caches.open(ASSETS);
  const missing: string[] = [];
  for (const file of __PAGE_FILES__) if ((await assets.match(file)) === undefined) missing.push(file);
  await assets.addAll(missing);
  await scope.skipWaiting();
}

/** Deletes the files of earlier versions of the page. */
async function activate(): Promise<void> {
  const assets = await caches.open(ASSETS);
  for (const request of await assets.keys()) {
    if (!__PAGE_FILES__.includes(new URL(request.url).pathname)) await assets.delete(request);
  }
  await scope.clients.claim();
}

async function openPage(request: Request): Promise<Response> {
  const pages = await caches.open(PAGE);
  try {
    const response = await fetch(request);
    if (response.ok && !response.redirected) await pages.put('/', response.clone());
    return response;
  } catch (error) {
    const last = await pages.match('/');
    if (last === undefined) throw error;
    return last;
  }
}

/** Returns a file whose name changes with its content. */
async function readAsset(request: Request): Promise<Response> {
  const assets = await caches.open(ASSETS);
  const known = await assets.match(request);
  if (known !== undefined) return known;
  const response = await fetch(request);
  if (response.ok) await assets.put(request, response.clone());
  return response;
}

async function readData(event: FetchEvent): Promise<Response> {
  const { request } = event;
  const body = await request.clone().text();
  if (!isKept(body)) return fetch(request);
  const key = await keyOf(body);
  try {
    const response = await fetch(request);
    if (response.ok) event.waitUntil(keep(key, response.clone()));
    return response;
  } catch (error) {
    const last = await (await caches.open(OFFLINE_DATA)).match(key);
    if (last === undefined) throw error;
    const headers = new Headers(last.headers);
    headers.set(OFFLINE_HEADER, '1');
    return new Response(last.body, { status: last.status, headers });
  }
}

/** Returns whether a request reads data: a query, or the registration of an event queue, which returns the first screen. */
function isKept(body: string): boolean {
  const { query, operationName } = JSON.parse(body) as { readonly query?: string; readonly operationName?: string };
  return operationName === 'Register' || (query !== undefined && !/^\s*mutation\b/.test(query));
}

async function keyOf(body: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body));
  return `/offline/${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

async function keep(key: string, response: Response): Promise<void> {
  const result = (await response.clone().json()) as { readonly errors?: unknown };
  if (result.errors !== undefined) return;
  const data = await caches.open(OFFLINE_DATA);
  await data.delete(key);
  await data.put(key, response);
  const keys = await data.keys();
  for (const oldest of keys.slice(0, Math.max(0, keys.length - MOST_KEPT))) await data.delete(oldest);
}

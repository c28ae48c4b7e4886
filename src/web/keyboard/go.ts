import { type Client, CombinedError, type OperationResult } from 'urql';
import { topicKey } from '../../contract/topic-key.ts';
import { act } from '../api/act.ts';
import { NEWEST, narrowKey } from '../api/narrow.ts';
import { refusalIn } from '../api/use-command.ts';
import {
  FirstUnreadDocument,
  type FirstUnreadQuery,
  MarkInNarrowDocument,
  type MessageAnchor,
  type MessageNarrowInput,
  SidebarDocument,
  type SidebarQuery,
} from '../generated/graphql.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf, narrowOf, type Route, routeOf } from '../routing/routes.ts';
import { sectionsOf } from '../sidebar/order.ts';
import { markChannelAsRead, markTopicAsRead } from '../topics/topic-actions.ts';
import { notify } from '../ui/notices.tsx';

// Navigation between the views of the page.

/** Opens the view above or below the current one in the sidebar. */
export function walkSidebar(step: 1 | -1, { unread }: { readonly unread: boolean }): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.shell-sidebar a.sidebar-row')];
  const here = links.findIndex((link) => link.getAttribute('aria-current') === 'page');
  const after = step > 0 ? links.slice(here + 1) : links.slice(0, Math.max(here, 0)).reverse();
  const next = after.find((link) => !unread || link.dataset['unread'] === 'true');
  if (next === undefined) return;
  navigate(next.pathname);
  next.scrollIntoView({ block: 'nearest' });
}

/** Opens the next topic or conversation with unread messages: first in the open channel, then down the sidebar. */
export async function goToNextUnread(client: Client): Promise<void> {
  const data = client.readQuery(SidebarDocument, {})?.data;
  if (!data) return;
  const start = currentRoute();
  passed.add(placeIn(start));
  const places = fromHere(placesOf(data));
  // The first round skips topics that the user has left with this shortcut. `undefined` starts a second round with them.
  for (const place of [...places, undefined, ...places]) {
    if (place === undefined) {
      passed.clear();
      passed.add(placeIn(start));
      continue;
    }
    const address = typeof place === 'string' ? place : await unreadTopicIn(client, place);
    // The user has navigated elsewhere in the meantime, and may be writing there.
    if (currentRoute() !== start) return;
    if (address instanceof CombinedError) {
      notify(refusalIn(undefined, address) ?? '');
      return;
    }
    if (address === undefined || passed.has(placeIn(routeOf(address)))) continue;
    navigate(address);
    return;
  }
  notify('There are no more unread messages.');
}

/** Keys (`placeIn`) of topics and conversations that the user has left with the shortcut. Cleared when no other is unread. */
const passed = new Set<string>();

/** Returns a string that identifies the topic or conversation of a route, also if the routes to it differ. */
const placeIn = (route: Route): string => topicKey(narrowKey(narrowOf(route)));

/** A channel with unread messages, or the path of a conversation. */
type Place = { readonly channelId: string; readonly name: string } | string;

function placesOf({ subscriptions, directConversations, viewer }: SidebarQuery): Place[] {
  const { channelId } = openChannel();
  const channels = sectionsOf(subscriptions?.nodes ?? [])
    .flatMap((section) => section.subscriptions)
    .filter(({ channel, unreadCount, isMuted }) => channel.id === channelId || (unreadCount > 0 && !isMuted))
    .map(({ channel }) => ({ channelId: channel.id, name: channel.name }));
  const conversations = (directConversations?.nodes ?? [])
    .filter(({ unreadCount }) => unreadCount > 0)
    .map(({ participants }) => {
      const others = participants.filter(({ id }) => id !== viewer?.id);
      const userIds = (others.length > 0 ? others : participants).map(({ id }) => id);
      return addressOf({ name: 'direct', userIds });
    });
  return [...channels, ...conversations];
}

/** Rotates a list of channels and conversations, so that it starts with the current one. */
function fromHere(places: readonly Place[]): Place[] {
  const { channelId } = openChannel();
  const here = places.findIndex((place) =>
    typeof place === 'string' ? place === location.pathname : place.channelId === channelId,
  );
  return here < 0 ? [...places] : [...places.slice(here), ...places.slice(0, here)];
}

function openChannel(): { readonly channelId?: string; readonly topic?: string } {
  const route = currentRoute();
  return route.name === 'channel' || route.name === 'topics' ? route : {};
}

/**
 * Returns the path of the topic with the oldest unread message in a channel. Skips the open topic, muted topics, and topics in
 * `passed`.
 *
 * @returns Undefined if there is no such topic; the error if the topics could not be fetched.
 */
async function unreadTopicIn(
  client: Client,
  { channelId, name }: Exclude<Place, string>,
): Promise<string | undefined | CombinedError> {
  const open = openChannel();
  const isOpen = open.channelId === channelId && open.topic !== undefined;
  const not: MessageNarrowInput = { is: ['MUTED'], ...(isOpen && { topic: open.topic ?? '' }) };
  const narrow: MessageNarrowInput = { channel: { id: channelId }, is: ['UNREAD'], not };
  let anchor: MessageAnchor = { place: 'OLDEST' };
  for (let page = 0; page < MAX_PAGES; page++) {
    const { data, error } = await readUnread(client, narrow, anchor);
    if (error !== undefined) return error;
    const nodes = data?.messages?.nodes ?? [];
    const found = nodes.findLast(({ topicName: topic }) => !passed.has(placeIn({ name: 'channel', channelId, topic })));
    if (found !== undefined) return addressOf({ name: 'channel', channelId, topic: found.topicName }, name);
    // The first node is the newest message, so the next page starts there.
    const last = nodes[0]?.id;
    if (nodes.length < PAGE || last === undefined) return undefined;
    anchor = { messageId: last };
  }
  return undefined;
}

/** Reads a page of unread messages without retries: a late response to a keystroke is useless. */
const readUnread = (
  client: Client,
  narrow: MessageNarrowInput,
  anchor: MessageAnchor,
): Promise<OperationResult<FirstUnreadQuery>> =>
  client
    .query(FirstUnreadDocument, { narrow, anchor }, { requestPolicy: 'network-only', isTriedOnce: true })
    .toPromise();

/** Size and number of the pages of unread messages that are searched for an unvisited topic. */
const [PAGE, MAX_PAGES] = [100, 20];

/** Largest number of messages that one mutation marks. */
const AT_ONCE = 5_000;

/** Marks all messages of the current view (a channel, a topic or a conversation) as read. */
export async function markPlaceAsRead(client: Client): Promise<void> {
  const done = await markAsRead(client);
  if (done !== undefined) notify('All messages here are marked as read.');
}

function markAsRead(client: Client): Promise<unknown> {
  const route = currentRoute();
  const { channelId, topic } = openChannel();
  if (channelId !== undefined) {
    return topic === undefined ? markChannelAsRead(client, channelId) : markTopicAsRead(client, { channelId, topic });
  }
  const narrow = narrowOf(route);
  if (narrow === null) {
    notify('This view has no messages to mark as read.');
    return Promise.resolve(undefined);
  }
  const unread: MessageNarrowInput = { ...narrow, is: [...(narrow.is ?? []), 'UNREAD'] };
  const range = { anchor: NEWEST, numBefore: AT_ONCE, numAfter: 0 } as const;
  return act(client, MarkInNarrowDocument, { input: { ...range, narrow: unread, flag: 'READ', operation: 'ADD' } });
}

import type { Client } from 'urql';
import { act } from '../api/act.ts';
import { NEWEST } from '../api/narrow.ts';
import {
  FirstUnreadDocument,
  MarkInNarrowDocument,
  type MessageNarrowInput,
  SidebarDocument,
  type SidebarQuery,
} from '../generated/graphql.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf, narrowOf } from '../routing/routes.ts';
import { sectionsOf } from '../sidebar/order.ts';
import { markChannelAsRead, markTopicAsRead } from '../topics/topic-actions.ts';
import { notify } from '../ui/notices.tsx';

// Ways through the places of the page.

/** Goes to the place above or below the open one in the sidebar, as it is shown there. */
export function walkSidebar(step: 1 | -1, { unread }: { readonly unread: boolean }): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.shell-sidebar a.sidebar-row')];
  const here = links.findIndex((link) => link.getAttribute('aria-current') === 'page');
  const after = step > 0 ? links.slice(here + 1) : links.slice(0, Math.max(here, 0)).reverse();
  const next = after.find((link) => !unread || link.dataset['unread'] === 'true');
  if (next === undefined) return;
  navigate(next.pathname);
  next.scrollIntoView({ block: 'nearest' });
}

/** Goes to the next topic or conversation with something unread: in the open channel first, then down the sidebar. */
export async function goToNextUnread(client: Client): Promise<void> {
  const data = client.readQuery(SidebarDocument, {})?.data;
  if (!data) return;
  const places = fromHere(placesOf(data));
  for (const place of places) {
    const address = typeof place === 'string' ? place : await unreadTopicIn(client, place);
    if (address === undefined || address === location.pathname) continue;
    navigate(address);
    return;
  }
  notify('Nothing else is unread.');
}

/** A channel with something unread, or the address of a conversation. */
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

/** The same places, beginning with the open one. */
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

/** The topic of the first message in a channel that is unread, and not muted; but for the open topic. */
async function unreadTopicIn(client: Client, { channelId, name }: Exclude<Place, string>): Promise<string | undefined> {
  const open = openChannel();
  const isOpen = open.channelId === channelId && open.topic !== undefined;
  const not: MessageNarrowInput = { is: ['MUTED'], ...(isOpen && { topic: open.topic ?? '' }) };
  const narrow: MessageNarrowInput = { channel: { id: channelId }, is: ['UNREAD'], not };
  const { data } = await client.query(FirstUnreadDocument, { narrow }, { requestPolicy: 'network-only' }).toPromise();
  const topic = data?.messages?.nodes[0]?.topicName;
  return topic === undefined ? undefined : addressOf({ name: 'channel', channelId, topic }, name);
}

/** As many as one mutation marks. */
const AT_ONCE = 5_000;

/** Marks all that stands in the open place as read. */
export async function markPlaceAsRead(client: Client): Promise<void> {
  const done = await markAsRead(client);
  if (done !== undefined) notify('All is read here.');
}

function markAsRead(client: Client): Promise<unknown> {
  const route = currentRoute();
  const { channelId, topic } = openChannel();
  if (channelId !== undefined) {
    return topic === undefined ? markChannelAsRead(client, channelId) : markTopicAsRead(client, { channelId, topic });
  }
  const narrow = narrowOf(route);
  if (narrow === null) {
    notify('There is nothing here to mark as read.');
    return Promise.resolve(undefined);
  }
  const unread: MessageNarrowInput = { ...narrow, is: [...(narrow.is ?? []), 'UNREAD'] };
  const range = { anchor: NEWEST, numBefore: AT_ONCE, numAfter: 0 } as const;
  return act(client, MarkInNarrowDocument, { input: { ...range, narrow: unread, flag: 'READ', operation: 'ADD' } });
}

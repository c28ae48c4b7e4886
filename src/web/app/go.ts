import { type Client, CombinedError, type OperationResult } from 'urql';
import { topicKey } from '../../contract/topic-key.ts';
import { narrowKey } from '../api/narrow.ts';
import { refusalIn } from '../base/refusals.ts';
import {
  FirstUnreadDocument,
  type FirstUnreadQuery,
  type MessageAnchor,
  type MessageNarrowInput,
  SidebarDocument,
  type SidebarQuery,
} from '../generated/graphql.ts';
import { markNarrowAsRead } from '../message-actions/mark-in-narrow.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf, narrowOf, type Route, routeOf } from '../routing/routes.ts';
import { sectionsOf } from '../sidebar/order.ts';
import { markChannelAsRead, markTopicAsRead } from '../topics/topic-actions.ts';
import { notify } from '../ui/notices.tsx';

// Navigation between the views of the page.

/**
 * Opens the view above or below the current one in the sidebar.
 *
 * @param step 1 for the view below, -1 for the view above.
 * @param unread Whether to skip views without unread messages.
 */
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
  const entries = fromHere(entriesOf(data));
  // The first round skips the topics in `passed`. `undefined` then starts a second round, which includes them.
  for (const entry of [...entries, undefined, ...entries]) {
    if (entry === undefined) {
      passed.clear();
      passed.add(placeIn(start));
      continue;
    }
    const address = typeof entry === 'string' ? entry : await unreadTopicIn(client, entry);
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

/**
 * Keys (`placeIn`) of the topics and conversations that the user has left with the shortcut for the next unread topic. The set
 * is cleared when no other topic or conversation has unread messages.
 */
const passed = new Set<string>();

/**
 * Returns a string that identifies the topic or conversation of a route. All routes to the same topic or conversation have the
 * same string.
 */
const placeIn = (route: Route): string => topicKey(narrowKey(narrowOf(route)));

/** A channel in which `goToNextUnread` looks for unread messages, or the path of a conversation with unread messages. */
type UnreadEntry = { readonly channelId: string; readonly name: string } | string;

function entriesOf({ subscriptions, directConversations, viewer }: SidebarQuery): UnreadEntry[] {
  const { channelId } = openChannel();
  const channels = sectionsOf(subscriptions?.nodes ?? [])
    .flatMap((section) => section.subscriptions)
    .filter(({ channel, unreadCount }) => channel.id === channelId || unreadCount > 0)
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

/**
 * Rotates a list of channels and conversations, so that it starts with the open one. Returns the list unchanged if none is
 * open.
 */
function fromHere(entries: readonly UnreadEntry[]): UnreadEntry[] {
  const { channelId } = openChannel();
  const here = entries.findIndex((entry) =>
    typeof entry === 'string' ? entry === location.pathname : entry.channelId === channelId,
  );
  return here < 0 ? [...entries] : [...entries.slice(here), ...entries.slice(0, here)];
}

function openChannel(): { readonly channelId?: string; readonly topic?: string } {
  const route = currentRoute();
  return route.name === 'channel' || route.name === 'topics' ? route : {};
}

/**
 * Returns the path of the topic that contains the oldest unread message of a channel. Skips the open topic, muted topics, and
 * topics in `passed`.
 *
 * @returns Undefined if there is no such topic; the error if the messages could not be fetched.
 */
async function unreadTopicIn(
  client: Client,
  { channelId, name }: Exclude<UnreadEntry, string>,
): Promise<string | undefined | CombinedError> {
  const open = openChannel();
  const isOpen = open.channelId === channelId && open.topic !== undefined;
  const not: MessageNarrowInput = { is: ['MUTED'], ...(isOpen && { topicNamed: open.topic ?? '' }) };
  const narrow: MessageNarrowInput = { channel: { id: channelId }, is: ['UNREAD'], not };
  let anchor: MessageAnchor = { place: 'OLDEST' };
  for (let page = 0; page < MAX_PAGES; page++) {
    const { data, error } = await readUnread(client, narrow, anchor);
    if (error !== undefined) return error;
    const nodes = data?.messages?.nodes ?? [];
    const found = nodes.find(({ topicName: topic }) => !passed.has(placeIn({ name: 'channel', channelId, topic })));
    if (found !== undefined) return addressOf({ name: 'channel', channelId, topic: found.topicName }, name);
    const last = nodes.at(-1)?.id;
    if (nodes.length < PAGE || last === undefined) return undefined;
    anchor = { messageId: last };
  }
  return undefined;
}

/** Reads a page of unread messages. Failures are not retried, because a late response to a keystroke is useless. */
const readUnread = (
  client: Client,
  narrow: MessageNarrowInput,
  anchor: MessageAnchor,
): Promise<OperationResult<FirstUnreadQuery>> =>
  client.query(FirstUnreadDocument, { narrow, anchor }, { requestPolicy: 'network-only', fetch }).toPromise();

/**
 * Number of messages per page, and maximum number of pages, of the unread messages in which `unreadTopicIn` searches for a
 * topic.
 */
const [PAGE, MAX_PAGES] = [100, 20];

/** Marks the messages of the current view as read, and notifies the user when all are marked. */
export async function markPlaceAsRead(client: Client): Promise<void> {
  if (await markAsRead(client)) notify('All messages here are marked as read.');
}

/**
 * Marks the messages of the current view as read: of a channel, a topic, a conversation, or a view such as "Mentions".
 *
 * @returns Whether all messages of the view are marked.
 */
async function markAsRead(client: Client): Promise<boolean> {
  const { channelId, topic } = openChannel();
  if (channelId !== undefined) {
    const done =
      topic === undefined ? markChannelAsRead(client, channelId) : markTopicAsRead(client, { channelId, topic });
    return (await done) !== undefined;
  }
  const narrow = narrowOf(currentRoute());
  if (narrow !== null) return markNarrowAsRead(client, narrow);
  notify('This view has no messages to mark as read.');
  return false;
}

import type { Client } from 'urql';
import { belongsTo } from '../api/narrow.ts';
import { type MessageRowFragment, SidebarDocument, type SidebarQuery } from '../generated/graphql.ts';
import { type LiveEvent, onEvent } from '../live/engine.ts';
import { dress, spoken } from '../markdown/markup.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf, narrowOf } from '../routing/routes.ts';
import { shownTopic } from '../ui/topic-names.ts';
import { alertOf } from './alerts.ts';
import { closePushed, openSelectedMessages, subscribeToPush } from './push.ts';
import { play } from './sound.ts';

/**
 * Time in milliseconds for which a tab claims a message. All tabs receive the event within this time, and only the tab with the
 * claim notifies the user.
 */
const CLAIM_MS = 10_000;
/** Delay in milliseconds of the claim of a tab in the background. A tab in which the user sees the message claims it before. */
const BEHIND_MS = 600;
/** Maximum length of the text of a notification, in characters. Desktops show less. */
const MAX_TEXT = 300;

/** Notifications of this tab that are still shown, by message ID. */
const shown = new Map<string, Notification>();
/** IDs of new messages for which this tab has not decided yet whether it notifies. A message that is read or deleted is removed. */
const undecided = new Set<string>();

/**
 * Notifies the user of new messages: with desktop notifications if the browser permits them, and with a sound. Only one tab
 * shows the notification of a message, and none does if the message is visible in a tab. The notification is closed when the
 * message is read or deleted on any device.
 *
 * @returns A function that stops this and closes the notifications.
 */
export function startNotifications(client: Client): () => void {
  // The first screen is not read again for each message, because this would take longer than all other work for the message.
  let firstScreen: SidebarQuery | undefined;
  const { unsubscribe } = client.query(SidebarDocument, {}).subscribe(({ data }) => {
    firstScreen = data ?? firstScreen;
  });
  const stop = onEvent((event) => {
    // Events arrive in batches, and the cache gives the result of a batch after its last event. A message that follows a change
    // of settings in the same batch must obey the new settings.
    if (event.__typename === 'MessageSentEvent') {
      if (event.message !== null) undecided.add(event.message.id);
      setTimeout(() => {
        void sent(event, firstScreen).finally(() => undecided.delete(event.message?.id ?? ''));
      });
    } else if (event.__typename === 'MessagesDeletedEvent') close(event.messageIds);
    else if (event.__typename === 'MessageFlagsAddedEvent' && event.flag === 'READ') {
      close(event.all ? [...shown.keys(), ...undecided] : event.messages.flatMap((message) => message?.id ?? []));
    }
  });
  void subscribeToPush(client);
  const stopOpening = openSelectedMessages();
  return () => {
    unsubscribe();
    stop();
    stopOpening();
    close([...shown.keys()]);
  };
}

type SentEvent = Extract<LiveEvent, { __typename: 'MessageSentEvent' }>;

async function sent({ message, unreadChange }: SentEvent, firstScreen: SidebarQuery | undefined): Promise<void> {
  if (firstScreen === undefined) return;
  const { viewer, ownSettings: settings, subscriptions } = firstScreen;
  if (message === null || settings === null || message.sender.id === viewer?.id) return;
  const subscription = subscriptions?.nodes.find(({ channel }) => channel.id === message.channel?.id);
  const visibility = unreadChange?.topics.find((topic) => topic?.id === message.topic?.id)?.viewerVisibility;
  const situation = { settings, subscription, visibility: visibility ?? 'INHERIT', timeZone: settings.timezone };
  const alert = alertOf(message, situation);
  if (!alert.isShown && !alert.isAudible) return;
  const viewerId = viewer?.id ?? '';
  const isSeen = document.hasFocus() && isVisible(message, viewerId);
  if (!document.hasFocus()) await new Promise((resolve) => setTimeout(resolve, BEHIND_MS));
  await claim(message.id, () => {
    if (isSeen || !undecided.has(message.id)) return;
    if (alert.isAudible) play(settings.notificationSound);
    if (alert.isShown) {
      const hidesText = message.type === 'DIRECT' && !settings.directMessageContentInDesktopNotifications;
      show(message, { title: titleOf(message, viewerId), body: hidesText ? '' : textOf(message) });
    }
  });
}

/** Returns whether the current view shows the topic or conversation of a message. */
function isVisible({ channel, topicName, participants, flags }: MessageRowFragment, viewerId: string): boolean {
  const narrow = narrowOf(currentRoute());
  const participantIds = participants?.map(({ id }) => id) ?? [];
  const placed = { channelId: channel?.id ?? null, topicName, participantIds, flags };
  return narrow !== null && belongsTo(narrow, placed, viewerId) === true;
}

/** Runs `act` unless another tab has claimed the message. Without Web Locks, which need a secure connection, always runs it. */
async function claim(messageId: string, act: () => void): Promise<void> {
  if (navigator.locks === undefined) return act();
  await navigator.locks.request(`notify ${messageId}`, { ifAvailable: true }, async (lock) => {
    if (lock === null) return;
    act();
    await new Promise((resolve) => setTimeout(resolve, CLAIM_MS));
  });
}

function show(message: MessageRowFragment, { title, body }: { readonly title: string; readonly body: string }): void {
  if (!('Notification' in window) || Notification.permission !== 'granted') return;
  const { id, sender } = message;
  // The tag makes the browser replace a notification of the same message.
  const notification = new Notification(title, { body, icon: sender.avatarUrl, tag: id, silent: true });
  shown.set(id, notification);
  notification.onclick = () => {
    window.focus();
    navigate(addressOf({ name: 'message', messageId: id }));
    notification.close();
  };
  notification.onclose = () => {
    if (shown.get(id) === notification) shown.delete(id);
  };
}

function close(messageIds: readonly string[]): void {
  void closePushed(messageIds);
  for (const id of messageIds) {
    shown.get(id)?.close();
    shown.delete(id);
    undecided.delete(id);
  }
}

function titleOf({ sender, channel, topicName, participants }: MessageRowFragment, viewerId: string): string {
  if (channel !== null) return `${sender.fullName} (#${channel.name} › ${shownTopic(topicName)})`;
  const others = participants?.filter(({ id }) => id !== viewerId && id !== sender.id) ?? [];
  if (others.length === 0) return sender.fullName;
  return `${sender.fullName} (with ${others.map(({ fullName }) => fullName).join(', ')})`;
}

function textOf({ renderedContent }: MessageRowFragment): string {
  const text = spoken(dress(renderedContent));
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

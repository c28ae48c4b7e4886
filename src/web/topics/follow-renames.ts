import type { Client } from 'urql';
import { isSameTopic } from '../../contract/topic-key.ts';
import { narrowKey } from '../api/narrow.ts';
import { redirect } from '../composer/outbox.ts';
import { holdWritten, isWriting, moveWritten } from '../drafts/drafts.ts';
import { ChannelHeaderDocument, type MessageNarrowInput } from '../generated/graphql.ts';
import { onEvent } from '../live/engine.ts';
import type { TopicPlace } from '../routing/place.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf, decoded, narrowOf } from '../routing/routes.ts';
import { isEmpty } from './topic-actions.ts';

/**
 * Follows topics that are renamed or moved to another channel. The view then shows the topic at its new location, and unsent
 * text and messages in the outbox move there too. If only some messages of a topic are moved, the page follows them only if no
 * message remains in the topic. The service itself moves the drafts.
 *
 * @returns A function that removes the event listener.
 */
export function followRenames(client: Client): () => void {
  return onEvent((event) => {
    if (event.__typename !== 'MessageUpdatedEvent') return;
    const { origTopicName, origChannel, messages, propagateMode } = event;
    const moved = messages.find((message) => message?.channel);
    if (origTopicName === null || !origChannel || !moved?.channel) return;
    const from = { channelId: origChannel.id, topic: origTopicName };
    const to = { channelId: moved.channel.id, topic: moved.topicName };
    if (propagateMode === 'CHANGE_ALL') holdWritten(from, follow(client, from, to));
    else if (isShown(from) || isWriting(from)) holdWritten(from, followIfEmpty(client, from, to));
  });
}

function isShown({ channelId, topic }: TopicPlace): boolean {
  const route = currentRoute();
  return (
    route.name === 'channel' &&
    route.channelId === channelId &&
    route.topic !== undefined &&
    isSameTopic(route.topic, topic)
  );
}

async function followIfEmpty(client: Client, from: TopicPlace, to: TopicPlace): Promise<void> {
  if (await isEmpty(client, from)) await follow(client, from, to);
}

async function follow(client: Client, from: TopicPlace, to: TopicPlace): Promise<void> {
  let slug = decoded(location.pathname.split('/')[3] ?? '');
  if (isShown(from) && to.channelId !== from.channelId) {
    // The new channel's header is loaded first, so that the view changes in one step and the composer keeps the focus.
    const { data } = await client.query(ChannelHeaderDocument, { channelId: to.channelId }).toPromise();
    slug = data?.channel?.name ?? '-';
  }
  moveWritten(from, to);
  redirect(from, to);
  const route = currentRoute();
  if (!isShown(from) || route.name !== 'channel') return;
  keepComposer(from, to);
  navigate(addressOf({ ...route, ...to }, slug), { replace: true });
}

const composerKeys = new Map<string, string>();

/**
 * Returns the React key for the composer of a topic or conversation. If the page follows a topic to a new name or channel, the
 * key stays the same. The composer then keeps its text and focus.
 */
export function composerKey(narrow: MessageNarrowInput): string {
  const place = narrowKey(narrow);
  return composerKeys.get(place) ?? place;
}

function keepComposer(from: TopicPlace, to: TopicPlace): void {
  const [before, after] = [from, to].map((place) => narrowOf({ name: 'channel', ...place }) ?? {});
  const key = composerKey(before ?? {});
  composerKeys.set(narrowKey(before), `${key} again`);
  composerKeys.set(narrowKey(after), key);
}

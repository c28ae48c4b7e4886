import { addressOf } from '../routing/routes.ts';

/** A message with the properties that determine its topic or conversation. */
export interface Standing {
  readonly id: string;
  readonly topicName: string;
  readonly channel: { readonly id: string; readonly name: string } | null;
  readonly participants: readonly { readonly id: string }[] | null;
}

/**
 * Returns the path that opens the topic or conversation of a message and scrolls to the message.
 *
 * @param isNear If false, the path does not scroll to the message.
 */
export function placeAddress(
  { id, channel, topicName, participants }: Standing,
  viewerId: string,
  { isNear = true }: { readonly isNear?: boolean } = {},
): string {
  const near = isNear ? { near: id } : {};
  if (channel !== null) {
    return addressOf({ name: 'channel', channelId: channel.id, topic: topicName, ...near }, channel.name);
  }
  const ids = participants?.map(({ id }) => id) ?? [];
  const others = ids.filter((id) => id !== viewerId);
  return addressOf({ name: 'direct', userIds: others.length > 0 ? others : ids, ...near });
}

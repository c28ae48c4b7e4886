import { addressOf } from '../routing/routes.ts';

interface Standing {
  readonly id: string;
  readonly topicName: string;
  readonly channel: { readonly id: string; readonly name: string } | null;
  readonly participants: readonly { readonly id: string }[] | null;
}

/** The address of a message among the others of its topic or conversation. */
export function placeAddress({ id: near, channel, topicName, participants }: Standing, viewerId: string): string {
  if (channel !== null) {
    return addressOf({ name: 'channel', channelId: channel.id, topic: topicName, near }, channel.name);
  }
  const ids = participants?.map(({ id }) => id) ?? [];
  const others = ids.filter((id) => id !== viewerId);
  return addressOf({ name: 'direct', userIds: others.length > 0 ? others : ids, near });
}

import { apiEmail } from '../access/address.ts';
import { emptyTopicName } from '../channels/topic-name.ts';
import type { Channel, ConversationMember, Message, Prisma, Realm, User } from '../generated/prisma/client.ts';
import { topicLinks } from '../markdown/render.ts';
import { toFacts } from '../people/wire.ts';
import type { Tx } from '../platform/db/client.ts';
import { channelRecipientId, conversationRecipientId, type MessageFacts } from './wire.ts';

/** A message with everything of it that everybody who reads it sees alike. */
export type WholeMessage = Message & {
  readonly sender: User;
  readonly channel: Pick<Channel, 'id' | 'name'> | null;
  readonly conversation: { readonly members: readonly (ConversationMember & { readonly user: User })[] } | null;
};

const WHOLE = {
  sender: true,
  channel: { select: { id: true, name: true } },
  conversation: { include: { members: { include: { user: true }, orderBy: { userId: 'asc' } } } },
} as const satisfies Prisma.MessageInclude;

/** Messages of the organisation by their ids, ascending; ids of none are passed over. */
export async function readWhole(
  db: Pick<Tx, 'message'>,
  realmId: number,
  ids: readonly number[],
): Promise<WholeMessage[]> {
  if (ids.length === 0) return [];
  return db.message.findMany({ where: { realmId, id: { in: [...ids] } }, include: WHOLE, orderBy: { id: 'asc' } });
}

/** A message as replies are rendered from it. */
export function factsOf(realm: Realm, message: WholeMessage): MessageFacts {
  const { id, sender, channel, conversation, topic, content, renderedContent } = message;
  return {
    id: Number(id),
    recipientId:
      channel === null ? conversationRecipientId(message.conversationId ?? 0) : channelRecipientId(channel.id),
    sender: toFacts(sender),
    realm: realm.subdomain,
    client: message.clientName,
    timestamp: Math.floor(message.sentAt.getTime() / 1000),
    channel,
    members: (conversation?.members ?? []).map(({ user }) => ({
      id: user.id,
      email: apiEmail(user),
      fullName: user.fullName,
    })),
    topic,
    topicLinks: topic === '' ? [] : topicLinks(topic),
    content,
    renderedContent,
    emptyTopicName: emptyTopicName(realm),
  };
}

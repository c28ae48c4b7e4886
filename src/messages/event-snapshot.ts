import { apiEmail } from '../access/address.ts';
import { emptyTopicName } from '../channels/topic-name.ts';
import type { Channel, ConversationMember, Message, Organization, Prisma, User } from '../generated/prisma/client.ts';
import { topicLinks } from '../markdown/render.ts';
import { toSnapshot } from '../people/wire.ts';
import type { Tx } from '../platform/db/client.ts';
import { channelRecipientId, conversationRecipientId, type MessageEventSnapshot } from './wire.ts';

/** A message with its sender, channel and conversation. None of this data depends on the reader. */
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

/** Reads messages of the organization by id, ascending. Ids that do not exist are skipped. */
export async function readWhole(
  db: Pick<Tx, 'message'>,
  organizationId: number,
  ids: readonly number[],
): Promise<WholeMessage[]> {
  if (ids.length === 0) return [];
  return db.message.findMany({
    where: { organizationId, id: { in: [...ids] } },
    include: WHOLE,
    orderBy: { id: 'asc' },
  });
}

/** Converts a message to the snapshot that events contain and from which responses are rendered. */
export function snapshotOf(organization: Organization, message: WholeMessage): MessageEventSnapshot {
  const { id, sender, channel, conversation, topic, content, renderedContent } = message;
  return {
    id: Number(id),
    recipientId:
      channel === null ? conversationRecipientId(message.conversationId ?? 0) : channelRecipientId(channel.id),
    sender: toSnapshot(sender),
    realm: organization.subdomain,
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
    emptyTopicName: emptyTopicName(organization),
  };
}

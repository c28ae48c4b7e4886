import { EventProjection, projectedWithin } from '../api/graphql/schema/event-projections.ts';
import { namedUser } from '../people/event-projections.ts';
import { ofReader } from './live-counts/live-counts.ts';
import { conversationRecipientId, type MessageEventSnapshot } from './wire.ts';

const unreadCounts = {
  unreadCount: ofReader((id: number) => (counts) => counts.messagesIn(conversationRecipientId(id))),
  unreadMentionCount: ofReader((id: number) => (counts) => counts.mentionsIn(conversationRecipientId(id))),
};

/** Event projection (the fields that an event alone provides) of a conversation: its id and unread counts. */
export const conversationReference = new EventProjection<number>(
  'DirectConversation',
  { idOf: (id) => id },
  unreadCounts,
);

const conversationIdOf = ({ recipientId }: Pick<MessageEventSnapshot, 'recipientId'>) => Math.floor(recipientId / 2);

/** Event projection of the conversation to which a message was just sent: its id, members and unread counts. */
export const writtenConversation = new EventProjection<Pick<MessageEventSnapshot, 'recipientId' | 'members'>>(
  'DirectConversation',
  { idOf: conversationIdOf },
  {
    participants: { projection: namedUser, of: ({ members }) => members },
    ...projectedWithin(unreadCounts, conversationIdOf),
  },
);

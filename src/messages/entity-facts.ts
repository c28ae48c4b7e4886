import { EntityFacts, referenceFacts } from '../api/graphql/entity-facts.ts';
import { namedChannel } from '../channels/entity-facts.ts';
import { isMeMessage } from '../markdown/render.ts';
import { userFacts } from '../people/entity-facts.ts';
import type { Requester } from '../people/wire.ts';
import { isFlag, type MemberFacts, type MessageFacts, toWireFlags, type UserFlags } from './wire.ts';

/** A message as it was sent, what it is to those who look, and who they are. */
export interface KnownMessage {
  readonly message: MessageFacts;
  readonly flags: UserFlags;
  readonly viewer: Requester;
}

/** A message of which an event knows the id alone. */
export const messageReference = referenceFacts('Message');

const participant = new EntityFacts<MemberFacts>(
  'User',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, email: ({ email }) => email, fullName: ({ fullName }) => fullName },
);

const nothing = () => null;

/** What is known of a message that has just been sent. */
export const sentMessage = new EntityFacts<KnownMessage>(
  'Message',
  { idOf: ({ message }) => message.id },
  {
    databaseId: ({ message }) => message.id,
    type: ({ message }) => (message.channel === null ? 'direct' : 'channel'),
    sender: { facts: userFacts, of: ({ message, viewer }) => ({ user: message.sender, viewer }) },
    client: ({ message }) => message.client,
    channel: { facts: namedChannel, of: ({ message }) => message.channel },
    topic: ({ message }) => message.topic,
    topicLinks: ({ message }) => message.topicLinks,
    participants: { facts: participant, of: ({ message }) => (message.channel === null ? message.members : null) },
    content: ({ message }) => message.content,
    renderedContent: ({ message }) => message.renderedContent,
    isMeMessage: ({ message }) => isMeMessage(message.content),
    sentAt: ({ message }) => new Date(message.sentAt ?? message.timestamp * 1000),
    lastEditedAt: nothing,
    lastMovedAt: nothing,
    flags: ({ flags }) => toWireFlags(flags).filter(isFlag),
    reactions: () => [],
  },
);

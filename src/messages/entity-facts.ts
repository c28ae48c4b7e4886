import { EntityFacts, referenceFacts } from '../api/graphql/entity-facts.ts';
import { channelReference, namedChannel } from '../channels/entity-facts.ts';
import { isMeMessage, topicLinks } from '../markdown/render.ts';
import { namedUser, userFacts, userReference } from '../people/entity-facts.ts';
import type { KnownReacted } from './reactions/events.ts';
import type { KnownReaction, KnownReactions, ReactionGroup } from './reactions/groups.ts';
import { type NamedTopic, namedTopic, topicReference } from './topics/entity-facts.ts';
import { isFlag, type MessageFacts, toWireFlags, type UserFlags } from './wire.ts';

/** A message as an event tells it, and what it is to those who look. */
export interface KnownMessage {
  readonly message: MessageFacts;
  readonly flags: UserFlags;
}

/** A message of which an event knows the id alone. */
export const messageReference = referenceFacts('Message');

const idOf = ({ message }: { readonly message: { readonly id: number } }) => message.id;

/** What is known of a message whenever it is told, but for what was said of it later. */
const told = {
  databaseId: idOf,
  type: ({ message }: Told) => (message.channel === null ? 'direct' : 'channel'),
  sender: { facts: userFacts, of: ({ message }: Told) => ({ user: message.sender }) },
  client: ({ message }: Told) => message.client,
  channel: { facts: namedChannel, of: ({ message }: Told) => message.channel },
  topicName: ({ message }: Told) => message.topic,
  topicLinks: ({ message }: Told) => message.topicLinks,
  sentAt: ({ message }: Told) => new Date(message.sentAt ?? message.timestamp * 1000),
  flags: ({ flags }: Told) => toWireFlags(flags).filter(isFlag),
  viewerHasRead: ({ flags }: Told) => flags.read === true,
  viewerHasStarred: ({ flags }: Told) => flags.starred === true,
};

interface Told extends Pick<KnownMessage, 'flags'> {
  readonly message: Omit<MessageFacts, 'content' | 'renderedContent' | 'members'>;
}

const topicOf = ({ message: { channel, topic } }: Told): NamedTopic | null =>
  channel === null ? null : { channelId: channel.id, name: topic };

const nothing = () => null;

/** What is known of a message that has just been sent. */
export const sentMessage = new EntityFacts<KnownMessage>(
  'Message',
  { idOf },
  {
    ...told,
    topic: { facts: namedTopic, of: topicOf },
    participants: { facts: namedUser, of: ({ message }) => (message.channel === null ? message.members : null) },
    content: ({ message }) => message.content,
    renderedContent: ({ message }) => message.renderedContent,
    isMeMessage: ({ message }) => isMeMessage(message.content),
    lastEditedAt: nothing,
    lastMovedAt: nothing,
    reactions: () => [],
    reactionGroups: () => [],
  },
);

const emoji = {
  emojiName: ({ emojiName }: ReactionGroup | KnownReaction) => emojiName,
  emojiCode: ({ emojiCode }: ReactionGroup | KnownReaction) => emojiCode,
  reactionType: ({ reactionType }: ReactionGroup | KnownReaction) => reactionType,
};

const reaction = new EntityFacts<KnownReaction>(
  'Reaction',
  { idOf: ({ id }) => id },
  { ...emoji, user: { facts: userReference, of: ({ userId }) => userId } },
);

const reactionGroup = new EntityFacts<ReactionGroup>(
  'ReactionGroup',
  { idOf: null },
  {
    ...emoji,
    count: ({ count }) => count,
    viewerHasReacted: ({ viewerHasReacted }) => viewerHasReacted,
    users: { facts: userReference, of: ({ userIds }) => userIds },
  },
);

/** What is on a message, where an event knows all of it. */
const reacted = {
  reactions: { facts: reaction, of: ({ reactions }: Reacted) => reactions?.all },
  reactionGroups: { facts: reactionGroup, of: ({ reactions }: Reacted) => reactions?.groups },
};

interface Reacted {
  readonly reactions?: KnownReactions | null | undefined;
}

/** What is known of a message that somebody reacted to, or took back their reaction to: all that is on it. */
export const reactedMessage = new EntityFacts<KnownReacted>(
  'Message',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, ...reacted },
);

/** What is known of a message whose content its sender has edited. */
export interface KnownEdit extends Told, Reacted {
  readonly message: Told['message'] & { readonly lastEditedAt: string; readonly lastMovedAt: string | null };
  readonly content: { readonly source: string; readonly html: string; readonly isMeMessage: boolean };
}

const dateOrNull = (iso: string | null) => (iso === null ? null : new Date(iso));

const edited = {
  ...told,
  topic: { facts: topicReference, of: topicOf },
  participants: { facts: namedUser, of: nothing },
  content: ({ content }: KnownEdit) => content.source,
  renderedContent: ({ content }: KnownEdit) => content.html,
  isMeMessage: ({ content }: KnownEdit) => content.isMeMessage,
  lastEditedAt: ({ message }: KnownEdit) => new Date(message.lastEditedAt),
  lastMovedAt: ({ message }: KnownEdit) => dateOrNull(message.lastMovedAt),
};

const editedMessage = new EntityFacts<KnownEdit>('Message', { idOf }, { ...edited, ...reacted });

/** Where there is too much on it, and in events logged before they told what is. */
const editedWithoutReactions = new EntityFacts<KnownEdit>('Message', { idOf }, edited);

/** What an event knows of a message whose content its sender has edited. */
export const factsOfEdit = ({ reactions }: Reacted): EntityFacts<KnownEdit> =>
  reactions == null ? editedWithoutReactions : editedMessage;

/** One of the messages that an event says were moved, or one whose id alone it knows. */
export interface KnownMove {
  readonly id: number;
  readonly channelId: number;
  readonly topic: string;
  /** ISO 8601; absent in events logged before they told it, which say it to the second. */
  readonly at: string;
}

const place = {
  databaseId: ({ id }: KnownMove) => id,
  type: () => 'channel',
  channel: { facts: channelReference, of: ({ channelId }: KnownMove) => channelId },
  topic: { facts: topicReference, of: ({ channelId, topic }: KnownMove) => ({ channelId, name: topic }) },
  participants: { facts: namedUser, of: nothing },
};
const topicName = {
  topicName: ({ topic }: KnownMove) => topic,
  topicLinks: ({ topic }: KnownMove) => (topic === '' ? [] : topicLinks(topic)),
};
const lastMovedAt = { lastMovedAt: ({ at }: KnownMove) => new Date(at) };

const identity = { idOf: ({ id }: KnownMove) => id };

/** What is known of a message that was moved: where it is now. */
export const movedMessage = new EntityFacts('Message', identity, { ...place, ...topicName, ...lastMovedAt });

/** Of one of several that keep their topic, each in its own case. */
export const messageOfSpellings = new EntityFacts('Message', identity, { ...place, ...lastMovedAt });

/** Of one whose topic was marked as resolved, or not any more: that is not noted as a move of it. */
export const messageOfResolved = new EntityFacts('Message', identity, { ...place, ...topicName });

/** The field of a message that says whether the viewer has it so; other flags stand among `flags` alone. */
const FIELD_OF: Readonly<Record<string, string>> = { read: 'viewerHasRead', starred: 'viewerHasStarred' };

const flagFacts = new Map<string, EntityFacts<number>>();

/** What is known of a message, by its id, that has a flag of the viewer now or does not have it any more. */
export function flaggedMessage(flag: string, isSet: boolean): EntityFacts<number> {
  const key = `${flag} ${isSet}`;
  let facts = flagFacts.get(key);
  if (facts === undefined) {
    const field = FIELD_OF[flag];
    const said = field === undefined ? {} : { [field]: () => isSet };
    facts = new EntityFacts<number>('Message', { idOf: (id) => id }, { databaseId: (id) => id, ...said });
    flagFacts.set(key, facts);
  }
  return facts;
}

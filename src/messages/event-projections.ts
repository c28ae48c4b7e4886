import { EventProjection, referenceProjection } from '../api/graphql/schema/event-projections.ts';
import { channelReference, namedChannel } from '../channels/event-projections.ts';
import { isMeMessage, topicLinks } from '../markdown/render.ts';
import { namedUser, userProjection, userReference } from '../people/event-projections.ts';
import type { ProjectedReacted } from './reactions/events.ts';
import type { ReactionGroup, SeenReaction, SeenReactions } from './reactions/groups.ts';
import { type NamedTopic, namedTopic, topicReference } from './topic-projections.ts';
import { isFlag, type MessageEventSnapshot, toWireFlags, type UserFlags } from './wire.ts';

/** Snapshot of a message in an event, with the flags of the viewer. */
export interface ProjectedMessage {
  readonly message: MessageEventSnapshot;
  readonly flags: UserFlags;
}

/** Event projection of a message, for events that contain only the id of the message. */
export const messageReference = referenceProjection('Message');

const idOf = ({ message }: { readonly message: { readonly id: number } }) => message.id;

/** GraphQL fields of a message that events of sent and of edited messages both contain. */
const told = {
  databaseId: idOf,
  type: ({ message }: MessageProjection) => (message.channel === null ? 'direct' : 'channel'),
  sender: { facts: userProjection, of: ({ message }: MessageProjection) => ({ user: message.sender }) },
  client: ({ message }: MessageProjection) => message.client,
  channel: { facts: namedChannel, of: ({ message }: MessageProjection) => message.channel },
  topicName: ({ message }: MessageProjection) => message.topic,
  topicLinks: ({ message }: MessageProjection) => message.topicLinks,
  sentAt: ({ message }: MessageProjection) => new Date(message.sentAt ?? message.timestamp * 1000),
  flags: ({ flags }: MessageProjection) => toWireFlags(flags).filter(isFlag),
  viewerHasRead: ({ flags }: MessageProjection) => flags.read === true,
  viewerHasStarred: ({ flags }: MessageProjection) => flags.starred === true,
};

interface MessageProjection extends Pick<ProjectedMessage, 'flags'> {
  readonly message: Omit<MessageEventSnapshot, 'content' | 'renderedContent' | 'members'>;
}

const topicOf = ({ message: { channel, topic } }: MessageProjection): NamedTopic | null =>
  channel === null ? null : { channelId: channel.id, name: topic };

const nothing = () => null;

/** Event projection of a message that was just sent. */
export const sentMessage = new EventProjection<ProjectedMessage>(
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
  emojiName: ({ emojiName }: ReactionGroup | SeenReaction) => emojiName,
  emojiCode: ({ emojiCode }: ReactionGroup | SeenReaction) => emojiCode,
  reactionType: ({ reactionType }: ReactionGroup | SeenReaction) => reactionType,
};

const reaction = new EventProjection<SeenReaction>(
  'Reaction',
  { idOf: ({ id }) => id },
  { ...emoji, user: { facts: userReference, of: ({ userId }) => userId } },
);

const reactionGroup = new EventProjection<ReactionGroup>(
  'ReactionGroup',
  { idOf: null },
  {
    ...emoji,
    count: ({ count }) => count,
    viewerHasReacted: ({ viewerHasReacted }) => viewerHasReacted,
    users: { facts: userReference, of: ({ userIds }) => userIds },
  },
);

/** GraphQL fields with the reactions to a message. Unknown if the event does not contain all reactions. */
const reacted = {
  reactions: { facts: reaction, of: ({ reactions }: Reacted) => reactions?.all },
  reactionGroups: { facts: reactionGroup, of: ({ reactions }: Reacted) => reactions?.groups },
};

interface Reacted {
  readonly reactions?: SeenReactions | null | undefined;
}

/** Event projection of a message to which a reaction was added or from which one was removed. Contains all of its reactions. */
export const reactedMessage = new EventProjection<ProjectedReacted>(
  'Message',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, ...reacted },
);

/** Snapshot of a message whose content was edited by its sender. */
export interface ProjectedEdit extends MessageProjection, Reacted {
  readonly message: MessageProjection['message'] & {
    readonly lastEditedAt: string;
    readonly lastMovedAt: string | null;
  };
  readonly content: { readonly source: string; readonly html: string; readonly isMeMessage: boolean };
}

const dateOrNull = (iso: string | null) => (iso === null ? null : new Date(iso));

const edited = {
  ...told,
  topic: { facts: topicReference, of: topicOf },
  participants: { facts: namedUser, of: nothing },
  content: ({ content }: ProjectedEdit) => content.source,
  renderedContent: ({ content }: ProjectedEdit) => content.html,
  isMeMessage: ({ content }: ProjectedEdit) => content.isMeMessage,
  lastEditedAt: ({ message }: ProjectedEdit) => new Date(message.lastEditedAt),
  lastMovedAt: ({ message }: ProjectedEdit) => dateOrNull(message.lastMovedAt),
};

const editedMessage = new EventProjection<ProjectedEdit>('Message', { idOf }, { ...edited, ...reacted });

/**
 * Event projection of an edited message, for events that do not contain reactions. The message has too many of them, or the
 * event was logged by an earlier version.
 */
const editedWithoutReactions = new EventProjection<ProjectedEdit>('Message', { idOf }, edited);

/**
 * Returns the event projection of a message whose content its sender edited. It includes reactions if the event contains them.
 */
export const editProjection = ({ reactions }: Reacted): EventProjection<ProjectedEdit> =>
  reactions == null ? editedWithoutReactions : editedMessage;

/** Snapshot of a moved message: its new location and the time of the move. */
export interface ProjectedMove {
  readonly id: number;
  readonly channelId: number;
  readonly topic: string;
  /** Time of the move, in ISO 8601. Events logged by earlier versions have a precision of one second. */
  readonly at: string;
}

const place = {
  databaseId: ({ id }: ProjectedMove) => id,
  type: () => 'channel',
  channel: { facts: channelReference, of: ({ channelId }: ProjectedMove) => channelId },
  topic: { facts: topicReference, of: ({ channelId, topic }: ProjectedMove) => ({ channelId, name: topic }) },
  participants: { facts: namedUser, of: nothing },
};
const topicName = {
  topicName: ({ topic }: ProjectedMove) => topic,
  topicLinks: ({ topic }: ProjectedMove) => (topic === '' ? [] : topicLinks(topic)),
};
const lastMovedAt = { lastMovedAt: ({ at }: ProjectedMove) => new Date(at) };

const identity = { idOf: ({ id }: ProjectedMove) => id };

/** Event projection of a moved message: its new channel and topic, and the time of the move. */
export const movedMessage = new EventProjection('Message', identity, { ...place, ...topicName, ...lastMovedAt });

/**
 * Event projection of a moved message without its topic name. Used if the moved messages keep different spellings of the name
 * (letter case, Unicode form), so that no name is right for all of them.
 */
export const messageOfSpellings = new EventProjection('Message', identity, { ...place, ...lastMovedAt });

/**
 * Event projection of a message whose topic was resolved or unresolved. It has no `lastMovedAt`, because resolving does not
 * count as a move.
 */
export const messageOfResolved = new EventProjection('Message', identity, { ...place, ...topicName });

/** Message field that shows a flag of the viewer, by flag name. Flags that are not listed are only in the field `flags`. */
const FIELD_OF: Readonly<Record<string, string>> = { read: 'viewerHasRead', starred: 'viewerHasStarred' };

const flagFacts = new Map<string, EventProjection<number>>();

/** Returns the event projection of a message after a flag of the viewer was set or removed. Its input is the message id. */
export function flaggedMessage(flag: string, isSet: boolean): EventProjection<number> {
  const key = `${flag} ${isSet}`;
  let facts = flagFacts.get(key);
  if (facts === undefined) {
    const field = FIELD_OF[flag];
    const said = field === undefined ? {} : { [field]: () => isSet };
    facts = new EventProjection<number>('Message', { idOf: (id) => id }, { databaseId: (id) => id, ...said });
    flagFacts.set(key, facts);
  }
  return facts;
}

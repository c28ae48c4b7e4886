import { EventProjection, referenceProjection } from '../api/graphql/schema/event-projections.ts';
import { channelReference, namedChannel } from '../channels/event-projections.ts';
import { isMeMessage, topicLinks } from '../markdown/render.ts';
import { namedUser, userProjection, userReference } from '../people/event-projections.ts';
import { writtenConversation } from './conversation-projections.ts';
import type { ProjectedReacted } from './reactions/events.ts';
import type { ReactionGroup, SeenReaction, SeenReactions } from './reactions/groups.ts';
import { topicReference, type WrittenTopic, writtenTopic } from './topic-projections.ts';
import { isFlag, type MessageEventSnapshot, toWireFlags, type UserFlags } from './wire.ts';

/** Data of a message in an event, with the flags of the viewer for this message. */
export interface ProjectedMessage {
  readonly message: MessageEventSnapshot;
  readonly flags: UserFlags;
}

/**
 * Event projection (the fields that an event alone provides) of a message, for events that contain only the message's id: `id`
 * and `databaseId`.
 */
export const messageReference = referenceProjection('Message');

const idOf = ({ message }: { readonly message: { readonly id: number } }) => message.id;

/** GraphQL fields that the events of a sent message and of an edited message have in common. */
const commonFields = {
  databaseId: idOf,
  type: ({ message }: MessageProjection) => (message.channel === null ? 'direct' : 'channel'),
  sender: { projection: userProjection, of: ({ message }: MessageProjection) => ({ user: message.sender }) },
  client: ({ message }: MessageProjection) => message.client,
  channel: { projection: namedChannel, of: ({ message }: MessageProjection) => message.channel },
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

const topicOf = ({ message: { id, channel, topic } }: MessageProjection): WrittenTopic | null =>
  channel === null ? null : { channelId: channel.id, name: topic, messageId: id };

const nothing = () => null;

/**
 * Event projection of a message that was just sent: all fields of the message itself, and its sender, channel, topic and
 * conversation.
 */
export const sentMessage = new EventProjection<ProjectedMessage>(
  'Message',
  { idOf },
  {
    ...commonFields,
    topic: { projection: writtenTopic, of: topicOf },
    participants: { projection: namedUser, of: ({ message }) => (message.channel === null ? message.members : null) },
    directConversation: {
      projection: writtenConversation,
      of: ({ message }) => (message.channel === null ? message : null),
    },
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
  { ...emoji, user: { projection: userReference, of: ({ userId }) => userId } },
);

const reactionGroup = new EventProjection<ReactionGroup>(
  'ReactionGroup',
  { idOf: null },
  {
    ...emoji,
    count: ({ count }) => count,
    viewerHasReacted: ({ viewerHasReacted }) => viewerHasReacted,
    users: { projection: userReference, of: ({ userIds }) => userIds },
  },
);

/** GraphQL fields with the reactions to a message. Their values are undefined if the event does not contain all reactions. */
const reacted = {
  reactions: { projection: reaction, of: ({ reactions }: Reacted) => reactions?.all },
  reactionGroups: { projection: reactionGroup, of: ({ reactions }: Reacted) => reactions?.groups },
};

interface Reacted {
  readonly reactions?: SeenReactions | null | undefined;
}

/** Event projection of a message after a reaction was added or removed: `id`, `databaseId`, and all reactions to it. */
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
  ...commonFields,
  topic: { projection: topicReference, of: topicOf },
  participants: { projection: namedUser, of: nothing },
  content: ({ content }: ProjectedEdit) => content.source,
  renderedContent: ({ content }: ProjectedEdit) => content.html,
  isMeMessage: ({ content }: ProjectedEdit) => content.isMeMessage,
  lastEditedAt: ({ message }: ProjectedEdit) => new Date(message.lastEditedAt),
  lastMovedAt: ({ message }: ProjectedEdit) => dateOrNull(message.lastMovedAt),
};

const editedMessage = new EventProjection<ProjectedEdit>('Message', { idOf }, { ...edited, ...reacted });

/**
 * Event projection of an edited message without its reactions, for events that do not contain them. An event contains none if
 * the message has too many reactions, or if an earlier version of the server logged the event.
 */
const editedWithoutReactions = new EventProjection<ProjectedEdit>('Message', { idOf }, edited);

/**
 * Returns the event projection of a message whose content was edited: its fields as edited, and its reactions if the event
 * contains them.
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
  channel: { projection: channelReference, of: ({ channelId }: ProjectedMove) => channelId },
  topic: { projection: topicReference, of: ({ channelId, topic }: ProjectedMove) => ({ channelId, name: topic }) },
  participants: { projection: namedUser, of: nothing },
};
const topicName = {
  topicName: ({ topic }: ProjectedMove) => topic,
  topicLinks: ({ topic }: ProjectedMove) => (topic === '' ? [] : topicLinks(topic)),
};
const lastMovedAt = { lastMovedAt: ({ at }: ProjectedMove) => new Date(at) };

const identity = { idOf: ({ id }: ProjectedMove) => id };

/** Event projection of a moved message: `id`, `databaseId`, its new channel and topic, and the time of the move. */
export const movedMessage = new EventProjection('Message', identity, { ...place, ...topicName, ...lastMovedAt });

/**
 * Event projection of a moved message: `id`, `databaseId`, its new channel, and the time of the move, but not the name of its
 * topic. Used if the moved messages spell the name differently (letter case, Unicode form), because one projection applies to
 * all of them.
 */
export const movedMessageWithoutName = new EventProjection('Message', identity, { ...place, ...lastMovedAt });

/**
 * Event projection of a message whose topic was resolved or unresolved: `id`, `databaseId`, channel and topic. It has no
 * `lastMovedAt`, because resolving does not count as a move.
 */
export const resolvedMessage = new EventProjection('Message', identity, { ...place, ...topicName });

/**
 * Names of the message fields that show a flag of the viewer, by name of the flag. Other flags are only in the field `flags`.
 */
const FIELD_OF: Readonly<Record<string, string>> = { read: 'viewerHasRead', starred: 'viewerHasStarred' };

const flagProjections = new Map<string, EventProjection<number>>();

/**
 * Returns the event projection of a message after a flag of the viewer was set or removed: `id`, `databaseId`, and the field
 * that shows the flag. The input of the projection is the message id.
 */
export function flaggedMessage(flag: string, isSet: boolean): EventProjection<number> {
  const key = `${flag} ${isSet}`;
  let projection = flagProjections.get(key);
  if (projection === undefined) {
    const field = FIELD_OF[flag];
    const changedField = field === undefined ? {} : { [field]: () => isSet };
    projection = new EventProjection<number>(
      'Message',
      { idOf: (id) => id },
      { databaseId: (id) => id, ...changedField },
    );
    flagProjections.set(key, projection);
  }
  return projection;
}

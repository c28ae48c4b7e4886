import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType, outdatedOf, outdatedRoot } from '../../api/graphql/schema/event-types.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { channelReference, channelToBeSeen, namedChannel } from '../../channels/event-projections.ts';
import { Channel } from '../../channels/graphql.ts';
import { isResolved } from '../../channels/topic-name.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import {
  editProjection,
  messageReference,
  movedMessage,
  movedMessageWithoutName,
  type ProjectedEdit,
  type ProjectedMove,
  resolvedMessage,
} from '../event-projections.ts';
import { Message } from '../graphql.ts';
import { type NamedTopic, topicId } from '../topic-ids.ts';
import { Topic } from '../topics/graphql.ts';
import type { ProjectedDeletion, RecipientUpdate } from './events.ts';
import { PropagateModeEnum } from './graphql.ts';

type UpdateSource = EventSource<unknown, RecipientUpdate>;

/**
 * Returns the lists that become outdated when messages of the channels are moved or deleted, because topics enter or leave
 * them.
 */
const outdatedTopics = (channelIds: readonly number[]) => [
  outdatedRoot('topics'),
  ...outdatedOf('Channel', channelIds, ['topics']),
];

const isEditKnown = ({ message, content }: RecipientUpdate): boolean => message !== undefined && content !== null;

/**
 * Returns the event projection (the fields that an event alone provides) of the message to which the `id` of an event refers:
 * the fields of an edited message, or those of a moved message.
 */
function projectionOfUpdated({ facts }: UpdateSource): EventProjection {
  return isEditKnown(facts) ? editProjection(facts) : projectionOfMoved(facts);
}

/**
 * Returns the event projection of a moved message: its new location. If the event is not about a move, the projection has only
 * the ids of the message.
 */
function projectionOfMoved({ move }: RecipientUpdate): EventProjection {
  if (move === null) return messageReference;
  if (move.topic === null) return move.isOneSpelling === true ? movedMessage : movedMessageWithoutName;
  const isResolution = move.channelId === null && isResolved(move.topic) !== isResolved(move.origTopic);
  return isResolution ? resolvedMessage : movedMessage;
}

/**
 * Returns the event projection of each message in the event's list of messages: its new location or, if the event is not about
 * a move, its edited fields. All messages of a move share one projection.
 */
const projectionOfEach = (source: UpdateSource): EventProjection =>
  source.facts.move === null ? projectionOfUpdated(source) : projectionOfMoved(source.facts);

/**
 * Returns the event projection of the previous channel: `id`, `databaseId` and name. If the channel changed, the projection has
 * no fields, because some recipients may not be able to see the source channel.
 */
const projectionOfOrigChannel = ({ facts: { move } }: UpdateSource) =>
  move === null || move.channelId === null ? namedChannel : channelToBeSeen;

/**
 * Event projection of the topic from which messages were moved. It has no fields, because not all recipients of the event can
 * see the topic.
 */
const topicToBeSeen = new EventProjection<NamedTopic>('Topic', { idOf: topicId, isSeen: false }, {});

/** Returns the topic from which an event moved messages. Null if it moved none. */
const origTopicIn = ({ facts: { channel, move } }: UpdateSource): NamedTopic | null =>
  channel === null || move === null ? null : { channelId: channel.id, name: move.origTopic };

/** Returns the data from which `projectionOfUpdated` computes the GraphQL fields of a message of the event. */
const updated = (facts: RecipientUpdate, id: number): ProjectedEdit | ProjectedMove | number =>
  isEditKnown(facts) ? (facts as ProjectedEdit) : moved(facts, id);

/**
 * Returns the data from which `projectionOfMoved` computes the GraphQL fields of a message of the event. If no message was
 * moved, this is the message id.
 */
function moved(facts: RecipientUpdate, id: number): ProjectedMove | number {
  const { move, channel } = facts;
  if (move === null) return id;
  return {
    id,
    channelId: move.channelId ?? channel?.id ?? 0,
    topic: move.topic ?? move.origTopic,
    at: atOf(facts),
  };
}

const atOf = ({ at, timestamp }: RecipientUpdate): string => at ?? new Date(timestamp * 1000).toISOString();

eventType<unknown, RecipientUpdate>(
  'update_message',
  undefined,
  'MessageUpdatedEvent',
  (t) => ({
    editor: t.field({
      type: User,
      nullable: true,
      description: 'User who edited or moved the messages. Null if `isRenderingOnly` is true.',
      ...projectedFromEvent(userReference, ({ facts }: UpdateSource) => facts.editorId),
    }),
    isRenderingOnly: t.boolean({
      description:
        'Whether the service added previews of links to the rendered content. The message was not edited, and is not to be shown ' +
        'as edited.',
      resolve: ({ facts }) => facts.rendering !== undefined,
    }),
    editedAt: t.field({
      type: 'DateTime',
      description: 'Time of the edit, of the move, or of the new rendering.',
      resolve: ({ facts }) => new Date(atOf(facts)),
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description:
        'The message whose content changed. If no content changed: the message that was selected for the move.',
      ...projectedFromEvent(projectionOfUpdated, ({ facts }: UpdateSource) => updated(facts, facts.id)),
    }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description:
        'All moved messages, in the order in which they were sent. If no message was moved: the edited message.',
      ...projectedFromEvent(projectionOfEach, ({ facts }: UpdateSource) =>
        facts.ids.map((id) => (facts.move === null ? updated(facts, id) : moved(facts, id))),
      ),
    }),
    origChannel: t.field({
      type: Channel,
      nullable: true,
      description: 'Previous channel. Null for a direct message, or if the user cannot see the channel.',
      ...projectedFromEvent(projectionOfOrigChannel, ({ facts }: UpdateSource) => facts.channel),
    }),
    origTopic: t.field({
      type: Topic,
      nullable: true,
      description:
        'Previous topic. If all its messages were moved, its `movedTo` is the topic that has them now. Null if no ' +
        'message was moved. Also null if the viewer can read no message of this topic and none of the moved ' +
        'messages.',
      ...projectedFromEvent(
        (source: UpdateSource) => (origTopicIn(source) === null ? undefined : topicToBeSeen),
        origTopicIn,
      ),
    }),
    origTopicName: t.string({
      nullable: true,
      description: 'Name of the previous topic. Null if no message was moved.',
      resolve: ({ facts }) => facts.move?.origTopic ?? null,
    }),
    propagateMode: t.field({
      type: PropagateModeEnum,
      nullable: true,
      description: 'Extent of the move, relative to `message`. Null if no message was moved.',
      resolve: ({ facts }) => facts.move?.propagateMode ?? null,
    }),
    origContent: t.string({
      nullable: true,
      description: 'Previous content as flavored Markdown. Null if the content did not change.',
      resolve: ({ facts }) => facts.content?.origSource ?? null,
    }),
    origRenderedContent: t.string({
      nullable: true,
      description:
        '`origContent` as HTML. Null if the content did not change, or if the HTML is longer than 65,536 characters. ' +
        '`Message.editHistory` contains it.',
      resolve: ({ facts }) => facts.content?.origHtml ?? null,
    }),
  }),
  {
    description: 'A message was edited, messages were moved, or previews of links were added to a message.',
    outdates: ({ facts: { channel, move } }) => {
      if (channel === null || move === null) return [];
      const target = move.channelId === null ? [] : [move.channelId];
      return outdatedTopics([channel.id, ...target]);
    },
  },
);

interface DeleteBody {
  readonly message_id?: number;
  readonly message_ids?: readonly number[];
}

type DeletedSource = EventSource<DeleteBody, ProjectedDeletion>;

eventType<DeleteBody, ProjectedDeletion>(
  'delete_message',
  undefined,
  'MessagesDeletedEvent',
  (t) => ({
    messageIds: t.idList({
      ...refersTo('Message'),
      description:
        'Ids of the deleted messages, in the order in which they were sent. Queues that were registered ' +
        'over REST without the client capability `bulk_message_deletion` receive one event per message.',
      resolve: ({ event }) => event.message_ids ?? [event.message_id ?? 0],
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Channel of the messages. Null for direct messages.',
      ...projectedFromEvent(channelReference, ({ facts }: DeletedSource) => facts.place?.channelId ?? null),
    }),
    topicName: t.string({
      nullable: true,
      description: 'Name of the topic of the messages. Null for direct messages.',
      resolve: ({ facts }) => facts.place?.topic ?? null,
    }),
  }),
  {
    description: 'Messages were deleted, or the user can no longer read them.',
    outdates: ({ facts: { place } }) => (place === null ? [] : outdatedTopics([place.channelId])),
  },
);

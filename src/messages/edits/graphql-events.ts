import { type EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { channelReference, channelToBeSeen, namedChannel } from '../../channels/event-projections.ts';
import { Channel } from '../../channels/graphql.ts';
import { isResolved } from '../../channels/topic-name.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import {
  editProjection,
  messageOfResolved,
  messageOfSpellings,
  messageReference,
  movedMessage,
  type ProjectedEdit,
  type ProjectedMove,
} from '../event-projections.ts';
import { Message } from '../graphql.ts';
import type { DeletedPayload, RecipientUpdate } from './events.ts';
import { PropagateModeEnum } from './graphql.ts';

type UpdateSource = EventSource<unknown, RecipientUpdate>;

const isEditKnown = ({ message, content }: RecipientUpdate): boolean => message !== undefined && content !== null;

/** Returns the event projection of the message that the event is about. */
function factsOfUpdated({ facts }: UpdateSource): EventProjection {
  return isEditKnown(facts) ? editProjection(facts) : factsOfMoved(facts);
}

/**
 * Returns the event projection of a moved message, with its new location. If no message was moved, the projection has only the
 * id.
 */
function factsOfMoved({ move }: RecipientUpdate): EventProjection {
  if (move === null) return messageReference;
  if (move.topic === null) return move.isOneSpelling === true ? movedMessage : messageOfSpellings;
  const isResolution = move.channelId === null && isResolved(move.topic) !== isResolved(move.origTopic);
  return isResolution ? messageOfResolved : movedMessage;
}

/** Returns the event projection for the messages in the event's list. One projection applies to all messages of a move. */
const factsOfEach = (source: UpdateSource): EventProjection =>
  source.facts.move === null ? factsOfUpdated(source) : factsOfMoved(source.facts);

/**
 * Returns the event projection of the previous channel. Recipients can read the messages in the target channel, but some may
 * not be able to see the source channel.
 */
const factsOfOrigChannel = ({ facts: { move } }: UpdateSource) =>
  move === null || move.channelId === null ? namedChannel : channelToBeSeen;

/** Returns a message of the event in the form that the projection from `factsOfUpdated` reads. */
const updated = (facts: RecipientUpdate, id: number): ProjectedEdit | ProjectedMove | number =>
  isEditKnown(facts) ? (facts as ProjectedEdit) : moved(facts, id);

/**
 * Returns a message of the event in the form that the projection from `factsOfMoved` reads. If no message was moved, this is
 * the id.
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
      description: 'User who edited or moved the messages.',
      ...projectedFromEvent(userReference, ({ facts }: UpdateSource) => facts.editorId),
    }),
    editedAt: t.field({
      type: 'DateTime',
      description: 'Time of the edit or move.',
      resolve: ({ facts }) => new Date(atOf(facts)),
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The message whose content changed. If none did: the message that was selected for the move.',
      ...projectedFromEvent(factsOfUpdated, ({ facts }: UpdateSource) => updated(facts, facts.id)),
    }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description: 'All moved messages, in the order in which they were sent. If none moved: the edited message.',
      ...projectedFromEvent(factsOfEach, ({ facts }: UpdateSource) =>
        facts.ids.map((id) => (facts.move === null ? updated(facts, id) : moved(facts, id))),
      ),
    }),
    origChannel: t.field({
      type: Channel,
      nullable: true,
      description: 'Previous channel. Null for a direct message, and if the user cannot see the channel.',
      ...projectedFromEvent(factsOfOrigChannel, ({ facts }: UpdateSource) => facts.channel),
    }),
    origTopicName: t.string({
      nullable: true,
      description: 'Name of the previous topic. Null if no message moved.',
      resolve: ({ facts }) => facts.move?.origTopic ?? null,
    }),
    propagateMode: t.field({
      type: PropagateModeEnum,
      nullable: true,
      description: 'The messages of the topic that were moved together. Null if no message moved.',
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
  { description: 'A message was edited, or messages were moved.' },
);

interface DeleteBody {
  readonly message_id?: number;
  readonly message_ids?: readonly number[];
}

type DeletedSource = EventSource<DeleteBody, Pick<DeletedPayload, 'place'>>;

eventType<DeleteBody, Pick<DeletedPayload, 'place'>>(
  'delete_message',
  undefined,
  'MessagesDeletedEvent',
  (t) => ({
    messageIds: t.idList({
      ...refersTo('Message'),
      description:
        'Ids of the deleted messages, in the order in which they were sent. Clients without the capability ' +
        '`bulkMessageDeletion` receive one event per message.',
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
  { description: 'Messages were deleted, or the user can no longer read them.' },
);

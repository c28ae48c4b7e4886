import { type EntityFacts, fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { channelReference, channelToBeSeen, namedChannel } from '../../channels/entity-facts.ts';
import { Channel } from '../../channels/graphql.ts';
import { isResolved } from '../../channels/topic-name.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User } from '../../people/graphql.ts';
import {
  factsOfEdit,
  type KnownEdit,
  type KnownMove,
  messageOfResolved,
  messageOfSpellings,
  messageReference,
  movedMessage,
} from '../entity-facts.ts';
import { Message } from '../graphql.ts';
import type { DeletedPayload, KnownUpdate } from './events.ts';
import { PropagateModeEnum } from './graphql.ts';

type UpdateSource = EventSource<unknown, KnownUpdate>;

const isEditKnown = ({ message, content }: KnownUpdate): boolean => message !== undefined && content !== null;

/** What the event knows of the messages it is about. */
function factsOfUpdated({ facts }: UpdateSource): EntityFacts {
  return isEditKnown(facts) ? factsOfEdit(facts) : factsOfMoved(facts);
}

/** What it knows of a message that moved; of one that stays, its id. */
function factsOfMoved({ move }: KnownUpdate): EntityFacts {
  if (move === null) return messageReference;
  if (move.topic === null) return move.isOneSpelling === true ? movedMessage : messageOfSpellings;
  const isResolution = move.channelId === null && isResolved(move.topic) !== isResolved(move.origTopic);
  return isResolution ? messageOfResolved : movedMessage;
}

/** What it knows of each that it lists: of several all that moved is the same. */
const factsOfEach = (source: UpdateSource): EntityFacts =>
  source.facts.move === null ? factsOfUpdated(source) : factsOfMoved(source.facts);

/** Who hears of messages where they have come to need not see where they were. */
const factsOfOrigChannel = ({ facts: { move } }: UpdateSource) =>
  move === null || move.channelId === null ? namedChannel : channelToBeSeen;

/** One of them, as those facts have it. */
const updated = (facts: KnownUpdate, id: number): KnownEdit | KnownMove | number =>
  isEditKnown(facts) ? (facts as KnownEdit) : moved(facts, id);

/** One of the messages that moved, as facts of moved ones have it; its id where none did. */
function moved(facts: KnownUpdate, id: number): KnownMove | number {
  const { move, channel } = facts;
  if (move === null) return id;
  return {
    id,
    channelId: move.channelId ?? channel?.id ?? 0,
    topic: move.topic ?? move.origTopic,
    at: atOf(facts),
  };
}

const atOf = ({ at, timestamp }: KnownUpdate): string => at ?? new Date(timestamp * 1000).toISOString();

eventType<unknown, KnownUpdate>(
  'update_message',
  undefined,
  'MessageUpdatedEvent',
  (t) => ({
    editor: t.field({
      type: User,
      nullable: true,
      description: 'Who edited or moved them.',
      ...fromEvent(userReference, ({ facts }: UpdateSource) => facts.editorId),
    }),
    editedAt: t.field({
      type: 'DateTime',
      description: 'When they were edited or moved.',
      resolve: ({ facts }) => new Date(atOf(facts)),
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The message whose content changed, if one did; else the one that was named when they were moved.',
      ...fromEvent(factsOfUpdated, ({ facts }: UpdateSource) => updated(facts, facts.id)),
    }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description: 'All messages that moved, in the order they were sent; or the one that was edited.',
      ...fromEvent(factsOfEach, ({ facts }: UpdateSource) =>
        facts.ids.map((id) => (facts.move === null ? updated(facts, id) : moved(facts, id))),
      ),
    }),
    origChannel: t.field({
      type: Channel,
      nullable: true,
      description: 'Where they were before; null for a direct message, and for who does not see that channel.',
      ...fromEvent(factsOfOrigChannel, ({ facts }: UpdateSource) => facts.channel),
    }),
    origTopicName: t.string({
      nullable: true,
      description: 'The topic they had before; null when nothing moved.',
      resolve: ({ facts }) => facts.move?.origTopic ?? null,
    }),
    propagateMode: t.field({
      type: PropagateModeEnum,
      nullable: true,
      description: 'What of the topic went along; null when nothing moved.',
      resolve: ({ facts }) => facts.move?.propagateMode ?? null,
    }),
    origContent: t.string({
      nullable: true,
      description: 'What the message said before, as flavored Markdown; null when its content stays.',
      resolve: ({ facts }) => facts.content?.origSource ?? null,
    }),
    origRenderedContent: t.string({
      nullable: true,
      description: '`origContent` as HTML; null when the content stays.',
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
        'The messages that are gone, in the order they were sent; one at a time without the capability ' +
        '`bulkMessageDeletion`.',
      resolve: ({ event }) => event.message_ids ?? [event.message_id ?? 0],
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Where they were; null for direct messages.',
      ...fromEvent(channelReference, ({ facts }: DeletedSource) => facts.place?.channelId ?? null),
    }),
    topicName: t.string({
      nullable: true,
      description: 'The topic they had; null for direct messages.',
      resolve: ({ facts }) => facts.place?.topic ?? null,
    }),
  }),
  { description: 'Messages were deleted, or are not for the user to read any more.' },
);

import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOfList } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { type EntityFacts, fromEvent } from '../../api/graphql/entity-facts.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeOf } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { channelReference, namedChannel } from '../../channels/entity-facts.ts';
import { Channel } from '../../channels/graphql.ts';
import { htmlDiff } from '../../markdown/diff.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { ExpectationMismatchError } from '../../platform/errors.ts';
import { historyPolicy, historySteps } from '../edit-history.ts';
import { factsOfEdit, type KnownEdit, type KnownMove, messageReference, movedMessage } from '../entity-facts.ts';
import { Message, readBack } from '../graphql.ts';
import { WildcardMentionNotAllowedError } from '../sending/errors.ts';
import { viewerAsSender } from '../sending/loaders.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { deleteMessage, objectionToDeleting } from './delete.ts';
import { objectionToEditing, updateMessage } from './edit.ts';
import { MoveMessagesTimeLimitExceededError } from './errors.ts';
import type { DeletedPayload, KnownUpdate } from './events.ts';
import { type Snapshot, toSnapshots } from './history.ts';
import { editsOf } from './loaders.ts';
import { mayMove } from './move.ts';

const PropagateModeEnum = builder.enumType('PropagateMode', {
  description: 'What of a topic goes along when a message is moved.',
  values: {
    CHANGE_ONE: { value: 'change_one', description: 'Nothing.' },
    CHANGE_LATER: { value: 'change_later', description: 'The messages after it.' },
    CHANGE_ALL: { value: 'change_all', description: 'All messages.' },
  } as const,
});

const MessageSnapshot = builder.objectRef<Snapshot>('MessageSnapshot').implement({
  description: 'A message as it was sent, or as an edit left it.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When it was sent or, for a later one, edited.' }),
    editor: t.field({
      type: User,
      description: 'Who sent or edited it.',
      resolve: ({ userId }, _args, ctx) => usersById(ctx).load(userId),
    }),
    topicName: t.string({ description: 'The topic it had then.', resolve: ({ state }) => state.topic }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description:
        'The topic it had then; null for a direct message, and when there is nothing to read in it any more.',
      resolve: ({ state: { channelId, topic } }, _args, ctx) => topicAt(ctx, channelId, topic),
    }),
    prevTopicName: t.string({
      nullable: true,
      description: 'The topic it had before; null when the edit left it as it was.',
      resolve: ({ step }) => (step?.showsTopic === true ? step.before.topic : null),
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description:
        'The channel it was in then; null for a direct message, and when the viewer does not see the channel.',
      resolve: ({ state }, _args, ctx) => nodeOf(ctx, 'Channel', state.channelId),
    }),
    prevChannel: t.field({
      type: Channel,
      nullable: true,
      description:
        'The channel it was in before; null when the edit left it there, and when the viewer does not see the channel.',
      resolve: ({ step }, _args, ctx) =>
        nodeOf(ctx, 'Channel', step?.showsChannel === true ? step.before.channelId : null),
    }),
    content: t.string({
      description: 'What it said then, as flavored Markdown.',
      resolve: ({ state }) => state.content,
    }),
    renderedContent: t.string({ description: '`content` as HTML.', resolve: ({ state }) => state.renderedContent }),
    prevContent: t.string({
      nullable: true,
      description: 'What it said before, as flavored Markdown; null when the edit left the content as it was.',
      resolve: ({ step }) => (step?.showsContent === true ? step.before.content : null),
    }),
    prevRenderedContent: t.string({
      nullable: true,
      description: '`prevContent` as HTML.',
      resolve: ({ step }) => (step?.showsContent === true ? step.before.renderedContent : null),
    }),
    contentHtmlDiff: t.string({
      nullable: true,
      description:
        '`renderedContent`, with what the edit put in and what it took out marked; null when the edit left the content as it was.',
      resolve: ({ step }) =>
        step?.showsContent === true ? htmlDiff(step.before.renderedContent, step.after.renderedContent) : null,
    }),
  }),
});

const SnapshotConnection = builder.connectionObject(
  { type: MessageSnapshot, name: 'MessageSnapshotConnection' },
  { name: 'MessageSnapshotEdge' },
);

builder.prismaObjectField(Message, 'editHistory', (t) =>
  t.connection(
    {
      type: MessageSnapshot,
      description:
        'What it was from its sending on, as far as the organization shows it, the oldest snapshot first. Empty where ' +
        'edit histories are not shown.',
      resolve: async (message, args, ctx) => {
        const policy = historyPolicy(signedIn(ctx).viewer.realm);
        if (policy === 'none') return pageOfList([], args);
        const steps = historySteps(message, await editsOf(ctx).load(message.id), policy);
        return pageOfList(toSnapshots(message, steps, policy), args);
      },
    },
    SnapshotConnection,
  ),
);

/** The channel of a message, when it takes changes. */
async function changeableChannel(ctx: GraphQLContext, { channelId }: { readonly channelId: number | null }) {
  const channel = await nodeOf(ctx, 'Channel', channelId);
  return { channel, isChangeable: channelId === null || channel?.isArchived === false };
}

builder.prismaObjectFields(Message, (t) => ({
  viewerCanEdit: t.boolean({
    description: 'Whether the viewer may edit its content now.',
    resolve: async (message, _args, ctx) => {
      const { app, viewer } = signedIn(ctx);
      if (objectionToEditing(viewer, message, app.now()) !== undefined) return false;
      return (await changeableChannel(ctx, message)).isChangeable;
    },
  }),
  viewerCanDelete: t.boolean({
    description: 'Whether the viewer may delete it now.',
    resolve: async (message, _args, ctx) => {
      const { channel, isChangeable } = await changeableChannel(ctx, message);
      if (!isChangeable) return false;
      const { viewer } = signedIn(ctx);
      const isOwn = async () =>
        message.senderId === viewer.id || (await nodeOf(ctx, 'User', message.senderId))?.botOwnerId === viewer.id;
      const { sentAt } = message;
      return (await objectionToDeleting(await viewerAsSender(ctx), { channel, sentAt }, isOwn)) === undefined;
    },
  }),
  viewerCanMove: t.boolean({
    description:
      'Whether the viewer may move it now, to another topic or to another channel. What is there may still object. Never ' +
      'for a direct message.',
    resolve: async (message, _args, ctx) => {
      const { channel, isChangeable } = await changeableChannel(ctx, message);
      if (channel === null || !isChangeable) return false;
      return mayMove(await viewerAsSender(ctx), signedIn(ctx).viewer, channel, message);
    },
  }),
}));

mutation('editMessage', {
  description: "Edits the content of one of the viewer's own messages.",
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'The message to edit.' }),
    content: t.string({ description: 'What it is to say, as flavored Markdown. Cut to 10,000 characters.' }),
    prevContentSha256: t.string({
      required: false,
      description:
        'SHA-256, in hex, of the content the edit is based on: if it says something else by now, the edit is refused.',
    }),
  }),
  // Not `message`: that is the word of every error in the same union.
  payload: () => ({
    editedMessage: {
      type: Message,
      nullable: true,
      description: 'As it is now; null when somebody deleted it meanwhile.',
    },
  }),
  errors: [ExpectationMismatchError, WildcardMentionNotAllowedError],
  resolve: async (ctx, { messageId, content, prevContentSha256 }) => {
    await updateMessage(ctx, messageId, {
      content,
      prevContentSha256: prevContentSha256 ?? undefined,
      propagateMode: 'change_one',
      notifiesOldTopic: false,
      notifiesNewTopic: true,
    });
    return { editedMessage: await readBack(ctx, messageId) };
  },
});

errorType(MoveMessagesTimeLimitExceededError, 'Some messages of the topic are too old to be moved.', (t) => ({
  firstAllowedMessage: t.field({
    type: Message,
    nullable: true,
    description: 'The oldest message that may be moved, with all after it; null when it is gone by now.',
    resolve: ({ data }, _args, ctx) => nodeOf(ctx, 'Message', data.first_message_id_allowed_to_move),
  }),
  messagesInTopic: t.int({
    description: 'How many messages the topic has.',
    resolve: ({ data }) => data.total_messages_in_topic,
  }),
  messagesAllowedToMove: t.int({
    description: 'How many of them the viewer may move.',
    resolve: ({ data }) => data.total_messages_allowed_to_move,
  }),
}));

mutation('moveMessages', {
  description: 'Moves a message, and others of its topic with it, to another topic, to another channel, or both.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'The message to move.' }),
    topic: t.string({
      required: false,
      description: 'The topic it is to have. Cut to 60 characters. Absent: as it is.',
    }),
    channelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: 'The channel it is to be in. Absent: where it is.',
    }),
    propagateMode: t.field({
      type: PropagateModeEnum,
      required: false,
      defaultValue: 'change_one',
      description: 'What of its topic goes along.',
    }),
    sendNotificationToOldTopic: t.boolean({
      required: false,
      defaultValue: false,
      description: 'Whether the old topic is told where they went.',
    }),
    sendNotificationToNewTopic: t.boolean({
      required: false,
      defaultValue: true,
      description: 'Whether the new topic is told where they came from.',
    }),
  }),
  payload: () => ({
    movedMessage: {
      type: Message,
      nullable: true,
      description: 'As it is now; null when the viewer may not read it there.',
    },
  }),
  errors: [MoveMessagesTimeLimitExceededError],
  resolve: async (ctx, { messageId, topic, channelId, ...how }) => {
    await updateMessage(ctx, messageId, {
      topic: topic ?? undefined,
      channelId: channelId ?? undefined,
      propagateMode: how.propagateMode ?? 'change_one',
      notifiesOldTopic: how.sendNotificationToOldTopic ?? false,
      notifiesNewTopic: how.sendNotificationToNewTopic ?? true,
    });
    return { movedMessage: await readBack(ctx, messageId) };
  },
});

mutation('deleteMessage', {
  description: 'Deletes a message.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'The message to delete.' }),
  }),
  payload: () => ({ messageId: { type: 'ID', refersTo: 'Message', description: 'Of the message that is gone.' } }),
  resolve: async (ctx, { messageId }) => {
    await deleteMessage(ctx, messageId);
    return { messageId };
  },
});

type UpdateSource = EventSource<unknown, KnownUpdate>;

const isEditKnown = ({ message, content }: KnownUpdate): boolean => message !== undefined && content !== null;

/** What the event knows of the messages it is about. */
function factsOfUpdated({ facts }: UpdateSource): EntityFacts {
  if (isEditKnown(facts)) return factsOfEdit(facts);
  return facts.move === null ? messageReference : movedMessage;
}

/** What it knows of each that it lists: of several all that moved is the same. */
const factsOfEach = (source: UpdateSource): EntityFacts =>
  source.facts.move === null ? factsOfUpdated(source) : movedMessage;

/** One of them, as those facts have it. */
const updated = (facts: KnownUpdate, id: number): KnownEdit | KnownMove | number =>
  isEditKnown(facts) ? (facts as KnownEdit) : moved(facts, id);

/** One of the messages that moved, as `movedMessage` has it; its id where none did. */
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
      description: 'Where they were before; null for a direct message.',
      ...fromEvent(namedChannel, ({ facts }: UpdateSource) => facts.channel),
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

import type { Ctx } from '../../access/context.ts';
import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOfList } from '../../api/graphql/connection.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { htmlDiff } from '../../markdown/diff.ts';
import type { TopicLink } from '../../markdown/render.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { BadRequestError, ExpectationMismatchError } from '../../platform/errors.ts';
import { accessMessage } from '../access.ts';
import { historyPolicy, historySteps } from '../edit-history.ts';
import { Message, MessageFlag, TopicLinkType } from '../graphql.ts';
import { WildcardMentionNotAllowedError } from '../sending/errors.ts';
import { isFlag } from '../wire.ts';
import { deleteMessage } from './delete.ts';
import { updateMessage } from './edit.ts';
import { MoveMessagesTimeLimitExceededError } from './errors.ts';
import type { PropagateMode } from './events.ts';
import { type Snapshot, toSnapshots } from './history.ts';
import { editsOf } from './loaders.ts';

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
    topic: t.string({ description: 'The topic it had then.', resolve: ({ state }) => state.topic }),
    prevTopic: t.string({
      nullable: true,
      description: 'The topic it had before; null when the edit left it as it was.',
      resolve: ({ step }) => (step?.showsTopic === true ? step.before.topic : null),
    }),
    channelId: t.id({
      ...refersTo('Channel'),
      nullable: true,
      description: 'The channel it was in then; null for a direct message.',
      resolve: ({ state }) => state.channelId,
    }),
    prevChannelId: t.id({
      ...refersTo('Channel'),
      nullable: true,
      description: 'The channel it was in before; null when the edit left it there.',
      resolve: ({ step }) => (step?.showsChannel === true ? step.before.channelId : null),
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

/** The message after a change of it; null when it is not the viewer's to read any more. */
async function readBack(ctx: Ctx, messageId: number) {
  try {
    return await accessMessage(ctx, messageId);
  } catch (error) {
    if (error instanceof BadRequestError) return null;
    throw error;
  }
}

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
  firstAllowedMessageId: t.id({
    ...refersTo('Message'),
    description: 'The oldest message that may be moved, with all after it.',
    resolve: ({ data }) => data.first_message_id_allowed_to_move,
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

interface UpdateBody {
  readonly user_id: number | null;
  readonly edit_timestamp: number;
  readonly message_id: number;
  readonly message_ids: readonly number[];
  readonly flags: readonly string[];
  readonly stream_id?: number;
  readonly new_stream_id?: number;
  readonly propagate_mode?: PropagateMode;
  readonly orig_subject?: string;
  readonly subject?: string;
  readonly topic_links?: readonly TopicLink[];
  readonly orig_content?: string;
  readonly orig_rendered_content?: string;
  readonly content?: string;
  readonly rendered_content?: string;
  readonly is_me_message?: boolean;
}

eventType<UpdateBody>(
  'update_message',
  undefined,
  'MessageUpdatedEvent',
  (t) => ({
    editorId: t.id({
      ...refersTo('User'),
      nullable: true,
      description: 'Who edited or moved them; null when the service did.',
      resolve: ({ event }) => event.user_id,
    }),
    editedAt: t.field({
      type: 'DateTime',
      description: 'When they were edited or moved.',
      resolve: ({ event }) => fromUnix(event.edit_timestamp),
    }),
    messageId: t.id({
      ...refersTo('Message'),
      description: 'The message `flags` are of, and whose content changed, if it did.',
      resolve: ({ event }) => event.message_id,
    }),
    messageIds: t.idList({
      ...refersTo('Message'),
      description: 'All messages that moved, in the order they were sent; or the one that was edited.',
      resolve: ({ event }) => event.message_ids,
    }),
    flags: t.field({
      type: [MessageFlag],
      description: "The user's own flags of the message, after the edit.",
      resolve: ({ event }) => event.flags.filter(isFlag),
    }),
    channelId: t.id({
      ...refersTo('Channel'),
      nullable: true,
      description: 'Where they were before; null for a direct message.',
      resolve: ({ event }) => event.stream_id ?? null,
    }),
    newChannelId: t.id({
      ...refersTo('Channel'),
      nullable: true,
      description: 'The channel they are in now; null when they stay in theirs.',
      resolve: ({ event }) => event.new_stream_id ?? null,
    }),
    propagateMode: t.field({
      type: PropagateModeEnum,
      nullable: true,
      description: 'What of the topic went along; null when nothing moved.',
      resolve: ({ event }) => event.propagate_mode ?? null,
    }),
    origTopic: t.string({
      nullable: true,
      description: 'The topic they had before; null when nothing moved.',
      resolve: ({ event }) => event.orig_subject ?? null,
    }),
    topic: t.string({
      nullable: true,
      description: 'The topic they have now; null when they keep theirs.',
      resolve: ({ event }) => event.subject ?? null,
    }),
    topicLinks: t.field({
      type: [TopicLinkType],
      nullable: true,
      description: "The links in the new topic's name; null when they keep their topic.",
      resolve: ({ event }) => event.topic_links ?? null,
    }),
    origContent: t.string({
      nullable: true,
      description: 'What the message said before, as flavored Markdown; null when its content stays.',
      resolve: ({ event }) => event.orig_content ?? null,
    }),
    origRenderedContent: t.string({
      nullable: true,
      description: '`origContent` as HTML; null when the content stays.',
      resolve: ({ event }) => event.orig_rendered_content ?? null,
    }),
    content: t.string({
      nullable: true,
      description: 'What the message says now, as flavored Markdown; null when its content stays.',
      resolve: ({ event }) => event.content ?? null,
    }),
    renderedContent: t.string({
      nullable: true,
      description: '`content` as HTML; null when the content stays.',
      resolve: ({ event }) => event.rendered_content ?? null,
    }),
    isMeMessage: t.boolean({
      nullable: true,
      description:
        'Whether it now tells what its sender does, and is shown behind their name; null when the content stays.',
      resolve: ({ event }) => event.is_me_message ?? null,
    }),
  }),
  { description: 'A message was edited, or messages were moved.' },
);

interface DeleteBody {
  readonly message_id?: number;
  readonly message_ids?: readonly number[];
  readonly stream_id?: number;
  readonly topic?: string;
}

eventType<DeleteBody>(
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
    channelId: t.id({
      ...refersTo('Channel'),
      nullable: true,
      description: 'Where they were; null for direct messages.',
      resolve: ({ event }) => event.stream_id ?? null,
    }),
    topic: t.string({
      nullable: true,
      description: 'The topic they had; null for direct messages.',
      resolve: ({ event }) => event.topic ?? null,
    }),
  }),
  { description: 'Messages were deleted, or are not for the user to read any more.' },
);

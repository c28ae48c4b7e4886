import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOfList } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeOf } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { byKey } from '../../api/graphql/together.ts';
import { Channel } from '../../channels/graphql.ts';
import { htmlDiff } from '../../markdown/diff.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { ExpectationMismatchError } from '../../platform/errors.ts';
import { historyPolicy, historySteps } from '../edit-history.ts';
import { Message, readBack } from '../graphql.ts';
import { WildcardMentionNotAllowedError } from '../sending/errors.ts';
import { viewerAsSender } from '../sending/loaders.ts';
import { lastMessageOf, Topic, topicAt } from '../topics/graphql.ts';
import { deleteMessage, objectionToDeleting } from './delete.ts';
import { objectionToEditing, updateMessage } from './edit.ts';
import { MoveMessagesTimeLimitExceededError } from './errors.ts';
import { type Snapshot, toSnapshots } from './history.ts';
import { editsOf } from './loaders.ts';
import { mayMove, mayResolve } from './move.ts';

export const PropagateModeEnum = builder.enumType('PropagateMode', {
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
      resolve: byKey(usersById, ({ userId }) => userId),
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

builder.objectFields(Topic, (t) => ({
  viewerCanResolve: t.boolean({
    description:
      'Whether the viewer may mark it as resolved now, or as not resolved any more, by moving all its messages. Never for ' +
      'the empty topic.',
    resolve: async (topic, _args, ctx) => {
      const message = await lastMessageOf(ctx, topic);
      if (message === null || topic.name === '') return false;
      const { channel, isChangeable } = await changeableChannel(ctx, message);
      if (channel === null || !isChangeable) return false;
      return mayResolve(await viewerAsSender(ctx), signedIn(ctx).viewer, channel, message);
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

import { signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOfList } from '../../api/graphql/schema/connection.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeOf } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { htmlDiff } from '../../markdown/diff.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { ExpectationMismatchError } from '../../platform/errors.ts';
import type { MessagePage } from '../channel-messages.ts';
import { historyPolicy, historySteps } from '../edit-history.ts';
import { changeableChannel, Message, readBack } from '../graphql.ts';
import { viewerAsSender } from '../sending/loaders.ts';
import { messageTexts } from '../text-budget.ts';
import { topicMessages } from '../topic-loaders.ts';
import { TopicRef, topicIn } from '../topic-ref.ts';
import { lastMessageOf, Topic, topicAt } from '../topics/graphql.ts';
import { findTopics, type TopicKey } from '../topics/topics.ts';
import { deleteMessage, objectionToDeleting } from './delete.ts';
import { mayDeleteTopics } from './delete-topic.ts';
import { objectionToEditing, updateMessage } from './edit.ts';
import { MoveMessagesTimeLimitExceededError } from './errors.ts';
import { type Snapshot, toSnapshots } from './history.ts';
import { comparisons, editsOf, snapshotBudget } from './loaders.ts';
import { mayMove, mayResolve } from './move.ts';
import { markResolved } from './resolve.ts';

export const PropagateModeEnum = builder.enumType('PropagateMode', {
  description: 'Extent of a move: the messages of a topic that are moved together with the selected message.',
  values: {
    CHANGE_ONE: { value: 'change_one', description: 'Only the selected message.' },
    CHANGE_LATER: { value: 'change_later', description: 'The selected message and all later messages of the topic.' },
    CHANGE_ALL: { value: 'change_all', description: 'All messages of the topic.' },
  } as const,
});

const CHANGED_AT = 'Time at which the message was sent or edited.';

const MessageSnapshot = builder.objectRef<Snapshot>('MessageSnapshot').implement({
  description: 'State of a message when it was sent, or after an edit.',
  fields: (t) => ({
    changedAt: t.expose('at', { type: 'DateTime', description: CHANGED_AT }),
    at: t.expose('at', { type: 'DateTime', description: CHANGED_AT, deprecationReason: 'Use `changedAt`.' }),
    editor: t.field({
      type: User,
      description: 'The sender, or the user who made the edit.',
      resolve: byKey(usersById, ({ userId }) => userId),
    }),
    topicName: t.string({
      description: 'Name of the topic in this state. Empty for a direct message, and for the empty topic.',
      resolve: ({ state }) => state.topic,
    }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description:
        'Topic in this state. Null for a direct message, or if the topic has no message that the viewer can read.',
      resolve: ({ state: { channelId, topic } }, _args, ctx) => topicAt(ctx, channelId, topic),
    }),
    prevTopicName: t.string({
      nullable: true,
      description: 'Name of the topic before the edit. Null if the edit did not change it.',
      resolve: ({ step }) => (step?.showsTopic === true ? step.before.topic : null),
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Channel in this state. Null for a direct message, or if the viewer cannot see the channel.',
      resolve: ({ state }, _args, ctx) => nodeOf(ctx, 'Channel', state.channelId),
    }),
    prevChannel: t.field({
      type: Channel,
      nullable: true,
      description:
        'Channel before the edit. Null if the edit did not change it, or if the viewer cannot see the channel.',
      resolve: ({ step }, _args, ctx) =>
        nodeOf(ctx, 'Channel', step?.showsChannel === true ? step.before.channelId : null),
    }),
    content: t.string({
      description: 'Content in this state, as flavored Markdown.',
      resolve: ({ state }, _args, ctx) => messageTexts(ctx).taken(state.content),
    }),
    renderedContent: t.string({
      description: '`content` as HTML.',
      resolve: ({ state }, _args, ctx) => messageTexts(ctx).taken(state.renderedContent),
    }),
    prevContent: t.string({
      nullable: true,
      description: 'Content before the edit, as flavored Markdown. Null if the edit did not change it.',
      resolve: ({ step }, _args, ctx) =>
        step?.showsContent === true ? messageTexts(ctx).taken(step.before.content) : null,
    }),
    prevRenderedContent: t.string({
      nullable: true,
      description: '`prevContent` as HTML. Null if the edit did not change the content.',
      resolve: ({ step }, _args, ctx) =>
        step?.showsContent === true ? messageTexts(ctx).taken(step.before.renderedContent) : null,
    }),
    contentHtmlDiff: t.string({
      nullable: true,
      description:
        '`renderedContent` with the insertions and deletions of the edit marked. Null if the edit did not change the content.',
      resolve: async ({ step }, _args, ctx) => {
        if (step?.showsContent !== true) return null;
        const { work, budget } = comparisons(ctx);
        await work.pause();
        return messageTexts(ctx).taken(htmlDiff(step.before.renderedContent, step.after.renderedContent, budget));
      },
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
        'States of the message since it was sent, oldest first, as far as the organization shows them. Empty if the ' +
        'organization does not show edit histories. An operation that selects snapshots with more than 8 MiB of ' +
        'content and HTML is refused. All versions of one message are always below this limit.',
      resolve: async (message, args, ctx) => {
        const policy = historyPolicy(signedIn(ctx).viewer.organization);
        if (policy === 'none') return pageOfList([], args);
        const steps = historySteps(message, await editsOf(ctx).load(message.id), policy);
        const page = pageOfList(toSnapshots(message, steps, policy), args);
        snapshotBudget(ctx).take(page.edges.map(({ node }) => node));
        return page;
      },
    },
    SnapshotConnection,
  ),
);

builder.prismaObjectFields(Message, (t) => ({
  viewerCanEdit: t.boolean({
    description: 'Whether the viewer can edit the content of the message now.',
    resolve: async (message, _args, ctx) => {
      const { app, viewer } = signedIn(ctx);
      if (objectionToEditing(viewer, message, app.now()) !== undefined) return false;
      return (await changeableChannel(ctx, message)).isChangeable;
    },
  }),
  viewerCanDelete: t.boolean({
    description: 'Whether the viewer can delete the message now.',
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
      'Whether the viewer can move the message now, to another topic or channel. The target can have further ' +
      'restrictions. Always false for a direct message.',
    resolve: async (message, _args, ctx) => {
      const { channel, isChangeable } = await changeableChannel(ctx, message);
      if (channel === null || !isChangeable) return false;
      return mayMove(await viewerAsSender(ctx), signedIn(ctx).viewer, channel, message);
    },
  }),
}));

/**
 * Returns the oldest message of a topic that the viewer can read, and its channel. A move of the whole topic is refused if the
 * time limit of the oldest message has passed. Null if the viewer can read no message of the topic, or if its channel is
 * archived.
 */
async function changeableTopic(ctx: GraphQLContext, { channelId, name }: TopicKey) {
  const [oldest] = await topicMessages(ctx, { channelId, name }, OLDEST);
  const message = await nodeOf(ctx, 'Message', oldest ?? null);
  if (message === null) return null;
  const { channel, isChangeable } = await changeableChannel(ctx, message);
  return channel === null || !isChangeable ? null : { channel, message };
}

const OLDEST: MessagePage = { above: 0, below: Number.MAX_SAFE_INTEGER, newestFirst: false, limit: 1 };

builder.objectFields(Topic, (t) => ({
  viewerCanDelete: t.boolean({
    description:
      'Whether the viewer can delete the messages of the topic now. False for a topic without messages that the viewer ' +
      'can read.',
    resolve: async (topic, _args, ctx) => {
      if (!mayDeleteTopics(signedIn(ctx))) return false;
      const message = await lastMessageOf(ctx, topic);
      return message !== null && (await changeableChannel(ctx, message)).isChangeable;
    },
  }),
  viewerCanMove: t.boolean({
    description:
      'Whether the viewer can move all messages of the topic now, to another topic or channel. The target can have ' +
      'further restrictions. False for a topic without messages that the viewer can read.',
    resolve: async (topic, _args, ctx) => {
      const found = await changeableTopic(ctx, topic);
      if (found === null) return false;
      return mayMove(await viewerAsSender(ctx), signedIn(ctx).viewer, found.channel, found.message);
    },
  }),
  viewerCanResolve: t.boolean({
    description:
      'Whether the viewer can mark the topic as resolved or unresolved now, which moves all its messages. Always false ' +
      'for the empty topic.',
    resolve: async (topic, _args, ctx) => {
      if (topic.name === '') return false;
      const found = await changeableTopic(ctx, topic);
      if (found === null) return false;
      return mayResolve(await viewerAsSender(ctx), signedIn(ctx).viewer, found.channel, found.message);
    },
  }),
}));

mutation('editMessage', {
  description: "Edits the content of one of the viewer's own messages.",
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of the message to edit.' }),
    content: t.string({ description: 'New content as flavored Markdown. Truncated to 10,000 characters.' }),
    prevContentSha256: t.string({
      required: false,
      description:
        'SHA-256 of the content that the client edited, in hexadecimal. If the content has changed, the edit is refused.',
    }),
  }),
  // The field is not named `message`, because all errors in the same union have a field of that name.
  payload: () => ({
    editedMessage: {
      type: Message,
      nullable: true,
      description: 'The edited message. Null if it was deleted before the response was read.',
    },
  }),
  errors: [ExpectationMismatchError],
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
    description:
      'Oldest message that the viewer can move. All later ones can be moved as well. Null if it no longer exists.',
    resolve: ({ data }, _args, ctx) => nodeOf(ctx, 'Message', data.first_message_id_allowed_to_move),
  }),
  messagesInTopic: t.int({
    description: 'Number of messages in the topic.',
    resolve: ({ data }) => data.total_messages_in_topic,
  }),
  messagesAllowedToMove: t.int({
    description: 'Number of messages in the topic that the viewer can move.',
    resolve: ({ data }) => data.total_messages_allowed_to_move,
  }),
}));

mutation('moveMessages', {
  description: 'Moves a message, optionally with others of its topic, to another topic or channel or both.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of the message to move.' }),
    to: t.field({
      type: TopicRef,
      description: 'Target topic. If no topic has the name, it is truncated to 60 characters and a new topic begins.',
    }),
    propagateMode: t.field({
      type: PropagateModeEnum,
      required: false,
      defaultValue: 'change_one',
      description: 'Messages of the topic to move together with the selected message.',
    }),
    sendNotificationToOldTopic: t.boolean({
      required: false,
      defaultValue: false,
      description: 'Whether a notice about the move is sent to the old topic.',
    }),
    sendNotificationToNewTopic: t.boolean({
      required: false,
      defaultValue: true,
      description: 'Whether a notice about the move is sent to the new topic.',
    }),
  }),
  payload: () => ({
    movedMessage: {
      type: Message,
      nullable: true,
      description: 'The moved message. Null if the viewer cannot read it in its new location.',
    },
  }),
  errors: [MoveMessagesTimeLimitExceededError],
  resolve: async (ctx, { messageId, to, ...how }) => {
    const { channelId, name } = await topicIn(ctx, to);
    await updateMessage(ctx, messageId, {
      topic: name,
      channelId,
      propagateMode: how.propagateMode ?? 'change_one',
      notifiesOldTopic: how.sendNotificationToOldTopic ?? false,
      notifiesNewTopic: how.sendNotificationToNewTopic ?? true,
    });
    return { movedMessage: await readBack(ctx, messageId) };
  },
});

for (const [name, isWanted, description] of [
  [
    'resolveTopic',
    true,
    'Marks a topic as resolved: adds the mark of resolved topics to its name, by moving all its messages.',
  ],
  [
    'unresolveTopic',
    false,
    'Marks a topic as unresolved: removes the mark of resolved topics from its name, by moving all its messages.',
  ],
] as const) {
  mutation(name, {
    description: `${description} Changes nothing if the topic is already in this state.`,
    input: (t) => ({ topic: t.field({ type: TopicRef, description: 'The topic. It must have messages.' }) }),
    payload: () => ({
      topic: {
        type: Topic,
        nullable: true,
        description:
          'The topic under its new name and id. Null if it was moved or deleted before the response was read.',
      },
    }),
    errors: [MoveMessagesTimeLimitExceededError],
    resolve: async (ctx, { topic }) => {
      const key = await markResolved(ctx, await topicIn(ctx, topic), isWanted);
      const [found] = await findTopics(ctx, [key]);
      return { topic: found == null ? null : { ...found, channelId: key.channelId } };
    },
  });
}

mutation('deleteMessage', {
  description: 'Deletes a message.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of the message to delete.' }),
  }),
  payload: () => ({ messageId: { type: 'ID', refersTo: 'Message', description: 'Id of the deleted message.' } }),
  resolve: async (ctx, { messageId }) => {
    await deleteMessage(ctx, messageId);
    return { messageId };
  },
});

import { signedIn } from '../../access/context.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { mutation, whenAsked } from '../../api/graphql/schema/mutation.ts';
import { Channel } from '../../channels/graphql.ts';
import { viewerAsActor } from '../../channels/loaders.ts';
import { ownSubscriptions } from '../../channels/subscription-loaders.ts';
import type { User as UserRow } from '../../generated/prisma/client.ts';
import { User } from '../../people/graphql.ts';
import { requireText } from '../../platform/text.ts';
import { missingDirectPermission } from '../direct.ts';
import { Message, readBack } from '../graphql.ts';
import { TopicVisibility } from '../topic-policies/topic-visibility.ts';
import { normalContent, renderContent } from './content.ts';
import { isInConversationWith, ownerIsSubscribed, viewerAsSender } from './loaders.ts';
import { MessageTarget, placeIn } from './message-target.ts';
import { sendMessage } from './send.ts';
import { holdAny, objectionToPosting, topicsPolicyOf } from './target.ts';
import type { TargetChannel } from './target-rows.ts';

/** Returns whether the viewer can send messages to a channel. */
async function mayPost(ctx: GraphQLContext, channel: TargetChannel): Promise<boolean> {
  const [self, owner] = await Promise.all([
    ownSubscriptions(ctx).load(channel.id),
    ownerIsSubscribed(ctx).load(channel.id),
  ]);
  return objectionToPosting(await viewerAsSender(ctx), channel, { self: self !== null, owner }) === undefined;
}

builder.prismaObjectFields(Channel, (t) => ({
  viewerCanPost: t.boolean({
    description: 'Whether the viewer can send messages to existing topics of the channel.',
    resolve: (channel, _args, ctx) => mayPost(ctx, channel),
  }),
  viewerCanCreateTopic: t.boolean({
    description: 'Whether the viewer can start new topics in the channel.',
    resolve: async (channel, _args, ctx) => {
      if (topicsPolicyOf(signedIn(ctx).viewer.organization, channel) === 'empty_topic_only') return false;
      return holdAny(await viewerAsSender(ctx), channel, 'can_create_topic_group') && mayPost(ctx, channel);
    },
  }),
}));

/**
 * Returns whether the viewer can send a direct message to an active user. If the viewer can only continue conversations, the
 * conversations with all users of the operation are read in one batch.
 */
async function mayDirectMessage(ctx: GraphQLContext, user: UserRow): Promise<boolean> {
  const { viewer } = signedIn(ctx);
  if (!user.isActive) return false;
  const members = user.id === viewer.id ? [user] : [viewer.user, user];
  const { groups, now } = await viewerAsActor(ctx);
  const missing = missingDirectPermission(viewer, members, groups, now);
  if (missing !== 'direct_message_initiator_group') return missing === undefined;
  return isInConversationWith(ctx).load(user.id);
}

builder.prismaObjectField(User, 'viewerCanDirectMessage', (t) =>
  t.boolean({
    description:
      'Whether the viewer can send a direct message to the user alone: to begin the conversation, or to continue it. A ' +
      'conversation with more members has conditions of its own.',
    resolve: (user, _args, ctx) => mayDirectMessage(ctx, user),
  }),
);

builder.queryField('renderMessage', (t) =>
  t.string({
    nullable: true,
    description: 'Renders content as HTML, as if the viewer sent it in a message.',
    args: { content: t.arg.string({ description: 'Content as flavored Markdown. Truncated to 10,000 characters.' }) },
    resolve: async (_root, { content }, ctx) => {
      const { app, work, viewer } = signedIn(ctx);
      return (await renderContent(work.db, app, viewer, normalContent(content))).html;
    },
  }),
);

mutation('sendMessage', {
  description: 'Sends a message to a topic of a channel, or to users.',
  input: (t) => ({
    to: t.field({ type: MessageTarget, description: 'Target of the message.' }),
    content: t.string({ description: 'Content as flavored Markdown. Truncated to 10,000 characters.' }),
    readBySender: t.boolean({
      required: false,
      description:
        'Whether the message is marked as read for the sender. Absent: true if the message has other recipients and the ' +
        'request comes from a web, desktop, mobile or terminal client. Clients are recognized by their name, usually ' +
        'the start of the User-Agent.',
    }),
    queueId: t.string({ required: false, description: 'Id of the event queue that receives `localId`.' }),
    localId: t.string({
      required: false,
      description:
        'Text by which the client recognizes its message. The event of the message contains it, but only in the ' +
        'queue `queueId`. At most 100 characters.',
    }),
  }),
  payload: () => ({
    sentMessage: {
      type: Message,
      nullable: true,
      description: 'The sent message. Null if it was deleted before the response was read.',
    },
    newTopicVisibility: {
      type: TopicVisibility,
      nullable: true,
      description: "The viewer's new visibility policy for the topic. Null if sending did not change it.",
    },
  }),
  rendersStoredData: true,
  resolve: async (ctx, { to, content, readBySender, queueId, localId }) => {
    const sent = await sendMessage(ctx, {
      ...(await placeIn(ctx, to)),
      content,
      readBySender: readBySender ?? undefined,
      queueId: queueId ?? undefined,
      localId: localId == null ? undefined : requireText('localId', localId, { max: 100 }),
    });
    return { sentMessage: whenAsked(() => readBack(ctx, sent.id)), newTopicVisibility: sent.newPolicy ?? null };
  },
});

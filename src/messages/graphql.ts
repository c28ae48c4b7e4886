import { type Ctx, signedIn } from '../access/context.ts';
import { byKey, byKeyIfAny, madeByKey } from '../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { refuseBoth, requireMember } from '../api/graphql/schema/deprecated-members.ts';
import { nodeOf, nodeTypeForEach, unlessAbsent } from '../api/graphql/schema/node.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { pageUrl } from '../channels/addresses.ts';
import { Channel } from '../channels/graphql.ts';
import { visibleChannels } from '../channels/loaders.ts';
import type { Message as MessageRow } from '../generated/prisma/client.ts';
import { isMeMessage, type TopicLink, topicLinks } from '../markdown/render.ts';
import { User } from '../people/graphql.ts';
import { usersById } from '../people/loaders.ts';
import { accessMessage } from './access.ts';
import { ownFlags, readableFor } from './loaders.ts';
import { messageIdIn } from './sending/links.ts';
import { messageTexts } from './text-budget.ts';
import { isFlag, toWireFlags, type UserFlags } from './wire.ts';

const MessageType = builder.enumType('MessageType', {
  description: 'Type of a message.',
  values: {
    CHANNEL: { value: 'channel', description: 'Message in a topic of a channel.' },
    DIRECT: { value: 'direct', description: 'Message in a direct conversation.' },
  } as const,
});

export const MessageFlag = builder.enumType('MessageFlag', {
  description: 'A flag of a message for one user.',
  values: {
    READ: { value: 'read', description: 'The user has read the message.' },
    STARRED: { value: 'starred', description: 'The user has starred the message.' },
    COLLAPSED: { value: 'collapsed', description: 'The user has collapsed the message.' },
    MENTIONED: { value: 'mentioned', description: 'The message mentions the user by name or through a group.' },
    CHANNEL_WILDCARD_MENTIONED: {
      value: 'stream_wildcard_mentioned',
      description: 'The message mentions all members of its channel or conversation.',
    },
    TOPIC_WILDCARD_MENTIONED: {
      value: 'topic_wildcard_mentioned',
      description: 'The message mentions all participants of its topic.',
    },
    HAS_ALERT_WORD: { value: 'has_alert_word', description: "The message contains one of the user's alert words." },
    HISTORICAL: {
      value: 'historical',
      description: 'The user did not receive the message, for example because they subscribed later.',
    },
  } as const,
});

export const TopicLinkType = builder.objectRef<TopicLink>('TopicLink').implement({
  description: 'A link in the name of a topic.',
  fields: (t) => ({
    text: t.exposeString('text', { description: 'Text of the link.' }),
    url: t.exposeString('url', { description: 'Target of the link.' }),
  }),
});

/** Builds a resolver that computes a field from the viewer's flags of the message. */
const byFlags = <Made>(make: (flags: UserFlags) => Made) =>
  madeByKey(ownFlags, ({ id }: Pick<MessageRow, 'id'>) => Number(id), make);

/** GraphQL type of a message. Its resolvers do not check access, because every loader of messages checks it. */
export const Message = builder.prismaNode('Message', {
  description: 'A channel message or a direct message.',
  id: { resolve: ({ id }) => id },
  findUnique: (id, ctx) => ({ organizationId_id: { organizationId: signedIn(ctx).organizationId, id: BigInt(id) } }),
  fields: (t) => ({
    databaseId: t.field({
      type: 'LongId',
      description: 'Id in the REST API.',
      resolve: ({ id }) => Number(id),
    }),
    type: t.field({
      type: MessageType,
      description: 'Whether the message is a channel message or a direct message.',
      resolve: ({ channelId }) => (channelId === null ? 'direct' : 'channel'),
    }),
    sender: t.field({
      type: User,
      description: 'Sender of the message.',
      resolve: byKey(usersById, ({ senderId }) => senderId),
    }),
    client: t.exposeString('clientName', {
      description: 'Name of the client that sent the message, as given by the client.',
    }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Channel of the message. Null for a direct message, or if the viewer cannot see the channel.',
      resolve: byKeyIfAny(visibleChannels, ({ channelId }) => channelId),
    }),
    topicName: t.exposeString('topic', {
      description: 'Name of the topic. Empty for a direct message, and for the empty topic.',
    }),
    topicLinks: t.field({
      type: [TopicLinkType],
      description:
        'Links in the name of the topic, in the order of the text. The length of the name, at most 60 characters, limits ' +
        'their number.',
      resolve: ({ topic }) => (topic === '' ? [] : topicLinks(topic)),
    }),
    participants: t.field({
      type: [User],
      nullable: true,
      description: 'Members of the conversation, including the sender. At most 250. Null for a channel message.',
      select: (_args, _ctx, nestedSelection) => ({
        conversation: {
          select: { members: { select: { user: nestedSelection(true) }, orderBy: { userId: 'asc' as const } } },
        },
      }),
      resolve: ({ conversation }) => conversation?.members.map(({ user }) => user) ?? null,
    }),
    content: t.string({
      description: 'Content as flavored Markdown.',
      resolve: ({ content }, _args, ctx) => messageTexts(ctx).taken(content),
    }),
    renderedContent: t.string({
      description: '`content` as HTML.',
      resolve: ({ renderedContent }, _args, ctx) => messageTexts(ctx).taken(renderedContent),
    }),
    isMeMessage: t.boolean({
      description: 'Whether the message begins with `/me`. Clients show it as an action, after the name of the sender.',
      resolve: ({ content }) => isMeMessage(content),
    }),
    sentAt: t.expose('sentAt', { type: 'DateTime', description: 'Time at which the message was sent.' }),
    lastEditedAt: t.expose('lastEditedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last edit of the content. Null if it was never edited.',
    }),
    lastMovedAt: t.expose('lastMovedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last move to another topic or channel. Null if it was never moved.',
    }),
    flags: t.field({
      type: [MessageFlag],
      description: "The viewer's flags of the message. At most one of each kind.",
      resolve: byFlags((flags) => toWireFlags(flags).filter(isFlag)),
    }),
    viewerHasRead: t.boolean({
      description: 'Whether the viewer has read the message.',
      resolve: byFlags(({ read }) => read === true),
    }),
    viewerHasStarred: t.boolean({
      description: 'Whether the viewer has starred the message.',
      resolve: byFlags(({ starred }) => starred === true),
    }),
  }),
});
nodeTypeForEach('Message', readableFor);

/** Reference to a message by id or URL. Resolvers receive it as a `MessageKey`. */
const MessageRef = builder.inputType('MessageRef', {
  isOneOf: true,
  description: 'A message, by id or URL.',
  fields: (t) => ({
    id: t.id({ ...refersTo('Message'), required: false, description: 'The `id` of the message.' }),
    url: t.string({
      required: false,
      description: "The `url` of the message, or only its fragment, '#narrow/…/near/…'. Still valid after a move.",
    }),
  }),
});

builder.queryField('message', (t) =>
  t.prismaField({
    type: Message,
    nullable: true,
    description: 'A message. Null if it does not exist, or if the viewer cannot read it.',
    args: {
      by: t.arg({
        type: MessageRef,
        required: false,
        description: 'The message. Required, except with the deprecated `messageId`. The next version requires it.',
      }),
      messageId: t.arg.id({
        ...refersTo('Message'),
        required: false,
        description: 'Id of the message.',
        deprecationReason: 'Use `by: { id }`.',
      }),
    },
    resolve: async (query, _root, { by, messageId }, ctx) => {
      const me = signedIn(ctx);
      refuseBoth('by', by != null, { messageId });
      const key = requireMember('by', by ?? (messageId == null ? null : { id: messageId }));
      const message = await unlessAbsent(accessMessage(me, messageIdOf(me, key)));
      if (message === null) return null;
      const { organizationId, id } = message;
      return ctx.work.db.message.findUnique({ ...query, where: { organizationId_id: { organizationId, id } } });
    },
  }),
);

/**
 * Returns a message's channel, and whether the channel permits changes of the message. Changes are permitted if the channel is
 * visible to the viewer and not archived. For a direct message, the channel is null and changes are permitted.
 */
export async function changeableChannel(ctx: GraphQLContext, { channelId }: { readonly channelId: number | null }) {
  const channel = await nodeOf(ctx, 'Channel', channelId);
  return { channel, isChangeable: channelId === null || channel?.isArchived === false };
}

/** A message by id, by URL, or by the fragment of its URL. */
type MessageKey = { readonly id: number } | { readonly url: string };

/** Returns the id of a message in an input. 0 for a text that is not the URL of a message in the viewer's organization. */
function messageIdOf(ctx: Ctx, key: MessageKey): number {
  if ('id' in key) return key.id;
  const site = pageUrl(ctx, '');
  return messageIdIn(key.url.startsWith(site) ? key.url.slice(site.length) : key.url) ?? 0;
}

/** Reads the message for the response to a mutation. Null if the viewer can no longer read it. */
export const readBack = (ctx: Ctx, messageId: number) => unlessAbsent(accessMessage(ctx, messageId));

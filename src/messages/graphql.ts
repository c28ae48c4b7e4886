import { type Ctx, signedIn } from '../access/context.ts';
import { builder } from '../api/graphql/builder.ts';
import { nodeTypeForEach, unlessAbsent } from '../api/graphql/node.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { byKey, byKeyIfAny, madeByKey } from '../api/graphql/together.ts';
import { Channel } from '../channels/graphql.ts';
import { visibleChannels } from '../channels/loaders.ts';
import type { Message as MessageRow } from '../generated/prisma/client.ts';
import { isMeMessage, type TopicLink, topicLinks } from '../markdown/render.ts';
import { User } from '../people/graphql.ts';
import { usersById } from '../people/loaders.ts';
import { accessMessage } from './access.ts';
import { ownFlags, readableFor } from './loaders.ts';
import { isFlag, toWireFlags, type UserFlags } from './wire.ts';

const MessageType = builder.enumType('MessageType', {
  description: 'Where a message is.',
  values: {
    CHANNEL: { value: 'channel', description: 'In a channel, under a topic.' },
    DIRECT: { value: 'direct', description: 'Among people.' },
  } as const,
});

export const MessageFlag = builder.enumType('MessageFlag', {
  description: 'What a user has with a message.',
  values: {
    READ: { value: 'read', description: 'They have read it.' },
    STARRED: { value: 'starred', description: 'They keep it among those they have starred.' },
    COLLAPSED: { value: 'collapsed', description: 'They have it shown folded.' },
    MENTIONED: { value: 'mentioned', description: 'By name, or through a group.' },
    CHANNEL_WILDCARD_MENTIONED: { value: 'stream_wildcard_mentioned', description: 'With everybody there.' },
    TOPIC_WILDCARD_MENTIONED: { value: 'topic_wildcard_mentioned', description: 'With everybody in the topic.' },
    HAS_ALERT_WORD: { value: 'has_alert_word', description: 'One of their alert words is in it.' },
    HISTORICAL: { value: 'historical', description: 'They never received it.' },
  } as const,
});

export const TopicLinkType = builder.objectRef<TopicLink>('TopicLink').implement({
  description: "A link in a topic's name.",
  fields: (t) => ({
    text: t.exposeString('text', { description: 'The words that are linked.' }),
    url: t.exposeString('url', { description: 'Where the link leads.' }),
  }),
});

/** What is made of what the viewer has with a message. */
const byFlags = <Made>(make: (flags: UserFlags) => Made) =>
  madeByKey(ownFlags, ({ id }: Pick<MessageRow, 'id'>) => Number(id), make);

/** A resolver that has a message may show it: access is checked wherever one is obtained. */
export const Message = builder.prismaNode('Message', {
  description: 'A message in a channel, or among people.',
  id: { resolve: ({ id }) => id },
  findUnique: (id, ctx) => ({ realmId_id: { realmId: signedIn(ctx).realmId, id: BigInt(id) } }),
  fields: (t) => ({
    databaseId: t.field({
      type: 'LongId',
      description: 'The number that the REST API knows it by.',
      resolve: ({ id }) => Number(id),
    }),
    type: t.field({
      type: MessageType,
      description: 'Whether it is in a channel or among people.',
      resolve: ({ channelId }) => (channelId === null ? 'direct' : 'channel'),
    }),
    sender: t.field({
      type: User,
      description: 'Who sent it.',
      resolve: byKey(usersById, ({ senderId }) => senderId),
    }),
    client: t.exposeString('clientName', { description: "The sender's client, by its own name." }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Where it stands; null for a direct message.',
      resolve: byKeyIfAny(visibleChannels, ({ channelId }) => channelId),
    }),
    topicName: t.exposeString('topic', { description: 'Empty for a direct message, and for the empty topic.' }),
    topicLinks: t.field({
      type: [TopicLinkType],
      description: 'The links in its topic, in their order; no more than fit into it.',
      resolve: ({ topic }) => (topic === '' ? [] : topicLinks(topic)),
    }),
    participants: t.field({
      type: [User],
      nullable: true,
      description: 'Who takes part in the conversation, the sender included; at most 250. Null for a channel message.',
      select: (_args, _ctx, nestedSelection) => ({
        conversation: {
          select: { members: { select: { user: nestedSelection(true) }, orderBy: { userId: 'asc' as const } } },
        },
      }),
      resolve: ({ conversation }) => conversation?.members.map(({ user }) => user) ?? null,
    }),
    content: t.exposeString('content', { description: 'Flavored Markdown.' }),
    renderedContent: t.exposeString('renderedContent', { description: '`content` as HTML.' }),
    isMeMessage: t.boolean({
      description: 'Whether it tells what its sender does, and is shown behind their name.',
      resolve: ({ content }) => isMeMessage(content),
    }),
    sentAt: t.expose('sentAt', { type: 'DateTime', description: 'When it was sent.' }),
    lastEditedAt: t.expose('lastEditedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its content was last edited; null when it never was.',
    }),
    lastMovedAt: t.expose('lastMovedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last moved to another topic or channel; null when it never was.',
    }),
    flags: t.field({
      type: [MessageFlag],
      description: "The viewer's own, no more than there are.",
      resolve: byFlags((flags) => toWireFlags(flags).filter(isFlag)),
    }),
    viewerHasRead: t.boolean({
      description: 'Whether the viewer has read it.',
      resolve: byFlags(({ read }) => read === true),
    }),
    viewerHasStarred: t.boolean({
      description: 'Whether the viewer keeps it among those they have starred.',
      resolve: byFlags(({ starred }) => starred === true),
    }),
  }),
});
nodeTypeForEach('Message', readableFor);

builder.queryField('message', (t) =>
  t.prismaField({
    type: Message,
    nullable: true,
    description: 'One message; null when there is none, or none the viewer may read.',
    args: { messageId: t.arg.id({ ...refersTo('Message'), description: 'The message.' }) },
    resolve: async (query, _root, { messageId }, ctx) => {
      const message = await unlessAbsent(accessMessage(signedIn(ctx), messageId));
      if (message === null) return null;
      const { realmId, id } = message;
      return ctx.app.db.message.findUnique({ ...query, where: { realmId_id: { realmId, id } } });
    },
  }),
);

/** The message, after something was done with it; null when it is not the viewer's to read any more. */
export const readBack = (ctx: Ctx, messageId: number) => unlessAbsent(accessMessage(ctx, messageId));

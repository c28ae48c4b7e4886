import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import { type Ctx, signedIn } from '../access/context.ts';
import { builder, type Types } from '../api/graphql/builder.ts';
import { type ConnectionArguments, idInCursor, pageByIds } from '../api/graphql/connection.ts';
import type { GraphQLContext } from '../api/graphql/context.ts';
import { fromEvent } from '../api/graphql/entity-facts.ts';
import { errorType } from '../api/graphql/errors.ts';
import { type EventSource, eventType } from '../api/graphql/event-types.ts';
import { mutation } from '../api/graphql/mutation.ts';
import { nodeOf, nodeTypeForEach, unlessAbsent } from '../api/graphql/node.ts';
import { DEFAULT_PAGE_SIZE, pageSize } from '../api/graphql/page-size.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { ChannelDoesNotExistError } from '../channels/errors.ts';
import { Channel } from '../channels/graphql.ts';
import { channelActivities, visibleChannels } from '../channels/loaders.ts';
import { ownSubscriptions } from '../channels/subscriptions/loaders.ts';
import { isMeMessage, type TopicLink, topicLinks } from '../markdown/render.ts';
import { User } from '../people/graphql.ts';
import { BadRequestError } from '../platform/errors.ts';
import { requireText } from '../platform/text.ts';
import { accessMessage } from './access.ts';
import { type KnownMessage, sentMessage } from './entity-facts.ts';
import { ownFlags, readableFor } from './loaders.ts';
import { BadNarrowError } from './narrow/errors.ts';
import { compileNarrow } from './narrow/narrow.ts';
import { type Anchor, selectIds, selectPage } from './narrow/narrow-select.ts';
import type { NarrowTerm, Operand } from './narrow/narrow-terms.ts';
import { normalContent, renderContent } from './sending/content.ts';
import type { Recipients } from './sending/direct.ts';
import { WildcardMentionNotAllowedError } from './sending/errors.ts';
import { ownerIsSubscribed, viewerAsSender } from './sending/loaders.ts';
import { sendMessage } from './sending/send.ts';
import {
  type ChannelReference,
  holdAny,
  objectionToPosting,
  type TargetChannel,
  topicsPolicyOf,
} from './sending/target.ts';
import { TopicVisibility } from './topic-policies/topic-visibility.ts';
import { isFlag, toWireFlags } from './wire.ts';

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
    sender: t.relation('sender', { description: 'Who sent it.' }),
    client: t.exposeString('clientName', { description: "The sender's client, by its own name." }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'Where it stands; null for a direct message.',
      resolve: ({ channelId }, _args, ctx) => (channelId === null ? null : visibleChannels(ctx).load(channelId)),
    }),
    topicName: t.exposeString('topic', { description: 'Empty for a direct message, and for the empty topic.' }),
    topicLinks: t.field({
      type: [TopicLinkType],
      description: 'The links in its topic, in their order.',
      resolve: ({ topic }) => (topic === '' ? [] : topicLinks(topic)),
    }),
    participants: t.field({
      type: [User],
      nullable: true,
      description: 'Who takes part in the conversation, the sender included; null for a channel message.',
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
      description: "The viewer's own.",
      resolve: async ({ id }, _args, ctx) => toWireFlags(await ownFlags(ctx).load(Number(id))).filter(isFlag),
    }),
    viewerHasRead: t.boolean({
      description: 'Whether the viewer has read it.',
      resolve: async ({ id }, _args, ctx) => (await ownFlags(ctx).load(Number(id))).read === true,
    }),
    viewerHasStarred: t.boolean({
      description: 'Whether the viewer keeps it among those they have starred.',
      resolve: async ({ id }, _args, ctx) => (await ownFlags(ctx).load(Number(id))).starred === true,
    }),
  }),
});
nodeTypeForEach('Message', readableFor);

const MessageState = builder.enumType('MessageState', {
  description: 'What a message is to the viewer, or what its topic is.',
  values: {
    DIRECT: { value: 'dm', description: 'Among people.' },
    STARRED: { value: 'starred', description: 'The viewer has starred it.' },
    MENTIONED: {
      value: 'mentioned',
      description: 'It mentions the viewer: by name, through a group, or with everybody.',
    },
    ALERTED: { value: 'alerted', description: "One of the viewer's alert words is in it." },
    UNREAD: { value: 'unread', description: 'The viewer has not read it.' },
    RESOLVED: { value: 'resolved', description: 'Its topic is marked as resolved.' },
    FOLLOWED: { value: 'followed', description: 'The viewer follows its topic.' },
    MUTED: { value: 'muted', description: 'By its topic or its channel.' },
  } as const,
});

const MessagePart = builder.enumType('MessagePart', {
  description: 'What can be in, or at, a message.',
  values: {
    LINK: { value: 'link', description: 'A link in its content.' },
    IMAGE: { value: 'image', description: 'A link to an image.' },
    ATTACHMENT: { value: 'attachment', description: 'A link to an uploaded file.' },
    REACTION: { value: 'reaction', description: "Anybody's reaction to it." },
  } as const,
});

const ChannelKind = builder.enumType('ChannelKind', {
  description: 'Channels that many may read.',
  values: {
    PUBLIC: { value: 'public', description: 'Readable by everybody but guests, who must be subscribed.' },
    WEB_PUBLIC: { value: 'web-public', description: 'Readable without an account.' },
  } as const,
});

const narrowFields = (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => ({
  channelId: t.id({ ...refersTo('Channel'), required: false, description: 'It stands in this channel.' }),
  channelName: t.string({ required: false, description: 'In whatever case.' }),
  channels: t.field({ type: ChannelKind, required: false, description: 'It stands in some channel of this kind.' }),
  topic: t.string({ required: false, description: 'In whatever case.' }),
  senderId: t.id({ ...refersTo('User'), required: false, description: 'This user sent it.' }),
  directWith: t.idList({
    ...refersTo('User'),
    required: false,
    description: 'The ids of all who take part; the viewer need not be named.',
  }),
  directIncluding: t.id({ ...refersTo('User'), required: false, description: 'The id of somebody who takes part.' }),
  is: t.field({ type: [MessageState], required: false, description: 'What it is to the viewer: each of these.' }),
  has: t.field({ type: [MessagePart], required: false, description: 'What is in or at it: each of these.' }),
  mentionsUserId: t.id({ ...refersTo('User'), required: false, description: 'Somebody whom it mentions by name.' }),
  search: t.string({ required: false, description: 'Words, in any of their forms; in quotes, what must stand so.' }),
});

const NarrowTerms = builder.inputType('MessageNarrowTermsInput', {
  description: 'What a message must not be: none of these.',
  fields: narrowFields,
});

/** What a list of messages is narrowed to. */
export const MessageNarrow = builder.inputType('MessageNarrowInput', {
  description: 'What a message must be: all of these. With a channel all its history is read, else what was received.',
  fields: (t) => ({
    ...narrowFields(t),
    with: t.id({
      ...refersTo('Message'),
      required: false,
      description: 'The id of a message: where it stands now goes before what is said of channel, topic and people.',
    }),
    not: t.field({ type: NarrowTerms, required: false, description: 'What it must not be: none of these.' }),
  }),
});

/** The operator of each field. */
const OPERATOR_OF: Readonly<Record<keyof typeof NarrowTerms.$inferInput, string>> = {
  channelId: 'channel',
  channelName: 'channel',
  channels: 'channels',
  topic: 'topic',
  senderId: 'sender',
  directWith: 'dm',
  directIncluding: 'dm-including',
  is: 'is',
  has: 'has',
  mentionsUserId: 'mentions',
  search: 'search',
};

/** The terms that a narrow's fields stand for. */
export function termsIn(input: typeof MessageNarrow.$inferInput): NarrowTerm[] {
  const { with: messageId, not, ...fields } = input;
  const place = messageId == null ? [] : [{ operator: 'with', operand: messageId, negated: false }];
  return [...place, ...termsOf(fields, false), ...termsOf(not ?? {}, true)];
}

function termsOf(fields: typeof NarrowTerms.$inferInput, negated: boolean): NarrowTerm[] {
  return Object.entries(fields).flatMap(([field, value]: [string, Operand | readonly string[] | null | undefined]) => {
    if (value == null) return [];
    const operator = OPERATOR_OF[field as keyof typeof OPERATOR_OF];
    // States and parts are terms of their own, each.
    const operands = field === 'is' || field === 'has' ? (value as readonly string[]) : [value as Operand];
    if (field === 'search' && String(value).trim() === '') throw new BadRequestError('search cannot be blank');
    return operands.map((operand) => ({ operator, operand, negated }));
  });
}

errorType(BadNarrowError, 'A narrow names what is not there, or what no message can be.', (t) => ({
  description: t.string({
    description: 'What is wrong with the narrow, for people.',
    resolve: ({ data }) => data.desc,
  }),
}));

/** Messages, a page at a time. */
export const MessageConnection = builder.connectionObject(
  { type: Message, name: 'MessageConnection' },
  { name: 'MessageEdge' },
);

export const MessageAnchor = builder.enumType('MessageAnchor', {
  description: 'A place among messages.',
  values: {
    NEWEST: { value: 'newest', description: 'Their newer end.' },
    OLDEST: { value: 'oldest', description: 'Their older end.' },
    FIRST_UNREAD: {
      value: 'first_unread',
      description: 'The oldest that is unread, what is muted left out; the newer end where nothing is.',
    },
  } as const,
});

export const MessageAnchorInput = builder.inputType('MessageAnchorInput', {
  isOneOf: true,
  description: 'Around which message to read.',
  fields: (t) => ({
    place: t.field({ type: MessageAnchor, required: false, description: 'An end, or the first unread message.' }),
    messageId: t.id({ ...refersTo('Message'), required: false, description: 'A message, be it in the narrow or not.' }),
    date: t.field({ type: 'DateTime', required: false, description: 'The first message from then on.' }),
  }),
});

/**
 * @returns Undefined where none is given.
 * @throws BadRequestError for one that is null, by a variable, and for a message that the viewer may not read.
 */
export async function anchorIn(
  ctx: Ctx,
  input: typeof MessageAnchorInput.$inferInput | null | undefined,
): Promise<Anchor | undefined> {
  if (input == null) return undefined;
  if (input.messageId != null) return Number((await accessMessage(ctx, input.messageId)).id);
  const anchor = input.place ?? input.date;
  if (anchor == null) throw new BadRequestError('"anchor" must give one of place, messageId and date');
  return anchor;
}

/** What an anchor makes of a connection's arguments. */
export const AROUND =
  'With `anchor`, what lies around it, which may be read at once in both directions: `first` messages from it on that are ' +
  'older, `last` that are newer, 20 of each where neither is given, and itself.';

builder.queryField('messages', (t) =>
  t.connection(
    {
      type: Message,
      description: `Messages, the newest first: what the viewer received, or what a narrow leads to. ${AROUND}`,
      args: {
        narrow: t.arg({ type: MessageNarrow, required: false, description: 'What they must be. Absent: received.' }),
        anchor: t.arg({ type: MessageAnchorInput, required: false, description: 'Where to begin. Not with a cursor.' }),
      },
      complexity: ({ anchor, ...page }) => ({
        field: 1,
        multiplier: anchor == null ? pageSize(page) : sizeAround(page),
      }),
      resolve: async (_root, { narrow, anchor, ...page }, ctx, info) => {
        const [terms, around] = [termsIn(narrow ?? {}), await anchorIn(signedIn(ctx), anchor)];
        return around === undefined
          ? messagesPage(terms, page, ctx, info)
          : messagesAround(around, terms, page, ctx, info);
      },
    },
    MessageConnection,
  ),
);

/** How many messages a page around an anchor asks for, on each of its sides. */
function sidesOf({ first, last }: ConnectionArguments): { readonly older: number; readonly newer: number } {
  if (first == null && last == null) return { older: DEFAULT_PAGE_SIZE, newer: DEFAULT_PAGE_SIZE };
  return { older: first == null ? 0 : pageSize({ first }), newer: last == null ? 0 : pageSize({ last }) };
}

/** How many messages a page around an anchor asks for. */
export const sizeAround = (page: ConnectionArguments): number => sidesOf(page).older + sidesOf(page).newer + 1;

/** The messages of a narrow around one, the newest first. */
export async function messagesAround(
  anchor: Anchor,
  terms: readonly NarrowTerm[],
  args: ConnectionArguments,
  ctx: GraphQLContext,
  info: GraphQLResolveInfo,
) {
  if (args.after != null || args.before != null) throw new BadRequestError('Give either an anchor or a cursor');
  const me = signedIn(ctx);
  const { older, newer } = sidesOf(args);
  const range = { anchor, numBefore: older, numAfter: newer, includeAnchor: true };
  const { ids, foundOldest, foundNewest } = await selectIds(me, await compileNarrow(me, terms), range);
  const page = pageByIds('message', await readPage(ids, ctx, info), { idOf: ({ id }) => id, more: false, args });
  const pageInfo = { ...page.pageInfo, hasNextPage: !foundOldest, hasPreviousPage: !foundNewest };
  return { ...page, pageInfo };
}

/** Whether the viewer may send to a channel. */
async function mayPost(ctx: GraphQLContext, channel: TargetChannel): Promise<boolean> {
  const [self, owner] = await Promise.all([
    ownSubscriptions(ctx).load(channel.id),
    ownerIsSubscribed(ctx).load(channel.id),
  ]);
  return objectionToPosting(await viewerAsSender(ctx), channel, { self: self !== null, owner }) === undefined;
}

builder.prismaObjectFields(Channel, (t) => ({
  viewerCanPost: t.boolean({
    description: 'Whether the viewer may send messages to it, in a topic that is there.',
    resolve: (channel, _args, ctx) => mayPost(ctx, channel),
  }),
  viewerCanCreateTopic: t.boolean({
    description: 'Whether the viewer may send messages to it in a topic that is not there yet.',
    resolve: async (channel, _args, ctx) => {
      if (topicsPolicyOf(signedIn(ctx).viewer.realm, channel) === 'empty_topic_only') return false;
      return holdAny(await viewerAsSender(ctx), channel, 'can_create_topic_group') && mayPost(ctx, channel);
    },
  }),
}));

builder.prismaObjectField(Channel, 'firstMessage', (t) =>
  t.field({
    type: Message,
    nullable: true,
    description:
      'The first message in it that there still is; null when it holds none, and when the viewer may not read it.',
    select: { id: true, createdAt: true },
    resolve: async (channel, _args, ctx) =>
      nodeOf(ctx, 'Message', (await channelActivities(ctx).load(channel)).firstMessageId),
  }),
);

builder.prismaObjectField(Channel, 'messages', (t) =>
  t.connection(
    {
      type: Message,
      description: 'What the viewer may read in the channel, the newest first.',
      args: { topic: t.arg.string({ required: false, description: 'In whatever case.' }) },
      resolve: ({ id }, args, ctx, info) => {
        const { topic, ...page } = args;
        const channel = { operator: 'channel', operand: id, negated: false };
        const terms = topic == null ? [] : [{ operator: 'topic', operand: topic, negated: false }];
        return messagesPage([channel, ...terms], page, ctx, info);
      },
    },
    MessageConnection,
  ),
);

/** A page of the messages of a narrow, the newest first. */
export async function messagesPage(
  terms: readonly NarrowTerm[],
  args: ConnectionArguments,
  ctx: GraphQLContext,
  info: GraphQLResolveInfo,
) {
  const me = signedIn(ctx);
  const size = pageSize(args);
  const backward = args.first == null && args.last != null;
  const [after, before] = [idInCursor('message', args, 'after'), idInCursor('message', args, 'before')];
  const ids = await selectPage(me, await compileNarrow(me, terms), {
    above: before ?? 0,
    below: after ?? Number.MAX_SAFE_INTEGER,
    newestFirst: !backward,
    limit: size + 1,
  });
  const rows = await readPage(ids.slice(0, size), ctx, info);
  return pageByIds('message', rows, { idOf: ({ id }) => id, more: ids.length > size, args });
}

/** Messages the viewer may read, the newest first, with what is selected of them. */
function readPage(ids: readonly number[], ctx: GraphQLContext, info: GraphQLResolveInfo) {
  const { include } = queryFromInfo({ context: ctx, info, typeName: 'Message', paths: [['nodes'], ['edges', 'node']] });
  return ctx.app.db.message.findMany({
    ...(include !== undefined && { include }),
    where: { realmId: signedIn(ctx).realmId, id: { in: [...ids] } },
    orderBy: { id: 'desc' },
  });
}

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

builder.queryField('renderMessage', (t) =>
  t.string({
    nullable: true,
    description: 'Content as HTML, as it would be in a message of the viewer.',
    args: { content: t.arg.string({ description: 'Flavored Markdown. Cut to 10,000 characters.' }) },
    resolve: async (_root, { content }, ctx) => {
      const { app, viewer } = signedIn(ctx);
      return (await renderContent(app.db, app, viewer, normalContent(content))).html;
    },
  }),
);

errorType(WildcardMentionNotAllowedError, 'To mention so many at once takes a permission.');

mutation('sendMessage', {
  description: 'Sends a message: to a channel under a topic, or to people.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), required: false, description: 'The channel it is for.' }),
    channelName: t.string({ required: false, description: 'Instead of `channelId`; in whatever case.' }),
    directTo: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'The ids of those it is for; the viewer need not be named. Alone, it is a note to self.',
    }),
    topic: t.string({ required: false, description: 'Of a channel message. Cut to 60 characters.' }),
    content: t.string({ description: 'Flavored Markdown. Cut to 10,000 characters.' }),
    readBySender: t.boolean({
      required: false,
      description: 'Whether the sender has read it. Absent: whether an interactive client sends it to somebody else.',
    }),
    queueId: t.string({ required: false, description: 'The queue that is to hear `localId`.' }),
    localId: t.string({ required: false, description: 'Comes back with the event; at most 100 characters.' }),
  }),
  payload: () => ({
    sentMessage: { type: Message, nullable: true, description: 'Null when it is gone again.' },
    newTopicVisibility: {
      type: TopicVisibility,
      nullable: true,
      description: "What the viewer's choice for the topic has become by sending; null when it is what it was.",
    },
  }),
  errors: [ChannelDoesNotExistError, WildcardMentionNotAllowedError],
  resolve: async (ctx, { channelId, channelName, directTo, topic, content, readBySender, queueId, localId }) => {
    const sent = await sendMessage(ctx, {
      to: destinationIn({ channelId, channelName, directTo }),
      topic: topic ?? undefined,
      content,
      readBySender: readBySender ?? undefined,
      queueId: queueId ?? undefined,
      localId: localId == null ? undefined : requireText('localId', localId, { max: 100 }),
    });
    return { sentMessage: await readBack(ctx, sent.id), newTopicVisibility: sent.newPolicy ?? null };
  },
});

interface Destinations {
  readonly channelId: number | null | undefined;
  readonly channelName: string | null | undefined;
  readonly directTo: readonly number[] | null | undefined;
}

function destinationIn({ channelId, channelName, directTo }: Destinations): ChannelReference | Recipients {
  const given: (ChannelReference | Recipients)[] = [
    ...(channelId == null ? [] : [{ channelId }]),
    ...(channelName == null ? [] : [{ channelName }]),
    ...(directTo == null ? [] : [{ userIds: directTo }]),
  ];
  const [destination, another] = given;
  if (destination === undefined || another !== undefined) {
    throw new BadRequestError('Give one of channelId, channelName and directTo');
  }
  return destination;
}

/** The message, after something was done with it; null when it is not the viewer's to read any more. */
export const readBack = (ctx: Ctx, messageId: number) => unlessAbsent(accessMessage(ctx, messageId));

interface SentBody {
  readonly local_message_id?: string;
}

eventType<SentBody, KnownMessage>(
  'message',
  undefined,
  'MessageSentEvent',
  (t) => ({
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The message.',
      ...fromEvent(sentMessage, ({ facts }: EventSource<SentBody, KnownMessage>) => facts),
    }),
    localMessageId: t.string({
      nullable: true,
      description: 'In the queue that was named when it was sent.',
      resolve: ({ event }) => event.local_message_id ?? null,
    }),
  }),
  { description: 'A message was sent.' },
);

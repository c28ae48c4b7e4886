import { signedIn } from '../../access/context.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOfList } from '../../api/graphql/schema/connection.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodesOf, nodeType } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { pageRead, sortedConnection } from '../../api/graphql/schema/sorted-list.ts';
import { Channel } from '../../channels/graphql.ts';
import {
  BY_ID,
  SORTED,
  sortedUsers,
  User,
  UserConnection,
  type UserListArguments,
  UserOrder,
  usersAt,
} from '../../people/graphql.ts';
import { readableMessages } from '../access.ts';
import type { MessagePage } from '../channel-messages.ts';
import { Message, MessageFlag as MessageFlagEnum } from '../graphql.ts';
import { MessageConnection } from '../graphql-matches.ts';
import {
  anchorIn,
  idsPage,
  MessageAnchor,
  NEWEST_COUNTED,
  TIMELINE,
  timelineArgs,
  timelineComplexity,
  timelinePage,
} from '../graphql-pages.ts';
import { BadNarrowError } from '../narrow/errors.ts';
import { MessageNarrow, termsIn } from '../narrow/graphql.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { TopicRef, topicIn } from '../topic-ref.ts';
import { MAX_PER_EVENT } from './events.ts';
import { ownStarred, receiptCounts, receiptPages, STARRED } from './loaders.ts';
import { MAX_SECONDS, markAllAsRead, markChannelAsRead, markConversationAsRead, markTopicAsRead } from './mark-read.ts';
import { showsReceipts } from './receipts.ts';
import { MAX_UNREAD } from './unread.ts';
import type { UnreadCount } from './unread-counts.ts';
import { ownCounts, ownMentions } from './unread-loaders.ts';
import { MAX_MENTIONS } from './unread-mentions.ts';
import { type FlagsChanged, requireFlagChange, updateFlags, updateFlagsInNarrow } from './update-flags.ts';

const OperationEnum = builder.enumType('FlagOperation', {
  description: 'Change of a flag.',
  values: {
    ADD: { value: 'add', description: 'Adds the flag to the messages.' },
    REMOVE: { value: 'remove', description: 'Removes the flag from the messages.' },
  } as const,
});

const GIVES = 'Whether to add or remove the flag.';
const SETTABLE = 'READ, STARRED or COLLAPSED. Users cannot change the other flags.';

/**
 * Maximum number of changed messages in the payload of a mutation. It equals the maximum of an event. If more messages change,
 * the events contain all of them.
 */
const MAX_SHOWN = MAX_PER_EVENT;

const FlagChange = builder.objectRef<FlagsChanged>('MessageFlagChange').implement({
  description: 'Result of a change of a flag.',
  fields: (t) => ({
    changedCount: t.int({
      description: 'Number of messages whose flag changed.',
      resolve: ({ changedIds }) => changedIds.length,
    }),
    changedMessages: t.field({
      type: [Message],
      description: `Messages whose flag changed, if they still exist. At most the first ${MAX_SHOWN}.`,
      complexity: { field: 1, multiplier: MAX_SHOWN },
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'Message', changedIds.slice(0, MAX_SHOWN)),
    }),
    skippedChannels: t.field({
      type: [Channel],
      description:
        'Channels whose messages did not become unread because the viewer is not subscribed to them. At most one per ' +
        'message.',
      resolve: ({ skippedChannelIds }, _args, ctx) => nodesOf(ctx, 'Channel', skippedChannelIds),
    }),
  }),
});
const CHANGE = { type: FlagChange, description: 'The change that was made.' } as const;

mutation('updateMessageFlags', {
  description:
    'Adds a flag of the viewer to messages, or removes it. Channel messages become unread only if the viewer is ' +
    'subscribed to the channel. Channel messages that the viewer did not receive can be flagged, too.',
  input: (t) => ({
    messageIds: t.idList({ ...refersTo('Message'), description: 'Ids of the messages. At most 5,000.' }),
    operation: t.field({ type: OperationEnum, description: GIVES }),
    flag: t.field({ type: MessageFlagEnum, description: SETTABLE }),
  }),
  payload: () => ({ change: CHANGE }),
  resolve: async (ctx, { messageIds, operation, flag }) => ({
    change: await updateFlags(ctx, messageIds, requireFlagChange(operation, flag)),
  }),
});

mutation('updateMessageFlagsInNarrow', {
  description:
    'Adds a flag of the viewer to the messages around an anchor that match a filter (`narrow`), or removes it. ' +
    'Channel messages become unread only if the viewer is subscribed to the channel.',
  input: (t) => ({
    narrow: t.field({
      type: MessageNarrow,
      required: false,
      description: 'Filter for the messages. Absent: all that the viewer received.',
    }),
    anchor: t.field({
      type: MessageAnchor,
      description: 'Message around which the others are selected. The viewer must be able to read it.',
    }),
    includeAnchor: t.boolean({
      required: false,
      defaultValue: true,
      description: 'Whether the message at the anchor is included.',
    }),
    countBefore: t.int({
      description: 'Number of messages before the anchor: at least 0. The sum with `countAfter` is at most 5,000.',
    }),
    countAfter: t.int({
      description: 'Number of messages after the anchor: at least 0. The sum with `countBefore` is at most 5,000.',
    }),
    operation: t.field({ type: OperationEnum, description: GIVES }),
    flag: t.field({ type: MessageFlagEnum, description: SETTABLE }),
  }),
  payload: () => ({
    change: CHANGE,
    processedCount: {
      type: 'Int',
      description:
        'Number of messages that `narrow`, `anchor` and the counts select, including those whose flag did not change.',
    },
    firstProcessed: {
      type: Message,
      nullable: true,
      description: 'Oldest selected message. Null if none was selected.',
    },
    lastProcessed: {
      type: Message,
      nullable: true,
      description: 'Newest selected message. Null if none was selected.',
    },
    foundOldest: {
      type: 'Boolean',
      description: 'True if no older message matches `narrow`. False if there may be more.',
    },
    foundNewest: {
      type: 'Boolean',
      description: 'True if no newer message matches `narrow`. False if there may be more.',
    },
  }),
  errors: [BadNarrowError],
  resolve: async (ctx, { narrow, anchor, includeAnchor, operation, flag, countBefore, countAfter }) => {
    const range = {
      ...{ anchor: await anchorIn(ctx, anchor), includeAnchor: includeAnchor ?? true },
      ...{ numBefore: countBefore, numAfter: countAfter },
    };
    const terms = termsIn(narrow ?? {});
    const change = requireFlagChange(operation, flag);
    const { selection, ...changed } = await updateFlagsInNarrow(ctx, { narrow: terms, ...range }, change);
    const ends = [selection.ids.at(0), selection.ids.at(-1)].filter((id) => id !== undefined);
    const messages = new Map((await readableMessages(ctx, ends)).map((message) => [Number(message.id), message]));
    return {
      change: changed,
      processedCount: selection.ids.length,
      firstProcessed: messages.get(ends.at(0) ?? 0) ?? null,
      lastProcessed: messages.get(ends.at(-1) ?? 0) ?? null,
      foundOldest: selection.foundOldest,
      foundNewest: selection.foundNewest,
    };
  },
});

const READ_COUNT = { type: 'Int', description: 'Number of messages that were unread.' } as const;

mutation('markTopicAsRead', {
  description: 'Marks all messages of a topic as read for the viewer.',
  input: (t) => ({ topic: t.field({ type: TopicRef, description: 'The topic.' }) }),
  payload: () => ({ readCount: READ_COUNT }),
  resolve: async (ctx, { topic }) => {
    const { channelId, name } = await topicIn(ctx, topic);
    return { readCount: (await markTopicAsRead(ctx, channelId, name)).length };
  },
});

mutation('markChannelAsRead', {
  description: 'Marks all messages of a channel as read for the viewer.',
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Id of the channel.' }) }),
  payload: () => ({ readCount: READ_COUNT }),
  resolve: async (ctx, { channelId }) => ({ readCount: (await markChannelAsRead(ctx, channelId)).length }),
});

mutation('markConversationAsRead', {
  description: 'Marks all messages of a direct conversation as read for the viewer.',
  input: (t) => ({
    conversationId: t.id({ ...refersTo('DirectConversation'), description: 'Id of the conversation.' }),
  }),
  payload: () => ({ readCount: READ_COUNT }),
  resolve: async (ctx, { conversationId }) => ({
    readCount: (await markConversationAsRead(ctx, conversationId)).length,
  }),
});

mutation('markAllAsRead', {
  ignoresIdempotencyKey: true,
  description: 'Marks all messages as read for the viewer.',
  input: (t) => ({
    maxSeconds: t.int({
      required: false,
      defaultValue: MAX_SECONDS,
      description: 'Time budget in seconds, from 1 to 50. When it is used up, `complete` is false.',
    }),
  }),
  payload: () => ({
    complete: {
      type: 'Boolean',
      description: 'Whether all messages are marked. If false, the time budget is used up: call again to continue.',
    },
  }),
  resolve: async (ctx, { maxSeconds }) => ({ complete: await markAllAsRead(ctx, maxSeconds ?? MAX_SECONDS) }),
});

/** Source object of the resolvers of the GraphQL type `UnreadCounts`. Has the viewer's id, which is also the node's id. */
interface UnreadOfUser {
  readonly id: number;
}

const sumOf = async (ctx: GraphQLContext, isMeant: (one: UnreadCount) => boolean): Promise<number> =>
  (await ownCounts(ctx)).filter(isMeant).reduce((sum, { count }) => sum + count, 0);

export const UnreadCounts = builder.objectRef<UnreadOfUser>('UnreadCounts');

builder.node(UnreadCounts, {
  id: { resolve: ({ id }) => id },
  description: 'Exact numbers of unread messages. In channels, muted messages are excluded.',
  fields: (t) => ({
    total: t.int({
      description: 'Number of unread messages in channels and conversations.',
      resolve: (_user, _args, ctx) => sumOf(ctx, ({ isMuted }) => !isMuted),
    }),
    channels: t.int({
      description: 'Number of unread messages in channels.',
      resolve: (_user, _args, ctx) => sumOf(ctx, ({ isMuted, channelId }) => !isMuted && channelId !== null),
    }),
    conversations: t.int({
      description: 'Number of unread direct messages.',
      resolve: (_user, _args, ctx) => sumOf(ctx, ({ channelId }) => channelId === null),
    }),
    mentions: t.int({
      description:
        'Number of unread messages that mention the viewer. Muted messages count only if they mention the viewer by ' +
        'name or through a group, not with a wildcard such as @all. If more than ' +
        `${MAX_MENTIONS.toLocaleString('en')} messages, read or unread, mention the viewer by name, through a group or ` +
        'through @topic, the oldest of them may be left out. The same applies to messages with @all in one channel or ' +
        'conversation.',
      resolve: async (_user, _args, ctx) => (await ownMentions(ctx)).reduce((sum, { count }) => sum + count, 0),
    }),
    hasOlder: t.boolean({
      description:
        'Whether there are more than 50,000 unread messages, muted ones included. REST responses then omit the oldest ids.',
      resolve: async (_user, _args, ctx) => (await sumOf(ctx, () => true)) > MAX_UNREAD,
    }),
  }),
});

nodeType('UnreadCounts', async ({ viewer: { id } }, ids) => (ids.includes(id) ? [{ id }] : []));

builder.prismaObjectField(User, 'unreadCounts', (t) =>
  t.field({
    type: UnreadCounts,
    nullable: true,
    description: 'Numbers of unread messages. Null for all users except the viewer.',
    resolve: ({ id }, _args, ctx) => (id === signedIn(ctx).viewer.id ? { id } : null),
  }),
);

builder.prismaObjectField(User, 'starredMessages', (t) =>
  t.connection(
    {
      type: Message,
      description: `Messages that the viewer has starred and can read. Empty for other users. ${TIMELINE}`,
      args: timelineArgs(t),
      complexity: (args) => timelineComplexity(args),
      resolve: ({ id }, args, ctx) => {
        if (id !== signedIn(ctx).viewer.id) {
          return { ...pageOfList([], {}), facets: async () => ({ senders: [], channels: [] }) };
        }
        const narrow = () => compileNarrow(signedIn(ctx), STARRED);
        const load = (page: MessagePage) => ownStarred(ctx).load(page);
        const count = async () => (await load(NEWEST_COUNTED)).length;
        return timelinePage(ctx, { narrow, count, read: (page) => idsPage(load, page, ctx) }, args);
      },
    },
    MessageConnection,
  ),
);

builder.prismaObjectField(Message, 'readReceipts', (t) =>
  t.connection(
    {
      type: User,
      description:
        'Users who have read the message and send read receipts, except the sender. Empty if the organization disables them.',
      args: { orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }) },
      resolve: ({ id }, args, ctx) => receiptsPage(Number(id), args, ctx),
    },
    UserConnection,
  ),
);

/**
 * Loads a page of the users who have read a message. If the pages of several messages have the same bounds and order, one query
 * loads them.
 */
async function receiptsPage(messageId: number, args: UserListArguments, ctx: GraphQLContext) {
  const { sorted, page } = sortedUsers('readers', args);
  if (!showsReceipts(signedIn(ctx))) return pageOfList([], {});
  const found = pageRead(await receiptPages(ctx, messageId, page), sorted);
  const rows = await usersAt(ctx, found);
  const totalCount = () => receiptCounts(ctx).load(messageId);
  return sortedConnection(rows, found, { ...sorted, idOf: ({ id }) => id, totalCount });
}

import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOfList } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodesOf, nodeType } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { pageRead, sortedConnection } from '../../api/graphql/sorted-list.ts';
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
import { Message, MessageFlag as MessageFlagEnum } from '../graphql.ts';
import { anchorIn, idsPage, MessageAnchor, MessageConnection } from '../graphql-pages.ts';
import { BadNarrowError } from '../narrow/errors.ts';
import { MessageNarrow, termsIn } from '../narrow/graphql.ts';
import { type FlagsChanged, requireFlagChange, updateFlags, updateFlagsInNarrow } from './flags.ts';
import { ownStarred, receiptCounts, receiptPages } from './loaders.ts';
import { MAX_SECONDS, markAllAsRead, markChannelAsRead, markTopicAsRead } from './mark-read.ts';
import { showsReceipts } from './receipts.ts';
import { MAX_UNREAD } from './unread.ts';
import type { UnreadCount } from './unread-counts.ts';
import { ownCounts, ownMentions } from './unread-loaders.ts';
import { MAX_MENTIONS } from './unread-mentions.ts';

const OperationEnum = builder.enumType('FlagOperation', {
  description: 'What is done with a flag.',
  values: {
    ADD: { value: 'add', description: 'The messages get it.' },
    REMOVE: { value: 'remove', description: 'The messages lose it.' },
  } as const,
});

const GIVES = 'Whether the messages get the flag, or lose it.';
const SETTABLE = 'The flag: READ, STARRED or COLLAPSED. The service sets the others.';

/** Our choice: what an event tells of at most. Who changes more reads them again. */
const MAX_SHOWN = 500;

const FlagChange = builder.objectRef<FlagsChanged>('MessageFlagChange').implement({
  description: 'What became of a flag of messages.',
  fields: (t) => ({
    changedCount: t.int({
      description: 'How many messages are different now.',
      resolve: ({ changedIds }) => changedIds.length,
    }),
    changedMessages: t.field({
      type: [Message],
      description: `The messages that are different now: the first ${MAX_SHOWN} of them, of those that are still there.`,
      complexity: { field: 1, multiplier: MAX_SHOWN },
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'Message', changedIds.slice(0, MAX_SHOWN)),
    }),
    skippedChannels: t.field({
      type: [Channel],
      description:
        'Channels whose messages did not become unread, because the viewer is not subscribed to them; no more than those ' +
        'of the messages.',
      resolve: ({ skippedChannelIds }, _args, ctx) => nodesOf(ctx, 'Channel', skippedChannelIds),
    }),
  }),
});
const CHANGE = { type: FlagChange, description: 'What became of it.' } as const;

mutation('updateMessageFlags', {
  description:
    'Gives messages a flag, or takes it. Channel messages become unread only where the viewer is subscribed; messages of ' +
    'a channel that the viewer never received can be taken up.',
  input: (t) => ({
    messageIds: t.idList({ ...refersTo('Message'), description: 'The messages: at most 5,000.' }),
    operation: t.field({ type: OperationEnum, description: GIVES }),
    flag: t.field({ type: MessageFlagEnum, description: SETTABLE }),
  }),
  payload: () => ({ change: CHANGE }),
  resolve: async (ctx, { messageIds, operation, flag }) => ({
    change: await updateFlags(ctx, messageIds, requireFlagChange(operation, flag)),
  }),
});

mutation('updateMessageFlagsInNarrow', {
  description: 'Gives the messages of a narrow around an anchor a flag, or takes it, as `updateMessageFlags` does.',
  input: (t) => ({
    narrow: t.field({
      type: MessageNarrow,
      required: false,
      description: 'Which messages. Absent: what the viewer received.',
    }),
    anchor: t.field({ type: MessageAnchor, description: 'Around which message; one that the viewer may read.' }),
    includeAnchor: t.boolean({
      required: false,
      defaultValue: true,
      description: 'Whether the message at the anchor is among them.',
    }),
    numBefore: t.int({
      description: 'How many messages older than the anchor: 0 or more, with `numAfter` at most 5,000.',
    }),
    numAfter: t.int({
      description: 'How many messages newer than the anchor: 0 or more, with `numBefore` at most 5,000.',
    }),
    operation: t.field({ type: OperationEnum, description: GIVES }),
    flag: t.field({ type: MessageFlagEnum, description: SETTABLE }),
  }),
  payload: () => ({
    change: CHANGE,
    processedCount: { type: 'Int', description: 'How many messages were found.' },
    firstProcessed: { type: Message, nullable: true, description: 'The oldest message that was found; null for none.' },
    lastProcessed: { type: Message, nullable: true, description: 'The newest message that was found; null for none.' },
    foundOldest: { type: 'Boolean', description: 'Whether there is none older in the narrow.' },
    foundNewest: { type: 'Boolean', description: 'Whether there is none newer in the narrow.' },
  }),
  errors: [BadNarrowError],
  resolve: async (ctx, { narrow, anchor, includeAnchor, operation, flag, numBefore, numAfter }) => {
    const range = { anchor: await anchorIn(ctx, anchor), numBefore, numAfter, includeAnchor: includeAnchor ?? true };
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

const READ_COUNT = { type: 'Int', description: 'How many messages were unread.' } as const;

mutation('markTopicAsRead', {
  description: 'Makes everything in a topic read for the viewer.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'The channel of the topic.' }),
    topic: t.string({ description: "The topic's name, in whatever case." }),
  }),
  payload: () => ({ readCount: READ_COUNT }),
  resolve: async (ctx, { channelId, topic }) => ({ readCount: (await markTopicAsRead(ctx, channelId, topic)).length }),
});

mutation('markChannelAsRead', {
  description: 'Makes everything in a channel read for the viewer.',
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'The channel.' }) }),
  payload: () => ({ readCount: READ_COUNT }),
  resolve: async (ctx, { channelId }) => ({ readCount: (await markChannelAsRead(ctx, channelId)).length }),
});

mutation('markAllAsRead', {
  ignoresIdempotencyKey: true,
  description: 'Makes everything read for the viewer.',
  input: (t) => ({
    maxSeconds: t.int({
      required: false,
      defaultValue: MAX_SECONDS,
      description: 'How long it may take, in seconds: 1 to 50.',
    }),
  }),
  payload: () => ({
    complete: { type: 'Boolean', description: 'Whether all is done. If not, time was up, and the same again goes on.' },
  }),
  resolve: async (ctx, { maxSeconds }) => ({ complete: await markAllAsRead(ctx, maxSeconds ?? MAX_SECONDS) }),
});

/** What is unread for the viewer, by their id. */
interface UnreadOfUser {
  readonly id: number;
}

const sumOf = async (ctx: GraphQLContext, isMeant: (one: UnreadCount) => boolean): Promise<number> =>
  (await ownCounts(ctx)).filter(isMeant).reduce((sum, { count }) => sum + count, 0);

const UnreadCounts = builder.objectRef<UnreadOfUser>('UnreadCounts');

builder.node(UnreadCounts, {
  id: { resolve: ({ id }) => id },
  description: 'How much is unread, however much it is: in channels, what is not muted.',
  fields: (t) => ({
    total: t.int({
      description: 'Unread messages in channels and conversations.',
      resolve: (_user, _args, ctx) => sumOf(ctx, ({ isMuted }) => !isMuted),
    }),
    channels: t.int({
      description: 'Unread messages in channels.',
      resolve: (_user, _args, ctx) => sumOf(ctx, ({ isMuted, channelId }) => !isMuted && channelId !== null),
    }),
    conversations: t.int({
      description: 'Unread direct messages.',
      resolve: (_user, _args, ctx) => sumOf(ctx, ({ channelId }) => channelId === null),
    }),
    mentions: t.int({
      description:
        'Of these and the muted ones, how many mention the viewer by name or through a group, or with everybody where it ' +
        `is not muted. Of the newest ${MAX_MENTIONS.toLocaleString('en')} that name the viewer, read or not, and as many in ` +
        'each channel and conversation that mention everybody.',
      resolve: async (_user, _args, ctx) => (await ownMentions(ctx)).reduce((sum, { count }) => sum + count, 0),
    }),
    hasOlder: t.boolean({
      description:
        'Whether there are more than 50,000, the muted ones included: what lists their ids over REST leaves out the oldest then.',
      resolve: async (_user, _args, ctx) => (await sumOf(ctx, () => true)) > MAX_UNREAD,
    }),
  }),
});

nodeType('UnreadCounts', async ({ viewer: { id } }, ids) => (ids.includes(id) ? [{ id }] : []));

builder.prismaObjectField(User, 'unreadCounts', (t) =>
  t.field({
    type: UnreadCounts,
    nullable: true,
    description: 'Null for anybody but the viewer.',
    resolve: ({ id }, _args, ctx) => (id === signedIn(ctx).viewer.id ? { id } : null),
  }),
);

builder.prismaObjectField(User, 'starredMessages', (t) =>
  t.connection(
    {
      type: Message,
      description: 'The messages the viewer has starred and may read, the newest first. Empty for any other user.',
      resolve: ({ id }, args, ctx) =>
        id === signedIn(ctx).viewer.id
          ? idsPage((page) => ownStarred(ctx).load(page), args, ctx)
          : pageOfList([], args),
    },
    MessageConnection,
  ),
);

builder.prismaObjectField(Message, 'readReceipts', (t) =>
  t.connection(
    {
      type: User,
      description:
        'Who has read it and lets others know, but its sender. Empty where the organization does not show read receipts.',
      args: { orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }) },
      resolve: ({ id }, args, ctx) => receiptsPage(Number(id), args, ctx),
    },
    UserConnection,
  ),
);

/** A page of a message's readers, in one step with the same page of the other messages selected. */
async function receiptsPage(messageId: number, args: UserListArguments, ctx: GraphQLContext) {
  const { sorted, page } = sortedUsers('readers', args);
  if (!showsReceipts(signedIn(ctx))) return pageOfList([], {});
  const found = pageRead(await receiptPages(ctx).load({ messageId, ...page }), sorted);
  const rows = await usersAt(ctx, found);
  const totalCount = () => receiptCounts(ctx).load(messageId);
  return sortedConnection(rows, found, { ...sorted, idOf: ({ id }) => id, totalCount });
}

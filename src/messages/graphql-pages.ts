import { type Ctx, signedIn } from '../access/context.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { type ConnectionArguments, idInCursor, pageByIds } from '../api/graphql/schema/connection.ts';
import { nodeOf } from '../api/graphql/schema/node.ts';
import { DEFAULT_PAGE_SIZE, pageSize } from '../api/graphql/schema/page-size.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { Channel } from '../channels/graphql.ts';
import { channelActivities } from '../channels/loaders.ts';
import { BadRequestError } from '../platform/errors.ts';
import { accessMessage } from './access.ts';
import type { MessagePage } from './channel-messages.ts';
import { Message } from './graphql.ts';
import { channelMessages, messagesFound } from './loaders.ts';
import { MessageNarrow, termsIn } from './narrow/graphql.ts';
import { compileNarrow } from './narrow/narrow.ts';
import { type Anchor, readPage, selectIds } from './narrow/narrow-select.ts';
import type { NarrowTerm } from './narrow/narrow-terms.ts';
import { cutToSize } from './page-bytes.ts';
import { messageTexts } from './text-budget.ts';
import { topicMessages } from './topic-loaders.ts';

/** GraphQL connection type for lists of messages. */
export const MessageConnection = builder.connectionObject(
  { type: Message, name: 'MessageConnection' },
  { name: 'MessageEdge' },
);

const MessagePlace = builder.enumType('MessagePlace', {
  description: 'A position in a list of messages.',
  values: {
    NEWEST: { value: 'newest', description: 'The newest end of the list.' },
    OLDEST: { value: 'oldest', description: 'The oldest end of the list.' },
    FIRST_UNREAD: {
      value: 'first_unread',
      description: 'The oldest unread message that is not muted. If there is none: the newest end.',
    },
  } as const,
});

export const MessageAnchor = builder.inputType('MessageAnchor', {
  isOneOf: true,
  description: 'The message to read around.',
  fields: (t) => ({
    place: t.field({
      type: MessagePlace,
      required: false,
      description: 'An end of the list, or the first unread message.',
    }),
    messageId: t.id({
      ...refersTo('Message'),
      required: false,
      description: 'Id of a message that the viewer can read. It need not match the narrow.',
    }),
    date: t.field({ type: 'DateTime', required: false, description: 'The first message sent at or after this time.' }),
  }),
});

/**
 * Converts the GraphQL input to an anchor of a page.
 *
 * @throws BadRequestError for a message that the viewer cannot read.
 */
export async function anchorIn(
  ctx: Ctx,
  { messageId, place, date }: typeof MessageAnchor.$inferInput,
): Promise<Anchor> {
  return place ?? date ?? Number((await accessMessage(ctx, messageId)).id);
}

/** Text for the description of a connection: meaning of `first` and `last` if there is an `anchor`. */
export const AROUND =
  'With `anchor`, the page has the anchor if it matches, up to `first` older messages and up to `last` newer ones. If ' +
  '`first` and `last` are absent: up to 20 of each. Such a page can be continued in both directions.';

builder.queryField('messages', (t) =>
  t.connection(
    {
      type: Message,
      description: `Messages, newest first: those that match the narrow, or all that the viewer received. ${AROUND}`,
      args: {
        narrow: t.arg({
          type: MessageNarrow,
          required: false,
          description: 'Filter. Absent: all messages that the viewer received.',
        }),
        anchor: t.arg({
          type: MessageAnchor,
          required: false,
          description: 'Message to read around. Cannot be combined with a cursor.',
        }),
      },
      complexity: ({ anchor, ...page }) => ({
        field: 1,
        multiplier: anchor == null ? pageSize(page) : sizeAround(page),
      }),
      resolve: async (_root, { narrow, anchor, ...page }, ctx) => {
        const terms = termsIn(narrow ?? {});
        if (anchor == null) return messagesPage(terms, page, ctx);
        return messagesAround(await anchorIn(signedIn(ctx), anchor), terms, page, ctx);
      },
    },
    MessageConnection,
  ),
);

/** Returns how many older and newer messages than the anchor are requested. */
function sidesOf({ first, last }: ConnectionArguments): { readonly older: number; readonly newer: number } {
  if (first == null && last == null) return { older: DEFAULT_PAGE_SIZE, newer: DEFAULT_PAGE_SIZE };
  return { older: first == null ? 0 : pageSize({ first }), newer: last == null ? 0 : pageSize({ last }) };
}

/** Returns the number of messages requested around an anchor, including the anchor itself. */
export const sizeAround = (page: ConnectionArguments): number => sidesOf(page).older + sidesOf(page).newer + 1;

/** Returns a connection of the messages of a narrow around an anchor, newest first. */
export async function messagesAround(
  anchor: Anchor,
  terms: readonly NarrowTerm[],
  args: ConnectionArguments,
  ctx: GraphQLContext,
) {
  if (args.after != null || args.before != null)
    throw new BadRequestError('"anchor" cannot be combined with "after" or "before"');
  const me = signedIn(ctx);
  const { older, newer } = sidesOf(args);
  const range = { anchor, numBefore: older, numAfter: newer, includeAnchor: true };
  const narrow = await compileNarrow(me, terms);
  const { rows, foundOldest, foundNewest } = await messageTexts(ctx).load(async () => {
    const { ids, ...found } = await cutToSize(me.app.db, me.realmId, await selectIds(me, narrow, range));
    return { ...found, rows: await messagesFound(ctx, ids) };
  });
  const page = pageByIds('message', rows.toReversed(), {
    idOf: ({ id }) => id,
    more: false,
    args,
  });
  const pageInfo = { ...page.pageInfo, hasNextPage: !foundOldest, hasPreviousPage: !foundNewest };
  return { ...page, pageInfo };
}

builder.prismaObjectField(Channel, 'firstMessage', (t) =>
  t.field({
    type: Message,
    nullable: true,
    description: 'Oldest existing message of the channel. Null if there is none, or if the viewer cannot read it.',
    resolve: async (channel, _args, ctx) =>
      nodeOf(ctx, 'Message', (await channelActivities(ctx).load(channel)).firstMessageId),
  }),
);

builder.prismaObjectField(Channel, 'messages', (t) =>
  t.connection(
    {
      type: Message,
      description: 'Messages of the channel that the viewer can read, newest first.',
      args: {
        topic: t.arg.string({
          required: false,
          description: 'Only messages of this topic. Case and Unicode normalization form do not matter. Absent: all.',
        }),
      },
      resolve: ({ id }, { topic, ...args }, ctx) => idsPage((page) => channelIds(ctx, id, topic, page), args, ctx),
    },
    MessageConnection,
  ),
);

/** Loads a page of message ids of a channel, or of one of its topics. */
const channelIds = (ctx: GraphQLContext, channelId: number, topic: string | null | undefined, page: MessagePage) =>
  topic == null
    ? channelMessages(ctx).load({ channelId, ...page })
    : topicMessages(ctx).load({ channelId, name: topic, ...page });

/**
 * Returns a connection of the messages whose ids `load` returns. If several lists of one operation request pages with the same
 * bounds, these are loaded in one batch.
 *
 * @param load Returns the ids of the messages in a page, newest first.
 */
export async function idsPage(
  load: (page: MessagePage) => Promise<readonly number[]>,
  args: ConnectionArguments,
  ctx: GraphQLContext,
) {
  const size = pageSize(args);
  const backward = args.first == null && args.last != null;
  const ids = await load({
    above: idInCursor('message', args, 'before') ?? 0,
    below: idInCursor('message', args, 'after') ?? Number.MAX_SAFE_INTEGER,
    limit: size + 1,
    newestFirst: !backward,
  });
  const page = backward ? ids.slice(Math.max(0, ids.length - size)) : ids.slice(0, size);
  const rows = await messagesFound(ctx, page);
  return pageByIds('message', rows, { idOf: ({ id }) => id, more: ids.length > size, args });
}

/** Returns a connection of the messages of a narrow, newest first. */
export async function messagesPage(terms: readonly NarrowTerm[], args: ConnectionArguments, ctx: GraphQLContext) {
  const me = signedIn(ctx);
  const size = pageSize(args);
  const backward = args.first == null && args.last != null;
  const [after, before] = [idInCursor('message', args, 'after'), idInCursor('message', args, 'before')];
  const narrow = await compileNarrow(me, terms);
  const bounds = {
    above: before ?? 0,
    below: after ?? Number.MAX_SAFE_INTEGER,
    newestFirst: !backward,
    limit: size + 1,
  };
  const found = await messageTexts(ctx).load(() => readPage(me, narrow, bounds));
  const rows = found.rows.slice(0, size);
  return pageByIds('message', backward ? rows.toReversed() : rows, {
    idOf: ({ id }) => id,
    more: found.count > rows.length,
    args,
  });
}

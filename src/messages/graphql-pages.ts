import { type Ctx, signedIn } from '../access/context.ts';
import { builder } from '../api/graphql/builder.ts';
import { type ConnectionArguments, idInCursor, pageByIds } from '../api/graphql/connection.ts';
import type { GraphQLContext } from '../api/graphql/context.ts';
import { nodeOf } from '../api/graphql/node.ts';
import { DEFAULT_PAGE_SIZE, pageSize } from '../api/graphql/page-size.ts';
import { refersTo } from '../api/graphql/refs.ts';
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
import { topicMessages } from './topics/topic-loaders.ts';

/** Messages, a page at a time. */
export const MessageConnection = builder.connectionObject(
  { type: Message, name: 'MessageConnection' },
  { name: 'MessageEdge' },
);

const MessagePlace = builder.enumType('MessagePlace', {
  description: 'A place among messages that is none of them by itself.',
  values: {
    NEWEST: { value: 'newest', description: 'Their newer end.' },
    OLDEST: { value: 'oldest', description: 'Their older end.' },
    FIRST_UNREAD: {
      value: 'first_unread',
      description: 'The oldest that is unread, what is muted left out; the newer end where nothing is.',
    },
  } as const,
});

export const MessageAnchor = builder.inputType('MessageAnchor', {
  isOneOf: true,
  description: 'Around which message to read.',
  fields: (t) => ({
    place: t.field({ type: MessagePlace, required: false, description: 'An end, or the first unread message.' }),
    messageId: t.id({ ...refersTo('Message'), required: false, description: 'A message, be it in the narrow or not.' }),
    date: t.field({ type: 'DateTime', required: false, description: 'The first message from then on.' }),
  }),
});

/** @throws BadRequestError for a message that the viewer may not read. */
export async function anchorIn(
  ctx: Ctx,
  { messageId, place, date }: typeof MessageAnchor.$inferInput,
): Promise<Anchor> {
  return place ?? date ?? Number((await accessMessage(ctx, messageId)).id);
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
        anchor: t.arg({ type: MessageAnchor, required: false, description: 'Where to begin. Not with a cursor.' }),
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
) {
  if (args.after != null || args.before != null) throw new BadRequestError('Give either an anchor or a cursor');
  const me = signedIn(ctx);
  const { older, newer } = sidesOf(args);
  const range = { anchor, numBefore: older, numAfter: newer, includeAnchor: true };
  const { ids, foundOldest, foundNewest } = await selectIds(me, await compileNarrow(me, terms), range);
  const page = pageByIds('message', (await messagesFound(ctx, ids)).toReversed(), {
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
    description:
      'The first message in it that there still is; null when it holds none, and when the viewer may not read it.',
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
      resolve: ({ id }, { topic, ...args }, ctx) => idsPage((page) => channelIds(ctx, id, topic, page), args, ctx),
    },
    MessageConnection,
  ),
);

/** Of a channel, or of one of its topics. */
const channelIds = (ctx: GraphQLContext, channelId: number, topic: string | null | undefined, page: MessagePage) =>
  topic == null
    ? channelMessages(ctx).load({ channelId, ...page })
    : topicMessages(ctx).load({ channelId, name: topic, ...page });

/**
 * A page of messages, in one step with the same page of the other lists selected.
 *
 * @param load The ids of the messages there, the newest first.
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

/** A page of the messages of a narrow, the newest first. */
export async function messagesPage(terms: readonly NarrowTerm[], args: ConnectionArguments, ctx: GraphQLContext) {
  const me = signedIn(ctx);
  const size = pageSize(args);
  const backward = args.first == null && args.last != null;
  const [after, before] = [idInCursor('message', args, 'after'), idInCursor('message', args, 'before')];
  const found = await readPage(me, await compileNarrow(me, terms), {
    above: before ?? 0,
    below: after ?? Number.MAX_SAFE_INTEGER,
    newestFirst: !backward,
    limit: size + 1,
  });
  const rows = found.slice(0, size);
  return pageByIds('message', backward ? rows.toReversed() : rows, {
    idOf: ({ id }) => id,
    more: found.length > size,
    args,
  });
}

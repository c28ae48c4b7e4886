import type { ArgBuilder } from '@pothos/core';
import { type Ctx, signedIn } from '../access/context.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder, type Types } from '../api/graphql/schema/builder.ts';
import {
  type ConnectionArguments,
  idInCursor,
  isBackward,
  pageByIds,
  type Uncounted,
} from '../api/graphql/schema/connection.ts';
import { nodeOf } from '../api/graphql/schema/node.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pageSize } from '../api/graphql/schema/page-size.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { Channel } from '../channels/graphql.ts';
import { channelActivities } from '../channels/loaders.ts';
import type { Message as MessageRow } from '../generated/prisma/client.ts';
import { ValidationError } from '../platform/errors.ts';
import { once } from '../platform/once.ts';
import { accessMessage } from './access.ts';
import type { MessagePage } from './channel-messages.ts';
import { Message } from './graphql.ts';
import { MessageConnection, type Timeline, withMatches } from './graphql-matches.ts';
import { channelMessageCounts, channelMessages, MAX_COUNT, messagesFound } from './loaders.ts';
import { readFacets } from './narrow/facets.ts';
import { MessageNarrow, termsIn } from './narrow/graphql.ts';
import { type CompiledNarrow, compileNarrow } from './narrow/narrow.ts';
import { type Anchor, readPage, selectIds, selectPage } from './narrow/narrow-select.ts';
import { cutToSize } from './page-bytes.ts';
import { messageTexts } from './text-budget.ts';

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
      description: 'Id of a message that the viewer can read. It need not match the filter (`narrow`).',
    }),
    sentAt: t.field({
      type: 'DateTime',
      required: false,
      description: 'The first message sent at or after this time.',
    }),
    date: t.field({
      type: 'DateTime',
      required: false,
      description: 'The first message sent at or after this time.',
      deprecationReason: 'Use `sentAt`.',
    }),
  }),
});

/**
 * Converts the GraphQL input `MessageAnchor` to an anchor: the message or end of the list around which a page is read.
 *
 * @throws NotFoundError for a message that the viewer cannot read.
 */
export async function anchorIn(
  ctx: Ctx,
  { messageId, place, sentAt, date }: typeof MessageAnchor.$inferInput,
): Promise<Anchor> {
  return place ?? sentAt ?? date ?? Number((await accessMessage(ctx, messageId)).id);
}

/**
 * Maximum number of messages on one side of an anchor, the same as the maximum page size. Larger counts are refused with
 * `ValidationError`.
 */
const MAX_SIDE = MAX_PAGE_SIZE;

/** Arguments of a timeline: a connection of messages, which runs from old to new. */
export interface TimelineArguments extends ConnectionArguments {
  readonly anchor?: typeof MessageAnchor.$inferInput | null | undefined;
  readonly countBefore?: number | null | undefined;
  readonly countAfter?: number | null | undefined;
}

/** GraphQL arguments of a timeline, in addition to those of every connection. */
export const timelineArgs = (t: { readonly arg: ArgBuilder<Types> }) => ({
  anchor: t.arg({
    type: MessageAnchor,
    required: false,
    description:
      'Message around which the page is read. If `after` or `before` is given, `anchor`, `countBefore` and ' +
      '`countAfter` are ignored.',
  }),
  countBefore: t.arg.int({
    required: false,
    description:
      `Number of messages before the anchor, at most ${MAX_SIDE}. Default: ${DEFAULT_PAGE_SIZE}, or 0 if ` +
      '`countAfter` is given.',
  }),
  countAfter: t.arg.int({
    required: false,
    description:
      `Number of messages after the anchor, at most ${MAX_SIDE}. Default: ${DEFAULT_PAGE_SIZE}, or 0 if ` +
      '`countBefore` is given.',
  }),
});

/** Part of the GraphQL description of timelines: explains their order and their arguments. */
export const TIMELINE =
  'Sorted from oldest to newest. Without arguments, the page has the newest 20. With `anchor`, it has the ' +
  'anchor, if it is in the list, and the messages directly before and after it. Each page can be continued in ' +
  'both directions: with `last` and `before`, or with `first` and `after`.';

/** Returns whether a page is read around an anchor, and not from a cursor or an end of the list. */
const isAround = ({ anchor, after, before }: TimelineArguments): boolean =>
  anchor != null && after == null && before == null;

/** Returns the requested numbers of messages before and after the anchor. */
function sidesOf({ countBefore, countAfter }: TimelineArguments): { readonly before: number; readonly after: number } {
  const isDefault = countBefore == null && countAfter == null;
  const side = (name: string, count: number | null | undefined): number => {
    if (count != null && (count < 0 || count > MAX_SIDE)) {
      const details = { parameter: name, minimum: 0, maximum: MAX_SIDE, value: count };
      throw new ValidationError(`"${name}" must be between 0 and ${MAX_SIDE}`, details);
    }
    return count ?? (isDefault ? DEFAULT_PAGE_SIZE : 0);
  };
  return { before: side('countBefore', countBefore), after: side('countAfter', countAfter) };
}

/**
 * Additional complexity (cost in the limit on GraphQL operations) of a page around an anchor, in a list that is otherwise
 * batched with the lists of other objects.
 */
export const ANCHOR_COST = 10;
export const ANCHOR_COSTS = `The field adds ${ANCHOR_COST} to \`RateLimit.cost\`.`;

/**
 * Returns the complexity of a timeline.
 *
 * @param anchorCost Additional complexity of a page around an anchor.
 */
export function timelineComplexity(args: TimelineArguments, anchorCost = 0) {
  if (!isAround(args)) return { field: 1, multiplier: pageSize(args) };
  const { before, after } = sidesOf(args);
  return { field: 1 + anchorCost, multiplier: before + after + 1 };
}

/** The messages of a timeline, and two ways to read a page of them. */
interface TimelineSource {
  /** Returns the number of messages, at most `MAX_COUNT`. If absent, the messages of the narrow are counted. */
  readonly count?: () => Promise<number>;
  /** Returns the narrow (message filter) that contains the messages. */
  readonly narrow: () => Promise<CompiledNarrow>;
  /** Reads a page from a cursor or from an end. */
  readonly read: (args: ConnectionArguments) => Promise<Uncounted<MessageRow>>;
}

/**
 * Reads a page of a timeline: around an anchor, after or before a cursor, or at an end.
 *
 * @throws NotFoundError if the anchor is a message that the viewer cannot read.
 * @throws ValidationError if an anchor has `first` or `last` but neither `countBefore` nor `countAfter`, or if one of these
 *   counts is out of range or given without an anchor.
 */
export async function timelinePage(
  ctx: GraphQLContext,
  source: TimelineSource,
  args: TimelineArguments,
): Promise<Timeline> {
  const { narrow, count = async () => countInNarrow(ctx, await narrow()) } = source;
  const facets = async () => readFacets(signedIn(ctx), await narrow(), NEWEST_COUNTED);
  return { ...(await uncountedPage(ctx, source, args)), totalCount: once(count), facets: once(facets) };
}

/** Page of the messages of a timeline that are counted. */
export const NEWEST_COUNTED: MessagePage = {
  ...{ above: 0, below: Number.MAX_SAFE_INTEGER },
  ...{ newestFirst: true, limit: MAX_COUNT },
};

/** Counts the messages of a narrow (message filter). If there are more than `MAX_COUNT`, returns `MAX_COUNT`. */
async function countInNarrow(ctx: GraphQLContext, narrow: CompiledNarrow): Promise<number> {
  return (await selectPage(signedIn(ctx), narrow, NEWEST_COUNTED)).length;
}

/** Returns a function that compiles the narrow (message filter) in a GraphQL input when it is first called. */
export const narrowIn = (
  ctx: GraphQLContext,
  input: typeof MessageNarrow.$inferInput,
): (() => Promise<CompiledNarrow>) => once(async () => compileNarrow(signedIn(ctx), termsIn(input)));

/**
 * Reads a page of a timeline without the number of all messages: around an anchor, after or before a cursor, or at an end.
 *
 * @throws NotFoundError if the anchor is a message that the viewer cannot read.
 * @throws ValidationError if an anchor has `first` or `last` but neither `countBefore` nor `countAfter`, or if one of these
 *   counts is out of range or given without an anchor.
 */
async function uncountedPage(
  ctx: GraphQLContext,
  { narrow, read }: TimelineSource,
  { anchor, countBefore, countAfter, ...page }: TimelineArguments,
): Promise<Uncounted<MessageRow>> {
  const { first, last, after } = page;
  if (anchor == null && (countBefore ?? countAfter) != null) {
    throw new ValidationError('"countBefore" and "countAfter" need "anchor"', { parameter: 'anchor' });
  }
  if (anchor != null && isAround({ anchor, ...page })) {
    // With counts, `first` and `last` are for the following pages. Without counts, the document is one of the previous release.
    if ((first ?? last) != null && (countBefore ?? countAfter) == null) {
      throw new ValidationError('With "anchor", use "countBefore" and "countAfter" instead of "first" and "last"', {
        parameter: first == null ? 'last' : 'first',
      });
    }
    const around = await anchorIn(signedIn(ctx), anchor);
    return messagesAround(around, await narrow(), { countBefore, countAfter }, ctx);
  }
  const isDefault = first == null && last == null && after == null;
  return read(isDefault ? { ...page, last: DEFAULT_PAGE_SIZE } : page);
}

builder.queryField('messages', (t) =>
  t.connection(
    {
      type: Message,
      description: `Messages that match a filter (\`narrow\`), by default all that the viewer received. ${TIMELINE}`,
      args: {
        narrow: t.arg({
          type: MessageNarrow,
          required: false,
          description: 'Filter. Absent: all messages that the viewer received.',
        }),
        ...timelineArgs(t),
      },
      complexity: (args) => timelineComplexity(args),
      resolve: async (_root, { narrow: input, ...args }, ctx) => {
        const narrow = narrowIn(ctx, input ?? {});
        const read = async (page: ConnectionArguments) => messagesPage(await narrow(), page, ctx);
        const page = await timelinePage(ctx, { narrow, read }, args);
        return withMatches(ctx, page, await narrow());
      },
    },
    MessageConnection,
  ),
);

/** Returns a connection of the messages of a narrow (message filter) around an anchor, from old to new. */
async function messagesAround(
  anchor: Anchor,
  narrow: CompiledNarrow,
  args: TimelineArguments,
  ctx: GraphQLContext,
): Promise<Uncounted<MessageRow>> {
  const me = signedIn(ctx);
  const { before, after } = sidesOf(args);
  const range = { anchor, numBefore: before, numAfter: after, includeAnchor: true };
  const { rows, foundOldest, foundNewest } = await messageTexts(ctx).load(async () => {
    const { ids, ...found } = await cutToSize(me.work.db, me.organizationId, await selectIds(me, narrow, range));
    return { ...found, rows: await messagesFound(ctx, ids) };
  });
  const page = messagesById(rows, false, {});
  const pageInfo = { ...page.pageInfo, hasNextPage: !foundNewest, hasPreviousPage: !foundOldest };
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
      description: `Messages of the channel that the viewer can read. ${TIMELINE} ${ANCHOR_COSTS}`,
      args: timelineArgs(t),
      complexity: (args) => timelineComplexity(args, ANCHOR_COST),
      resolve: ({ id: channelId }, args, ctx) => {
        const narrow = narrowIn(ctx, { channel: { id: channelId } });
        const load = (page: MessagePage) => channelMessages(ctx, channelId, page);
        const count = () => channelMessageCounts(ctx).load(channelId);
        return timelinePage(ctx, { narrow, count, read: (page) => idsPage(load, page, ctx) }, args);
      },
    },
    MessageConnection,
  ),
);

/** Returns the bounds and direction of a page of a timeline, and one more than its size as limit. */
function boundsOf(args: ConnectionArguments): MessagePage {
  return {
    above: idInCursor('message', args, 'after') ?? 0,
    below: idInCursor('message', args, 'before') ?? Number.MAX_SAFE_INTEGER,
    limit: pageSize(args) + 1,
    newestFirst: isBackward(args),
  };
}

/**
 * Returns a connection of the messages whose ids the function `load` returns, from old to new. Pages with the same bounds are
 * loaded in one batch, even for several lists of one operation.
 *
 * @param load Returns the ids of the messages in a page, newest first.
 */
export async function idsPage(
  load: (page: MessagePage) => Promise<readonly number[]>,
  args: ConnectionArguments,
  ctx: GraphQLContext,
): Promise<Uncounted<MessageRow>> {
  const size = pageSize(args);
  const ids = (await load(boundsOf(args))).toReversed();
  const page = isBackward(args) ? ids.slice(Math.max(0, ids.length - size)) : ids.slice(0, size);
  const rows = await messagesFound(ctx, page);
  return messagesById(rows, ids.length > size, args);
}

/** Returns a connection of the messages of a narrow (message filter), from old to new. */
async function messagesPage(narrow: CompiledNarrow, args: ConnectionArguments, ctx: GraphQLContext) {
  const bounds = boundsOf(args);
  const found = await messageTexts(ctx).load(() => readPage(signedIn(ctx), narrow, bounds));
  const rows = found.rows.slice(0, bounds.limit - 1);
  return messagesById(bounds.newestFirst ? rows.toReversed() : rows, found.count > rows.length, args);
}

/** Returns the page with these messages. @param more Whether more messages follow in the direction of reading. */
const messagesById = (rows: readonly MessageRow[], more: boolean, args: ConnectionArguments): Uncounted<MessageRow> =>
  pageByIds('message', rows, { idOf: ({ id }) => id, more, args });

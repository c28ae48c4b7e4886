import { signedIn } from '../access/context.ts';
import { byKey, byKeyIfAny } from '../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import type { Connection } from '../api/graphql/schema/connection.ts';
import { Channel } from '../channels/graphql.ts';
import { visibleChannels } from '../channels/loaders.ts';
import type { Message as MessageRow } from '../generated/prisma/client.ts';
import { User } from '../people/graphql.ts';
import { usersById } from '../people/loaders.ts';
import { once } from '../platform/once.ts';
import { type Match, matcher } from './fetch.ts';
import { Message } from './graphql.ts';
import { MAX_COUNT } from './loaders.ts';
import { type Facet, type Facets, MAX_FACETS } from './narrow/facets.ts';
import type { CompiledNarrow } from './narrow/narrow.ts';
import { messageTexts } from './text-budget.ts';

const SenderFacet = builder.objectRef<Facet>('SenderFacet').implement({
  description: 'A sender, with the number of their messages in a list.',
  fields: (t) => ({
    sender: t.field({ type: User, description: 'The sender.', resolve: byKey(usersById, ({ id }) => id) }),
    count: t.exposeInt('count', { description: 'Number of messages of the sender in the list.' }),
  }),
});

const ChannelFacet = builder.objectRef<Facet>('ChannelFacet').implement({
  description: 'A channel, with the number of its messages in a list.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'The channel. Null if the viewer lost access to it after the messages were counted.',
      resolve: byKeyIfAny(visibleChannels, ({ id }) => id),
    }),
    count: t.exposeInt('count', { description: 'Number of messages in the channel that are in the list.' }),
  }),
});

const MessageFacets = builder.objectRef<Facets>('MessageFacets').implement({
  description: `Senders and channels of the messages in a list. Only its newest ${MAX_COUNT.toLocaleString('en')} messages are counted.`,
  fields: (t) => ({
    senders: t.field({
      type: [SenderFacet],
      description: `Senders with the most messages in the list, most messages first. At most ${MAX_FACETS}.`,
      complexity: { multiplier: MAX_FACETS },
      resolve: ({ senders }) => senders,
    }),
    channels: t.field({
      type: [ChannelFacet],
      description:
        `Channels with the most messages in the list, most messages first. At most ${MAX_FACETS}. Direct messages ` +
        'are not included.',
      complexity: { multiplier: MAX_FACETS },
      resolve: ({ channels }) => channels,
    }),
  }),
});

/** A page of messages, with the data that depends on the narrow (message filter) of the list. */
export interface Timeline extends Connection<MessageRow> {
  readonly facets: () => Promise<Facets>;
}

/** An edge of the results of a search. */
interface FoundEdge {
  readonly node: MessageRow;
  readonly cursor: string;
  /** Returns the message as HTML, in which the matches of the search are highlighted. */
  readonly match: () => Promise<Match>;
}

/**
 * Returns a highlighted text of an edge. Undefined if the list has no search.
 *
 * @throws ValidationError if the texts that the operation returns exceed the limit.
 */
async function highlighted(
  ctx: GraphQLContext,
  edge: Partial<FoundEdge>,
  text: keyof Match,
): Promise<string | undefined> {
  const match = await edge.match?.();
  return match && messageTexts(ctx).taken(match[text]);
}

const HIGHLIGHTED =
  'as HTML, in which `<span class="highlight">` surrounds the matches of the search. Null if the list has no `search`.';

/** GraphQL connection type for lists of messages. */
export const MessageConnection = builder.connectionObject(
  {
    type: Message,
    name: 'MessageConnection',
    fields: (t) => ({
      facets: t.field({
        type: MessageFacets,
        nullable: true,
        description:
          'Senders and channels of the messages in the whole list. Null, with an error, only if counting failed.',
        // For each list, the facets need two queries.
        complexity: { field: 100 },
        resolve: (page) => (page as Timeline).facets(),
      }),
    }),
  },
  {
    name: 'MessageEdge',
    fields: (t) => ({
      highlightedContent: t.string({
        nullable: true,
        description: `Content ${HIGHLIGHTED}`,
        resolve: (edge, _args, ctx) => highlighted(ctx, edge, 'content'),
      }),
      highlightedTopicName: t.string({
        nullable: true,
        description: `Name of the topic ${HIGHLIGHTED}`,
        resolve: (edge, _args, ctx) => highlighted(ctx, edge, 'topic'),
      }),
    }),
  },
);

/** Makes the edges of a page of search results return their highlighted texts, which are read when the first is selected. */
export function withMatches(ctx: GraphQLContext, page: Timeline, narrow: CompiledNarrow): Timeline {
  if (narrow.search === undefined) return page;
  const rows = page.edges.map(({ node }) => node);
  const matchOf = once(() => matcher(signedIn(ctx), narrow, rows));
  const edges = page.edges.map(
    (edge): FoundEdge => ({
      node: edge.node,
      get cursor() {
        return edge.cursor;
      },
      match: once(async () => (await matchOf())(edge.node)),
    }),
  );
  return { ...page, edges };
}

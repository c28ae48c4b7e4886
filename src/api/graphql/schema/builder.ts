import SchemaBuilder from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import type PrismaTypes from '../../../generated/pothos.ts';
import { getDatamodel } from '../../../generated/pothos.ts';
import type { Db } from '../../../platform/db/client.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pageSize } from './page-size.ts';
import { REFS } from './refs.ts';

/** The types that the Pothos builder uses: context, scalars and defaults. */
export interface SchemaShape {
  Context: GraphQLContext;
  PrismaTypes: PrismaTypes;
  Scalars: {
    DateTime: { Input: Date; Output: Date };
    /** Clients send and receive global ids, resolvers receive and return row ids. @see refs.ts */
    ID: { Input: number; Output: number | bigint };
    File: { Input: Uint8Array; Output: never };
    LongId: { Input: number; Output: number };
  };
  Connection: { totalCount: () => number | Promise<number> };
  /** Fields and arguments are non-null unless declared otherwise. */
  DefaultFieldNullability: false;
  DefaultInputFieldRequiredness: true;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
}

const PAGE_SIZES =
  `at most ${MAX_PAGE_SIZE}, unless the list states another limit. ` +
  `If \`first\` and \`last\` are absent: ${DEFAULT_PAGE_SIZE}.`;

/** The type parameter of the builder with all defaults, for functions that take field builders or refs of the builder. */
export type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaShape>;

/**
 * The only builder of the GraphQL schema. The file `graphql.ts` of every feature adds types and fields to this builder. The
 * builder holds no database client: resolvers and the Prisma plugin take the client from the context, so that several services
 * can run in one process.
 *
 * Tests set `builder.options.prisma.onUnusedQuery = 'error'`: a resolver that forgets `...query` then fails, instead of running
 * one query per row.
 */
export const builder = new SchemaBuilder<SchemaShape>({
  // The errors plugin is first, because it must handle the errors that the plugins after it throw.
  plugins: [ErrorsPlugin, RelayPlugin, PrismaPlugin, REFS],
  defaultFieldNullability: false,
  defaultInputFieldRequiredness: true,
  errors: {
    directResult: true,
    defaultUnionOptions: { name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result` },
  },
  prisma: {
    // The plugin requires the type of a database client. It only reads, so a transaction can be used instead.
    client: ({ work }) => work.db as Db,
    dmmf: getDatamodel(),
    exposeDescriptions: true,
    onUnusedQuery: null,
    maxConnectionSize: MAX_PAGE_SIZE,
    defaultConnectionSize: DEFAULT_PAGE_SIZE,
  },
  relay: {
    nodeTypeOptions: { description: 'An object that `node` can load by its global id.' },
    idFieldOptions: { description: 'Global id, unique across all types.' },
    pageInfoTypeOptions: {
      description: 'First and last cursor of a page, and whether its list has more items before and after the page.',
    },
    firstArgOptions: { description: `Number of items from the start of the list, or after \`after\`: ${PAGE_SIZES}` },
    lastArgOptions: { description: `Number of items from the end of the list, or before \`before\`: ${PAGE_SIZES}` },
    afterArgOptions: { description: 'Cursor. The page contains only items after it.' },
    beforeArgOptions: { description: 'Cursor. The page contains only items before it.' },
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      complexity: { field: 1, multiplier: 1 },
      description: 'Items of the page, each with its cursor.',
    },
    nodeFieldOptions: { nullable: false, description: 'The item at this position of the list.' },
    cursorFieldOptions: { description: 'Position of the item in the list, for `after` and `before`.' },
    pageInfoFieldOptions: {
      description: 'First and last cursor of the page, and whether the list has more items before and after it.',
    },
    hasNextPageFieldOptions: { description: 'Whether the list has items after the page.' },
    hasPreviousPageFieldOptions: { description: 'Whether the list has items before the page.' },
    startCursorFieldOptions: { description: 'Cursor of the first edge. Null for an empty page.' },
    endCursorFieldOptions: { description: 'Cursor of the last edge. Null for an empty page.' },
    defaultConnectionTypeOptions: { description: 'A page of a list, with its cursors and the total number of items.' },
    defaultEdgeTypeOptions: { description: 'An item of a list, with its cursor.' },
    // `nodes` has the items without edges, for clients that need no cursors.
    nodesOnConnection: { complexity: { field: 1, multiplier: 1 }, description: 'Items of the page, without cursors.' },
    // A connection costs as much as the objects that its page can contain. The fields `edges` and `nodes` list the same page,
    // and are not counted again. If a connection is refused, it is null with an error, and its sibling fields are unaffected.
    defaultConnectionFieldOptions: {
      nullable: true,
      complexity: (args) => ({ field: 1, multiplier: pageSize(args) }),
    },
    // `node` is defined in node.ts, because loading by id alone would bypass the access rules of the features.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
});

builder.queryType({ description: 'Root of all queries.' });
builder.mutationType({ description: 'Root of all mutations. Each returns its payload or a typed error.' });
builder.subscriptionType({ description: 'Root of all subscriptions.' });

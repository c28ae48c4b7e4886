import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { UnauthorizedError } from '../../access/errors.ts';
import type PrismaTypes from '../../generated/pothos.ts';
import { getDatamodel } from '../../generated/pothos.ts';
import type { GraphQLContext } from './context.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pageSize } from './page-size.ts';
import { REFS } from './refs.ts';

/** Everything the schema's types are worked out from. */
export interface SchemaShape {
  Context: GraphQLContext;
  PrismaTypes: PrismaTypes;
  AuthScopes: { signedIn: boolean };
  Scalars: {
    DateTime: { Input: Date; Output: Date };
    /** Clients name objects by global ids, resolvers by the numbers of their rows. @see refs.ts */
    ID: { Input: number; Output: number | bigint };
    File: { Input: Uint8Array; Output: never };
    LongId: { Input: number; Output: number };
  };
  Connection: { totalCount?: (() => number | Promise<number>) | undefined };
  /** Fields and arguments are not null unless they say so. */
  DefaultFieldNullability: false;
  DefaultInputFieldRequiredness: true;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
}

const PAGE_SIZES = `${DEFAULT_PAGE_SIZE} when neither is given, ${MAX_PAGE_SIZE} at most where the list says no other number.`;

/** The builder's own types, for helpers that take its field builders or refs. */
export type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaShape>;

/**
 * The one schema builder: every feature's `graphql.ts` adds its types and fields to it. It holds no database; resolvers
 * and the Prisma plugin take it from the context, so that several services can run in one process.
 *
 * Tests set `builder.options.prisma.onUnusedQuery = 'error'`: a resolver that forgets `...query` then fails instead of
 * querying once per row.
 */
export const builder = new SchemaBuilder<SchemaShape>({
  // Errors first: it must wrap what all the others may throw.
  plugins: [ErrorsPlugin, ScopeAuthPlugin, RelayPlugin, PrismaPlugin, DataloaderPlugin, ComplexityPlugin, REFS],
  defaultFieldNullability: false,
  defaultInputFieldRequiredness: true,
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: ({ viewer }) => ({ signedIn: viewer !== null }),
    unauthorizedError: () => new UnauthorizedError(),
  },
  errors: {
    directResult: true,
    defaultUnionOptions: { name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result` },
  },
  prisma: {
    client: ({ app }) => app.db,
    dmmf: getDatamodel(),
    exposeDescriptions: true,
    onUnusedQuery: null,
    maxConnectionSize: MAX_PAGE_SIZE,
    defaultConnectionSize: DEFAULT_PAGE_SIZE,
  },
  relay: {
    nodeTypeOptions: { description: 'An object with a global id, by which `node` finds it again.' },
    idFieldOptions: { description: 'Unique over all types.' },
    pageInfoTypeOptions: { description: 'Where a page lies in its list.' },
    firstArgOptions: { description: `The first so many after \`after\`: ${PAGE_SIZES}` },
    lastArgOptions: { description: `The last so many before \`before\`: ${PAGE_SIZES}` },
    afterArgOptions: { description: 'A cursor: what follows it.' },
    beforeArgOptions: { description: 'A cursor: what comes before it.' },
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      complexity: { field: 1, multiplier: 1 },
      description: 'The page, with the cursor of each.',
    },
    nodeFieldOptions: { nullable: false, description: 'What stands there.' },
    cursorFieldOptions: { description: 'Its place in the list, for `after` and `before`.' },
    pageInfoFieldOptions: { description: 'Where the page lies in the list.' },
    hasNextPageFieldOptions: { description: 'Whether the list goes on after the page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there is something before the page.' },
    startCursorFieldOptions: { description: 'The cursor of the first edge; null for an empty page.' },
    endCursorFieldOptions: { description: 'The cursor of the last edge; null for an empty page.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'A place in a list, and what stands there.' },
    // What is at the edges, for those who need no cursor of each.
    nodesOnConnection: { complexity: { field: 1, multiplier: 1 }, description: 'The page itself.' },
    // A connection costs its page; the lists inside it are that page and must not be counted again.
    // A list that is refused leaves its neighbours: it is null, with its error.
    defaultConnectionFieldOptions: {
      nullable: true,
      complexity: (args) => ({ field: 1, multiplier: pageSize(args) }),
    },
    // `node` is defined in node.ts, because loading by id alone would bypass the features' rules of access.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
  complexity: {
    // Checked before execution, once for all transports, in documents.ts.
    disabled: true,
  },
});

builder.queryType({ description: 'What can be read.' });
builder.mutationType({ description: 'What can be changed. Every mutation ends in its payload or in a typed error.' });
builder.subscriptionType({ description: 'What can be listened to.' });

import { brandWithType } from '@pothos/core';
import { type Ctx, signedIn } from '../../../access/context.ts';
import type PrismaTypes from '../../../generated/pothos.ts';
import { ChatError, type ErrorCode, ValidationError } from '../../../platform/errors.ts';
import { missingScopes, type RequiredScopes } from '../../../platform/key-scopes.ts';
import { acrossReaders, type GraphQLContext } from '../loading/context.ts';
import type { RequestedKey } from '../loading/keyed-loader.ts';
import { builder } from './builder.ts';
import { readGlobalId, splitGlobalId } from './global-ids.ts';
import { MAX_PAGE_SIZE } from './page-size.ts';

/** A row of a node type. */
interface Row {
  readonly id: number | bigint;
}

/** Pothos options of a node type whose global ids contain row ids. Only rows of the viewer's organization are found. */
export const byNumber = {
  id: { resolve: ({ id }: { readonly id: number }) => id },
  findUnique: (id: string, ctx: GraphQLContext) => ({
    organizationId_id: { organizationId: signedIn(ctx).organizationId, id: Number(id) },
  }),
} as const;

type LoadForEach = (wanted: readonly RequestedKey<number>[]) => Promise<readonly (Row | null)[]>;
type Load = (ctx: Ctx, ids: readonly number[]) => Promise<readonly Row[]>;

interface NodeOptions {
  readonly scope?: RequiredScopes;
}

/** Loaders of node types, by type name. They find objects by row id. */
const loaders = new Map<string, ReturnType<typeof acrossReaders<number, Row | null>>>();

/**
 * Registers a type whose objects `node` and `nodes` can load by id, in batches. Objects of an unregistered type cannot be
 * loaded by id.
 *
 * @param load Returns the objects that exist and that the viewer can see, in any order. If `load` refuses the request, all
 *   objects are treated as absent.
 * @param options.scope Scopes that an API key needs to read objects of this type. Without them, all objects are treated as
 *   absent. Default: `read`, which every query needs.
 */
export function nodeType(typename: string, load: Load, { scope = [] }: NodeOptions = {}): void {
  const mayRead = (ctx: Ctx) => missingScopes(ctx.viewer.credential, scope).length === 0;
  nodeTypeForEach(typename, async (wanted) => {
    // Requests of one viewer with different API keys can be in one batch.
    const ofViewers = Map.groupBy(
      wanted.filter(({ ctx }) => mayRead(ctx)),
      ({ ctx }) => ctx.viewer.id,
    );
    const found = [...ofViewers].map(async ([viewerId, [one, ...more]]) => {
      if (one === undefined) throw new Error('The batch has no requests');
      const rows = await visible(
        one.ctx,
        load,
        [one, ...more].map(({ key }) => key),
      );
      return [viewerId, new Map(rows.map((row) => [Number(row.id), row]))] as const;
    });
    const byViewer = new Map(await Promise.all(found));
    return wanted.map(({ ctx, key }) => (mayRead(ctx) ? (byViewer.get(ctx.viewer.id)?.get(key) ?? null) : null));
  });
}

/**
 * Registers a type whose objects `node` and `nodes` can load by id. The objects of many viewers are read in one batch.
 *
 * @param loadForEach Returns the object for each pair of viewer and id, in order; null if it does not exist or the viewer
 *   cannot see it.
 */
export function nodeTypeForEach(typename: string, loadForEach: LoadForEach): void {
  const load: LoadForEach = async (wanted) => {
    const rows = await loadForEach(wanted);
    for (const row of rows) if (row !== null) brandWithType(row, typename as never);
    return rows;
  };
  loaders.set(typename, acrossReaders(load));
}

/**
 * Registers a type for `node` and `nodes` whose objects are rows of a Prisma model in the viewer's organization.
 *
 * @param visibleTo Returns the condition for the rows that the viewer can see.
 * @param options See `nodeType`. Required if the fields that list objects of this type declare a scope.
 */
export function nodeModel<Model extends keyof PrismaTypes & string>(
  typename: string,
  model: Model,
  visibleTo: (ctx: Ctx) => PrismaTypes[Model]['Where'] | Promise<PrismaTypes[Model]['Where']>,
  options?: NodeOptions,
): void {
  const load: Load = async (ctx, ids) => {
    const delegate = Reflect.get(ctx.work.db, `${model[0]?.toLowerCase()}${model.slice(1)}`) as {
      findMany(query: object): Promise<{ readonly id: number }[]>;
    };
    return delegate.findMany({
      where: { AND: [await visibleTo(ctx), { organizationId: ctx.organizationId, id: { in: [...ids] } }] },
    });
  };
  nodeType(typename, load, options);
}

/** Error codes by which services report that an object does not exist or that the viewer cannot see it. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['BAD_REQUEST', 'STREAM_DOES_NOT_EXIST', 'UNAUTHORIZED_PRINCIPAL']);

/**
 * Returns the result of `load`; null if the service reports that the object does not exist or that the viewer cannot see it.
 */
export async function unlessAbsent<T>(load: Promise<T>): Promise<T | null> {
  try {
    return await load;
  } catch (error) {
    if (error instanceof ChatError && REFUSALS.has(error.code)) return null;
    throw error;
  }
}

const visible = async (ctx: Ctx, load: Load, ids: readonly number[]) => (await unlessAbsent(load(ctx, ids))) ?? [];

/** Name of a node type that is also the name of the Prisma model of its rows. */
type ModelName = keyof PrismaTypes & string;

/**
 * Loads an object of a node type by its row id. Null if the id is null, if the object does not exist, or if the viewer cannot
 * see it.
 */
export async function nodeOf<Model extends ModelName>(
  ctx: GraphQLContext,
  typename: Model,
  id: number | null,
): Promise<PrismaTypes[Model]['Shape'] | null> {
  const loader = loaders.get(typename);
  if (loader === undefined) throw new Error(`There is no node type ${typename}`);
  return id === null ? null : ((await loader(ctx).load(id)) as PrismaTypes[Model]['Shape'] | null);
}

/**
 * Loads objects of a node type by row ids, in the order of the ids. Objects that do not exist or that the viewer cannot see are
 * left out.
 */
export async function nodesOf<Model extends ModelName>(
  ctx: GraphQLContext,
  typename: Model,
  ids: readonly number[],
): Promise<PrismaTypes[Model]['Shape'][]> {
  const found = await Promise.all(ids.map((id) => nodeOf(ctx, typename, id)));
  return found.filter((node) => node !== null);
}

type FindByText = (ctx: GraphQLContext, text: string) => Promise<object | null>;
const byText = new Map<string, FindByText>();

/**
 * Registers a type for `node` and `nodes` whose objects are not database rows.
 *
 * @param find Returns the object for the text after the type name in a global id; null if there is none.
 */
export function nodeByText(typename: string, find: FindByText): void {
  byText.set(typename, find);
}

async function loadByText(ctx: GraphQLContext, globalId: string): Promise<object | null> {
  const [typename, text] = splitGlobalId(globalId) ?? [];
  const find = typename === undefined ? undefined : byText.get(typename);
  const found = find === undefined ? null : await find(ctx, text ?? '');
  if (found !== null) brandWithType(found, typename as never);
  return found;
}

/**
 * Loads the object with a global id, of any registered type. Null if it does not exist or the viewer cannot see it.
 *
 * @throws UnauthorizedError if the request is not authenticated.
 */
export async function loadNode(ctx: GraphQLContext, globalId: string): Promise<object | null> {
  signedIn(ctx);
  const reference = readGlobalId(globalId);
  const loader = reference === undefined ? undefined : loaders.get(reference.typename);
  if (reference === undefined || loader === undefined) return loadByText(ctx, globalId);
  return loader(ctx).load(reference.id);
}

builder.queryField('node', (t) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description: 'The object with this global id. Null if it does not exist or the viewer cannot see it.',
    args: { id: t.arg.id({ description: 'Global id of an object of any type.' }) },
    resolve: (_root, { id }, ctx) => loadNode(ctx, String(id)) as never,
  }),
);

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: true, items: true },
    description:
      `The objects with these global ids, in the order of the ids, at most ${MAX_PAGE_SIZE}. ` +
      'An item is null if the object does not exist or the viewer cannot see it. The whole list is null, with an error, if ' +
      'there are too many ids.',
    args: { ids: t.arg.idList({ description: `Global ids of objects of any types, at most ${MAX_PAGE_SIZE}.` }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: Math.min(ids.length, MAX_PAGE_SIZE) }),
    resolve: (_root, { ids }, ctx) => {
      if (ids.length > MAX_PAGE_SIZE) {
        const details = { parameter: 'ids', maximum: MAX_PAGE_SIZE };
        throw new ValidationError(`"ids" can contain at most ${MAX_PAGE_SIZE} ids`, details);
      }
      return Promise.all(ids.map((id) => loadNode(ctx, String(id)))) as never;
    },
  }),
);

import { brandWithType } from '@pothos/core';
import { type Ctx, signedIn } from '../../access/context.ts';
import type PrismaTypes from '../../generated/pothos.ts';
import { BadRequestError, ChatError, type ErrorCode } from '../../platform/errors.ts';
import { builder } from './builder.ts';
import { acrossReaders, type GraphQLContext } from './context.ts';
import { readGlobalId, splitGlobalId } from './global-ids.ts';
import type { Wanted } from './keyed-loader.ts';
import { MAX_PAGE_SIZE } from './page-size.ts';

/** A row of a node type. */
interface Row {
  readonly id: number | bigint;
}

/**
 * How the rows of a model are found again, which a node type is made with: by the number that its global ids name, in the
 * viewer's organisation.
 */
export const byNumber = {
  id: { resolve: ({ id }: { readonly id: number }) => id },
  findUnique: (id: string, ctx: GraphQLContext) => ({ realmId_id: { realmId: signedIn(ctx).realmId, id: Number(id) } }),
} as const;

type LoadForEach = (wanted: readonly Wanted<number>[]) => Promise<readonly (Row | null)[]>;
type Load = (ctx: Ctx, ids: readonly number[]) => Promise<readonly Row[]>;

/** How objects of a type are found by their ids. */
const loaders = new Map<string, ReturnType<typeof acrossReaders<number, Row | null>>>();

/**
 * Lets `node` and `nodes` find the type's objects, many in one step. A node type that is not named here cannot be loaded
 * by id at all.
 *
 * @param load Those of the ids that are there and that the viewer sees, in any order. A refusal stands for none.
 */
export function nodeType(typename: string, load: Load): void {
  nodeTypeForEach(typename, async (wanted) => {
    const ofViewers = Map.groupBy(wanted, ({ ctx }) => ctx.viewer.id);
    const found = [...ofViewers].map(async ([viewerId, [one, ...more]]) => {
      if (one === undefined) throw new Error('Nobody wants it');
      const rows = await visible(
        one.ctx,
        load,
        [one, ...more].map(({ key }) => key),
      );
      return [viewerId, new Map(rows.map((row) => [Number(row.id), row]))] as const;
    });
    const byViewer = new Map(await Promise.all(found));
    return wanted.map(({ ctx, key }) => byViewer.get(ctx.viewer.id)?.get(key) ?? null);
  });
}

/**
 * The same for a type whose objects are read for many viewers in one step.
 *
 * @param loadForEach What each of them sees under an id, in their order; null for nothing.
 */
export function nodeTypeForEach(typename: string, loadForEach: LoadForEach): void {
  const load: LoadForEach = async (wanted) => {
    const rows = await loadForEach(wanted);
    for (const row of rows) if (row !== null) brandWithType(row, typename as never);
    return rows;
  };
  loaders.set(typename, acrossReaders(load));
}

/** The same for a type whose rows are those of one model that a condition is true of. */
export function nodeModel<Model extends keyof PrismaTypes & string>(
  typename: string,
  model: Model,
  visibleTo: (ctx: Ctx) => PrismaTypes[Model]['Where'] | Promise<PrismaTypes[Model]['Where']>,
): void {
  nodeType(typename, async (ctx, ids) => {
    const delegate = Reflect.get(ctx.app.db, `${model[0]?.toLowerCase()}${model.slice(1)}`) as {
      findMany(query: object): Promise<{ readonly id: number }[]>;
    };
    return delegate.findMany({
      where: { AND: [await visibleTo(ctx), { realmId: ctx.realmId, id: { in: [...ids] } }] },
    });
  });
}

/** What a feature says of objects of which the viewer sees none. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['BAD_REQUEST', 'STREAM_DOES_NOT_EXIST', 'UNAUTHORIZED_PRINCIPAL']);

/** One object, as a feature gives it; null where that refuses it as one that is not there, or not for the viewer. */
export async function unlessAbsent<T>(load: Promise<T>): Promise<T | null> {
  try {
    return await load;
  } catch (error) {
    if (error instanceof ChatError && REFUSALS.has(error.code)) return null;
    throw error;
  }
}

const visible = async (ctx: Ctx, load: Load, ids: readonly number[]) => (await unlessAbsent(load(ctx, ids))) ?? [];

/** A node type that is called as the model of its rows is. */
type ModelName = keyof PrismaTypes & string;

/** An object of a node type by the number of its row; null where `node` is. */
export async function nodeOf<Model extends ModelName>(
  ctx: GraphQLContext,
  typename: Model,
  id: number | null,
): Promise<PrismaTypes[Model]['Shape'] | null> {
  const loader = loaders.get(typename);
  if (loader === undefined) throw new Error(`There is no node type ${typename}`);
  return id === null ? null : ((await loader(ctx).load(id)) as PrismaTypes[Model]['Shape'] | null);
}

/** Those of several objects of a node type that are there and that the viewer sees, in the order of their numbers. */
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

/** Lets `node` and `nodes` find objects that are no rows, by what stands behind the type's name in their global ids. */
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

/** The object with a global id; null where `node` is. */
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
    description: 'The object with this global id; null when there is none, or none the viewer may see.',
    args: { id: t.arg.id({ description: 'The `id` of any object.' }) },
    resolve: (_root, { id }, ctx) => loadNode(ctx, String(id)) as never,
  }),
);

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: `The objects with these global ids, in the order of the ids: null where \`node\` is. At most ${MAX_PAGE_SIZE}.`,
    args: { ids: t.arg.idList({ description: `The \`id\` of objects of any types, ${MAX_PAGE_SIZE} at most.` }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: Math.min(ids.length, MAX_PAGE_SIZE) }),
    resolve: (_root, { ids }, ctx) => {
      if (ids.length > MAX_PAGE_SIZE) throw new BadRequestError(`"ids" can hold ${MAX_PAGE_SIZE} at most`);
      return Promise.all(ids.map((id) => loadNode(ctx, String(id)))) as never;
    },
  }),
);

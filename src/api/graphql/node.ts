import { brandWithType } from '@pothos/core';
import DataLoader from 'dataloader';
import { type Ctx, signedIn } from '../../access/context.ts';
import type PrismaTypes from '../../generated/pothos.ts';
import { BadRequestError, ChatError, type ErrorCode } from '../../platform/errors.ts';
import { builder } from './builder.ts';
import { perOperation } from './context.ts';
import { readGlobalId, splitGlobalId } from './global-ids.ts';
import { MAX_PAGE_SIZE } from './page-size.ts';

/** How objects of a type are found by their ids. */
interface NodeType {
  /** Those of the ids that are there and that the viewer sees, in any order. A refusal stands for none. */
  readonly load: (ctx: Ctx, ids: readonly number[]) => Promise<readonly { readonly id: number | bigint }[]>;
}

const types = new Map<string, NodeType>();

/**
 * Lets `node` and `nodes` find the type's objects, many in one step. A node type that is not named here cannot be loaded
 * by id at all.
 */
export function nodeType(typename: string, load: NodeType['load']): void {
  types.set(typename, { load });
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
    return delegate.findMany({ where: { AND: [await visibleTo(ctx), { id: { in: [...ids] } }] } });
  });
}

/** What a feature says of objects of which the viewer sees none. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['BAD_REQUEST', 'STREAM_DOES_NOT_EXIST', 'UNAUTHORIZED_PRINCIPAL']);

const loaders = perOperation((ctx) => {
  const made = new Map<string, DataLoader<number, object | null>>();
  return (typename: string, type: NodeType) => {
    let loader = made.get(typename);
    loader ??= new DataLoader(async (ids) => {
      const rows = await visible(signedIn(ctx), type, ids);
      for (const row of rows) brandWithType(row, typename as never);
      const byId = new Map(rows.map((row) => [Number(row.id), row]));
      return ids.map((id) => byId.get(id) ?? null);
    });
    made.set(typename, loader);
    return loader;
  };
});

async function visible(ctx: Ctx, { load }: NodeType, ids: readonly number[]) {
  try {
    return await load(ctx, ids);
  } catch (error) {
    if (error instanceof ChatError && REFUSALS.has(error.code)) return [];
    throw error;
  }
}

type LoaderContext = Parameters<typeof loaders>[0];

/** An object of a node type by the number of its row; null where `node` is. */
export async function nodeOf(ctx: LoaderContext, typename: string, id: number): Promise<object | null> {
  const type = types.get(typename);
  if (type === undefined) throw new Error(`There is no node type ${typename}`);
  return loaders(ctx)(typename, type).load(id);
}

type FindByText = (ctx: LoaderContext, text: string) => Promise<object | null>;
const byText = new Map<string, FindByText>();

/** Lets `node` and `nodes` find objects that are no rows, by what stands behind the type's name in their global ids. */
export function nodeByText(typename: string, find: FindByText): void {
  byText.set(typename, find);
}

async function loadByText(ctx: LoaderContext, globalId: string): Promise<object | null> {
  const [typename, text] = splitGlobalId(globalId) ?? [];
  const find = typename === undefined ? undefined : byText.get(typename);
  const found = find === undefined ? null : await find(ctx, text ?? '');
  if (found !== null) brandWithType(found, typename as never);
  return found;
}

/** The object with a global id; null where `node` is. */
export async function loadNode(ctx: LoaderContext, globalId: string): Promise<object | null> {
  signedIn(ctx);
  const reference = readGlobalId(globalId);
  const type = reference === undefined ? undefined : types.get(reference.typename);
  if (reference === undefined || type === undefined) return loadByText(ctx, globalId);
  return loaders(ctx)(reference.typename, type).load(reference.id);
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

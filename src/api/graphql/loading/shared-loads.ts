import DataLoader from 'dataloader';
import { type Ctx, signedIn } from '../../../access/context.ts';
import { type GraphQLContext, perOperation } from './context.ts';

/** A key of a loader: an object, such as a channel, and the arguments of the field that is read of it. */
interface Key<O, A> {
  readonly owner: O;
  readonly args: A;
  /** The arguments as text. Keys with the same text are read together. */
  readonly alike: string;
}

/**
 * Reads the values of a field of several different objects, all with the same arguments.
 *
 * @param operation The operation that `ctx` belongs to, whose other loaders the function can use.
 * @returns The values, in the order of `owners`.
 */
type ReadShared<O, A, V> = (
  ctx: Ctx,
  owners: readonly O[],
  args: A,
  operation: GraphQLContext,
) => Promise<readonly V[]>;

/**
 * Returns a function that loads a field of an object, such as a page of a channel's subscribers. In an operation, fields of
 * several objects with the same arguments share one call of `read`, and equal calls share one result.
 *
 * @param textOf Returns a text that identifies an object.
 */
export function sharedLoads<O extends number | object, A, V>(
  read: ReadShared<O, A, V>,
  textOf: (owner: O) => string = String,
): (ctx: GraphQLContext, owner: O, args: A) => Promise<V> {
  const loader = perOperation(
    (ctx) =>
      new DataLoader<Key<O, A>, V, string>(
        async (keys) => {
          const found = new Map<Key<O, A>, V>();
          for (const group of Map.groupBy(keys, ({ alike }) => alike).values()) {
            const [first] = group;
            if (first === undefined) continue;
            const owners = group.map(({ owner }) => owner);
            const values = await read(signedIn(ctx), owners, first.args, ctx);
            for (const [i, key] of group.entries()) found.set(key, values[i] as V);
          }
          return keys.map((key) => found.get(key) as V);
        },
        { cacheKeyFn: ({ owner, alike }) => `${textOf(owner)} ${alike}` },
      ),
  );
  return (ctx, owner, args) => loader(ctx).load({ owner, args, alike: JSON.stringify(args) });
}

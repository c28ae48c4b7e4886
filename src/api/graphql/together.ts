import type { GraphQLContext } from './context.ts';
import type { Loads } from './keyed-loader.ts';

/** A function that returns a field's value for each of several objects, in order. A failed value is returned as an error. */
export type ForAll<Source, Value> = (
  sources: readonly Source[],
  ctx: GraphQLContext,
) => Promise<readonly (Value | Error)[]>;

/** A resolver that can also resolve its field for many objects in one batch. */
export interface Together<Source, Value> {
  (source: Source, args: object, ctx: GraphQLContext): Promise<Value>;
  readonly forAll: ForAll<Source, Value>;
}

/**
 * Returns the resolver of a field that is read for all objects of a list in one batch. Queries are executed field by field,
 * with one await for all objects (`plans/execute.ts`). A call for a single object reads only that object.
 */
export const together = <Source, Value>(forAll: ForAll<Source, Value>): Together<Source, Value> =>
  Object.assign(
    async (source: Source, _args: object, ctx: GraphQLContext): Promise<Value> => {
      const [value] = await forAll([source], ctx);
      if (value instanceof Error) throw value;
      return value as Value;
    },
    { forAll },
  );

/** The loader that provides a field for the objects of a list. */
type LoaderOf<K, V> = (ctx: GraphQLContext) => Pick<Loads<K, V>, 'loadAll'>;

/** Returns a batch resolver for values that a loader has under a key of each object. */
export const byKey = <Source, K, V>(loader: LoaderOf<K, V>, keyOf: (source: Source) => K): Together<Source, V> =>
  together((sources, ctx) => loader(ctx).loadAll(sources.map(keyOf)) as Promise<readonly (V | Error)[]>);

/** Returns a resolver like `byKey`, with null for objects without a key. */
export const byKeyIfAny = <Source, K, V>(
  loader: LoaderOf<K, V>,
  keyOf: (source: Source) => K | null,
): Together<Source, V | null> => together((sources, ctx) => loader(ctx).loadAll(sources.map(keyOf)));

/** Returns a resolver like `byKey`, for values that are computed from the loaded ones. */
export const madeByKey = <Source, K, V, Made>(
  loader: LoaderOf<K, V>,
  keyOf: (source: Source) => K,
  make: (value: V) => Made,
): Together<Source, Made> =>
  together(async (sources, ctx) => {
    const values = await loader(ctx).loadAll(sources.map(keyOf));
    return values.map((value) => (value instanceof Error ? value : make(value as V)));
  });

import type { GraphQLContext } from './context.ts';
import type { Loads } from './keyed-loader.ts';

/**
 * A function that returns the value of a field for each of several objects, in order. It returns an error in place of a value
 * that could not be read.
 */
export type ForAll<Source, Value> = (
  sources: readonly Source[],
  ctx: GraphQLContext,
) => Promise<readonly (Value | Error)[]>;

/** A resolver that can also resolve its field for many objects in one batch. */
export interface BatchResolver<Source, Value> {
  (source: Source, args: object, ctx: GraphQLContext): Promise<Value>;
  readonly forAll: ForAll<Source, Value>;
}

/**
 * Returns a resolver that can read its field for all objects of a list in one batch. Query plans use `forAll`, with one await
 * for all objects (`execution/plans/execute.ts`). graphql-js calls the resolver for one object at a time.
 */
export const batchResolver = <Source, Value>(forAll: ForAll<Source, Value>): BatchResolver<Source, Value> =>
  Object.assign(
    async (source: Source, _args: object, ctx: GraphQLContext): Promise<Value> => {
      const [value] = await forAll([source], ctx);
      if (value instanceof Error) throw value;
      return value as Value;
    },
    { forAll },
  );

/** A function that returns the loader of values for a field. The loader belongs to one operation. */
type LoaderOf<K, V> = (ctx: GraphQLContext) => Pick<Loads<K, V>, 'loadAll'>;

/**
 * Returns a batch resolver for a field whose value a loader provides.
 *
 * @param keyOf Returns the key for the loader from an object.
 */
export const byKey = <Source, K, V>(loader: LoaderOf<K, V>, keyOf: (source: Source) => K): BatchResolver<Source, V> =>
  batchResolver((sources, ctx) => loader(ctx).loadAll(sources.map(keyOf)) as Promise<readonly (V | Error)[]>);

/**
 * Returns a batch resolver for a field whose value a loader provides, and which is null for objects without a key.
 *
 * @param keyOf Returns the key for the loader from an object. Null if the object has none.
 */
export const byKeyIfAny = <Source, K, V>(
  loader: LoaderOf<K, V>,
  keyOf: (source: Source) => K | null,
): BatchResolver<Source, V | null> => batchResolver((sources, ctx) => loader(ctx).loadAll(sources.map(keyOf)));

/**
 * Returns a batch resolver for a field whose value is computed from a value that a loader provides.
 *
 * @param keyOf Returns the key for the loader from an object.
 * @param make Computes the field's value from the loaded value.
 */
export const madeByKey = <Source, K, V, Made>(
  loader: LoaderOf<K, V>,
  keyOf: (source: Source) => K,
  make: (value: V) => Made,
): BatchResolver<Source, Made> =>
  batchResolver(async (sources, ctx) => {
    const values = await loader(ctx).loadAll(sources.map(keyOf));
    return values.map((value) => (value instanceof Error ? value : make(value as V)));
  });

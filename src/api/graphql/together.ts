import type { GraphQLContext } from './context.ts';
import type { Loads } from './keyed-loader.ts';

/** What each of several objects has, in their order: an error in the place of what could not be had. */
export type ForAll<Source, Value> = (
  sources: readonly Source[],
  ctx: GraphQLContext,
) => Promise<readonly (Value | Error)[]>;

/** A resolver that answers for many objects in one go, where it is asked so. */
export interface Together<Source, Value> {
  (source: Source, args: object, ctx: GraphQLContext): Promise<Value>;
  readonly forAll: ForAll<Source, Value>;
}

/**
 * The resolver of a field that is read for all the objects of a list at once. Queries are executed a field at a time, so
 * they wait once for all of them (`plans/execute.ts`); whoever asks for one object waits for that.
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

/** What one field of the objects of a list is read from. */
type LoaderOf<K, V> = (ctx: GraphQLContext) => Pick<Loads<K, V>, 'loadAll'>;

/** The same of what a loader has by a key that each of the objects has. */
export const byKey = <Source, K, V>(loader: LoaderOf<K, V>, keyOf: (source: Source) => K): Together<Source, V> =>
  together((sources, ctx) => loader(ctx).loadAll(sources.map(keyOf)) as Promise<readonly (V | Error)[]>);

/** The same where some have none: null for these. */
export const byKeyIfAny = <Source, K, V>(
  loader: LoaderOf<K, V>,
  keyOf: (source: Source) => K | null,
): Together<Source, V | null> => together((sources, ctx) => loader(ctx).loadAll(sources.map(keyOf)));

/** The same of something that is made of what the loader has. */
export const madeByKey = <Source, K, V, Made>(
  loader: LoaderOf<K, V>,
  keyOf: (source: Source) => K,
  make: (value: V) => Made,
): Together<Source, Made> =>
  together(async (sources, ctx) => {
    const values = await loader(ctx).loadAll(sources.map(keyOf));
    return values.map((value) => (value instanceof Error ? value : make(value as V)));
  });

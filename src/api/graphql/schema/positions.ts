import type { ExecutionResult } from 'graphql';

type Path = readonly (string | number)[];
type Data = NonNullable<ExecutionResult['data']>;

/**
 * Paths of the `position` fields in the results of operations, by context of the operation. Contains only fields whose value is
 * not known yet.
 */
const awaited = new WeakMap<object, Path[]>();

/** Records the path of a `position` field whose value is known only after all other fields are resolved. */
export function notePosition(ctx: object, path: Path): void {
  awaited.set(ctx, [...(awaited.get(ctx) ?? []), path]);
}

/** Returns whether the operation with this context selected a `position` whose value is not known yet. */
export const awaitsPosition = (ctx: object): boolean => awaited.has(ctx);

/** Writes the position of a change into the data of a result, at all paths that were recorded for the operation. */
export function reportPosition(ctx: object, data: Data, position: number | null): void {
  for (const path of awaited.get(ctx) ?? []) {
    const parent = path.slice(0, -1).reduce<unknown>((value, key) => Reflect.get(value as object, key), data);
    Reflect.set(parent as object, path.at(-1) ?? '', position);
  }
}

import type { ExecutionResult } from 'graphql';

type Path = readonly (string | number)[];
type Data = NonNullable<ExecutionResult['data']>;

/** Paths in the result that receive the log position of the change, by context of the operation. */
const awaited = new WeakMap<object, Path[]>();

/** Records a field for a position that is known only after everything else is resolved. */
export function notePosition(ctx: object, path: Path): void {
  awaited.set(ctx, [...(awaited.get(ctx) ?? []), path]);
}

/** Whether the operation with this context selects a log position that is not known yet. */
export const awaitsPosition = (ctx: object): boolean => awaited.has(ctx);

/** Writes the position to all recorded paths, under any alias. */
export function tellPosition(ctx: object, data: Data, position: number | null): void {
  for (const path of awaited.get(ctx) ?? []) {
    const parent = path.slice(0, -1).reduce<unknown>((value, key) => Reflect.get(value as object, key), data);
    Reflect.set(parent as object, path.at(-1) ?? '', position);
  }
}

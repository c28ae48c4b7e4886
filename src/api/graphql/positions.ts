import type { ExecutionResult } from 'graphql';

type Path = readonly (string | number)[];
type Data = NonNullable<ExecutionResult['data']>;

/** Of each operation, by its context: where its answer is to say how far the log goes with its change. */
const awaited = new WeakMap<object, Path[]>();

/** Notes that a position is asked for which nobody knows before all else is answered. */
export function notePosition(ctx: object, path: Path): void {
  awaited.set(ctx, [...(awaited.get(ctx) ?? []), path]);
}

/** Whether the operation that was given `ctx` asks for such a position. */
export const awaitsPosition = (ctx: object): boolean => awaited.has(ctx);

/** Puts the position where it was asked for, under whatever names. */
export function tellPosition(ctx: object, data: Data, position: number | null): void {
  for (const path of awaited.get(ctx) ?? []) {
    const parent = path.slice(0, -1).reduce<unknown>((value, key) => Reflect.get(value as object, key), data);
    Reflect.set(parent as object, path.at(-1) ?? '', position);
  }
}

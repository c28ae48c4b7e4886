import { useState } from 'react';

interface Saved<T> {
  /** The value to show: the one that is being saved, or else the current one. */
  readonly shown: T;
  readonly save: (value: T) => Promise<boolean>;
  /** Restores the value before the last change. Undefined if there is none, or if the value has changed since. */
  readonly undo: (() => Promise<boolean>) | undefined;
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * Saves each change of a value immediately, and offers to undo the last one.
 *
 * @param current The current value, which events change.
 * @param run Saves a value. @returns Whether the service accepted it.
 * @param isSame Compares two values.
 */
export function useSaved<T>(
  current: T,
  run: (value: T, before: T) => Promise<boolean>,
  isSame: (a: T, b: T) => boolean = isEqual,
): Saved<T> {
  const [asked, setAsked] = useState<{ readonly value: T }>();
  const [last, setLast] = useState<{ readonly before: T; readonly after: T }>();
  const put = async (value: T): Promise<boolean> => {
    setAsked({ value });
    setLast(undefined);
    const isDone = await run(value, current);
    setAsked(undefined);
    return isDone;
  };
  return {
    shown: asked === undefined ? current : asked.value,
    save: async (value) => {
      const isDone = await put(value);
      if (isDone) setLast({ before: current, after: value });
      return isDone;
    },
    undo: last !== undefined && isSame(last.after, current) ? () => put(last.before) : undefined,
  };
}

/** Length of a time slice while other work is waiting, in milliseconds. There is one slice per iteration of the event loop. */
const SLICE_MS = 2;
/**
 * Length of a time slice while no other work is waiting, in milliseconds. With slices of this length, writing to sockets takes
 * a tenth less time than with slices of `SLICE_MS`.
 */
const SLICE_WHEN_IDLE_MS = 4;
/** Length of a time slice, in milliseconds, while sliced work arrives faster than it is done. */
const LONG_SLICE_MS = 50;
/** Length of a time slice of `LongWork`, in milliseconds: about the duration of a short request. */
const LONG_WORK_MS = 1;

/** Work on a very large number of items, done in small steps. */
export interface SlicedWork {
  /** Does one step, usually a few dozen microseconds of work. Must not throw. @returns Whether there is more to do. */
  step(): boolean;
  /** Work with a higher priority runs first. */
  readonly priority: number;
  /** Whether this work arrives faster than it is done. Its time slices are then longer, and other work waits longer. */
  readonly isBehind: boolean;
}

/** The sliced works in progress. Among those with the highest priority, the first runs the next slice, and moves to the end. */
const works = new Set<SlicedWork>();
/** Callbacks that resume paused asynchronous work, oldest first. */
const paused: (() => void)[] = [];
let isTurnScheduled = false;
/** Callbacks that return whether other work is waiting for this process. */
const waits = new Set<() => boolean>();

/**
 * Registers a callback that returns whether other work is waiting. While any registered callback returns true, slices are
 * short.
 *
 * @returns A function that removes the callback.
 */
export function shortWhile(othersWait: () => boolean): () => void {
  waits.add(othersWait);
  return () => void waits.delete(othersWait);
}

/**
 * Does work in time slices, in the following iterations of the event loop. All sliced work of this process shares one slice per
 * iteration, so other work waits no longer than one slice. Works of equal priority run in turn.
 *
 * @param work If it is already in progress, nothing changes.
 */
export function inTimeSlices(work: SlicedWork): void {
  works.add(work);
  scheduleTurn();
}

/**
 * Yields to the event loop before asynchronous work continues. Each iteration of the event loop resumes only one paused task,
 * so many long tasks delay other work no more than one task does.
 */
export function yieldToEventLoop(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  paused.push(resolve);
  scheduleTurn();
  return promise;
}

/**
 * Long asynchronous work that is done in time slices. For work on many items that each take little time, use `inTimeSlices`.
 */
export class LongWork {
  #until = performance.now() + LONG_WORK_MS;

  /**
   * Whether the current time slice is over. Check this after each step that is so short that awaiting `pause` would cost more
   * than the step.
   */
  get isLong(): boolean {
    return performance.now() > this.#until;
  }

  async rest(): Promise<void> {
    await yieldToEventLoop();
    this.#until = performance.now() + LONG_WORK_MS;
  }

  /** Yields to the event loop if the time slice is over. */
  async pause(): Promise<void> {
    if (this.isLong) await this.rest();
  }
}

function scheduleTurn(): void {
  if (isTurnScheduled || (works.size === 0 && paused.length === 0)) return;
  isTurnScheduled = true;
  setImmediate(takeTurn);
}

/** Does sliced work for one time slice, then resumes one paused task. The task continues after this function has returned. */
function takeTurn(): void {
  isTurnScheduled = false;
  const until = performance.now() + sliceMs();
  for (let work = next(); work !== undefined && performance.now() < until; work = next()) {
    // The work is removed before its step, because the step can add the work again.
    works.delete(work);
    let isMore = true;
    while (isMore && performance.now() < until) isMore = work.step();
    if (isMore) works.add(work);
  }
  paused.shift()?.();
  scheduleTurn();
}

function sliceMs(): number {
  for (const { isBehind } of works) if (isBehind) return LONG_SLICE_MS;
  if (paused.length > 0) return SLICE_MS;
  for (const othersWait of waits) if (othersWait()) return SLICE_MS;
  return SLICE_WHEN_IDLE_MS;
}

function next(): SlicedWork | undefined {
  let first: SlicedWork | undefined;
  for (const work of works) if (first === undefined || work.priority > first.priority) first = work;
  return first;
}

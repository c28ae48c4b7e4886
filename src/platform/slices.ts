/** Our choice: so long all other work waits, in each turn of the event loop, for what is done in slices. */
const SLICE_MS = 2;
/** Our choice: and so long what comes while there is none. Writing takes a tenth less then. */
const SLICE_WHEN_IDLE_MS = 4;
/** Our choice: and so long when some of it would otherwise fall further and further behind. */
const LONG_SLICE_MS = 50;

/** What is done for very many, a little at a time. */
export interface SlicedWork {
  /** Does some tens of microseconds' worth of it, in the usual case. Must not throw. @returns Whether there is more. */
  step(): boolean;
  /** What has a greater one goes first. */
  readonly priority: number;
  /** Whether so much more comes that others have to wait longer for it. */
  readonly isBehind: boolean;
}

/** Those under way, whose turn it is first. */
const works = new Set<SlicedWork>();
let isNextTurnTaken = false;
/** Each tells whether others wait for this process. */
const waits = new Set<() => boolean>();

/** Has slices be short while others wait. @returns Takes that back. */
export function shortWhile(othersWait: () => boolean): () => void {
  waits.add(othersWait);
  return () => void waits.delete(othersWait);
}

/**
 * Does work in slices, in the turns of the event loop that follow. All such work of this process, whoever's it is, shares one
 * slice a turn, so that other work waits for that long. Of several of the same priority each has a turn of its own.
 *
 * @param work What is under way already goes on as it is.
 */
export function inSlices(work: SlicedWork): void {
  works.add(work);
  takeNextTurn();
}

function takeNextTurn(): void {
  if (isNextTurnTaken || works.size === 0) return;
  isNextTurnTaken = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isNextTurnTaken = false;
  const until = performance.now() + sliceMs();
  for (let work = next(); work !== undefined && performance.now() < until; work = next()) {
    // Before its steps, in which more may come for it.
    works.delete(work);
    let isMore = true;
    while (isMore && performance.now() < until) isMore = work.step();
    if (isMore) works.add(work);
  }
  takeNextTurn();
}

function sliceMs(): number {
  for (const { isBehind } of works) if (isBehind) return LONG_SLICE_MS;
  for (const othersWait of waits) if (othersWait()) return SLICE_MS;
  return SLICE_WHEN_IDLE_MS;
}

function next(): SlicedWork | undefined {
  let first: SlicedWork | undefined;
  for (const work of works) if (first === undefined || work.priority > first.priority) first = work;
  return first;
}

/** Where the log's tables are, as far as can be told. Null: not known, which is no other than anything. */
export interface LogPlace {
  /** The database's oid, and that of the epoch's table: others once they were made anew, as from a dump. */
  readonly tables: string | null;
  /** The identifier that a PostgreSQL cluster keeps from its making on. A copy of its files has the same. */
  readonly cluster: string | null;
  /** Of the embedded database: which copy of its files it is. */
  readonly copy: string | null;
  /** Another after a recovery that ended before the last commit, and after each promotion of a standby. */
  readonly timeline: string | null;
}

/**
 * What a node that kept running knows: `whole`, all that it has seen of the log is there; `lacking`, something is not. `none`
 * where no node knows anything.
 */
export type Witness = 'whole' | 'lacking' | 'none';

/** Why a new epoch begins. */
export type EpochReason = 'tables' | 'cluster' | 'copy' | 'timeline' | 'positions' | 'operator';

/**
 * `same` goes on, `adopt` goes on and notes the place, `wait` is to be asked again in a moment; else a new epoch begins, for
 * the reason named.
 */
export type Verdict = 'same' | 'adopt' | 'wait' | { readonly begin: EpochReason };

/** Our choice: a node that runs looks every second. */
export const WITNESS_PATIENCE_MS = 10_000;

const CERTAIN = ['tables', 'cluster', 'copy'] as const;

/**
 * Whether the log goes on where it was, or its database was restored from a back-up, after which it gives ids again that
 * clients have seen.
 *
 * A promotion changes the timeline and loses nothing, a recovery to a point in time changes it as well: only who has seen
 * the log before can tell which it was.
 *
 * @param kept Where the tables were, as they tell themselves.
 * @param found Where they are.
 * @param waitedMs How long another timeline has been known, and no witness has spoken.
 */
export function judge(
  kept: LogPlace,
  found: LogPlace,
  { witness, waitedMs }: { readonly witness: Witness; readonly waitedMs: number },
): Verdict {
  const isOther = (fact: keyof LogPlace) => kept[fact] !== null && found[fact] !== null && kept[fact] !== found[fact];
  if (witness === 'lacking') return { begin: 'positions' };
  const other = CERTAIN.find(isOther);
  if (other !== undefined) return { begin: other };
  if (isOther('timeline') && witness !== 'whole') {
    return waitedMs < WITNESS_PATIENCE_MS ? 'wait' : { begin: 'timeline' };
  }
  const isNew = (fact: keyof LogPlace) => found[fact] !== null && kept[fact] !== found[fact];
  return isNew('timeline') || CERTAIN.some(isNew) ? 'adopt' : 'same';
}

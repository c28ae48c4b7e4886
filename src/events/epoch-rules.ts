/**
 * The location of the log's tables. A field is null if it cannot be determined. Null matches any value of the same field of
 * another location.
 */
export interface LogPlace {
  /**
   * The oids of the database and of the epoch's table. They change if the tables are created again, for example from a dump.
   */
  readonly tables: string | null;
  /** The identifier of a PostgreSQL cluster, assigned at its creation. A copy of the cluster's files keeps the identifier. */
  readonly cluster: string | null;
  /** Identifies the copy of the data directory. Null except for the embedded database. */
  readonly copy: string | null;
  /**
   * The timeline of PostgreSQL. It changes after a recovery that ends before the last commit, and after each promotion of a
   * standby.
   */
  readonly timeline: string | null;
}

/**
 * The evidence from a node that kept running. `whole`: all positions that it has seen still exist. `lacking`: some do not.
 * `none`: no node kept running.
 */
export type Witness = 'whole' | 'lacking' | 'none';

/**
 * The reason for a new epoch: the field of the location that differs, positions that no longer exist, or a command of the
 * operator.
 */
export type EpochReason = 'tables' | 'cluster' | 'copy' | 'timeline' | 'positions' | 'operator';

/**
 * The decision about the epoch. `same`: it continues. `adopt`: it continues, and the new location is stored. `wait`: to be
 * decided again shortly. `begin`: a new epoch begins, for this reason.
 */
export type Verdict = 'same' | 'adopt' | 'wait' | { readonly begin: EpochReason };

/** Longest wait for evidence from a node that kept running. Such a node checks the epoch every second. */
export const WITNESS_PATIENCE_MS = 10_000;

const CERTAIN = ['tables', 'cluster', 'copy'] as const;

/**
 * Decides whether the log continues, or its database was restored from a backup. After a restore, the log assigns ids again
 * that clients have already seen.
 *
 * A promotion changes the timeline and loses nothing. A recovery to a point in time also changes the timeline, but loses the
 * last part of the log. Only a node that has read the log before can distinguish a promotion from a recovery.
 *
 * @param kept The location that the tables store.
 * @param found The current location.
 * @param waitedMs Time since a different timeline was detected, without evidence from a witness.
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

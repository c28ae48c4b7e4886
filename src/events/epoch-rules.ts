/**
 * The location of the event log's tables: the database that contains them. A field is null if its value cannot be determined.
 * Null matches any value of the same field of another location.
 */
export interface LogPlace {
  /**
   * The object ids (oids) of the database and of the table `log_epoch`. They change if the tables are created again, for
   * example from a dump.
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
 * Evidence, from a node that kept running, on whether the log has lost events. `whole`: all positions that the node has seen
 * still exist. `lacking`: some of them do not exist. `none`: no node kept running.
 */
export type Witness = 'whole' | 'lacking' | 'none';

/**
 * The reason for a new epoch of the event log: the field of the location that differs, positions that no longer exist, or a
 * command of the operator.
 */
export type EpochReason = 'tables' | 'cluster' | 'copy' | 'timeline' | 'positions' | 'operator';

/**
 * The decision about the epoch of the event log. `same`: the epoch continues. `adopt`: the epoch continues, and the new
 * location is stored. `wait`: the caller must decide again shortly. `begin`: a new epoch begins, for the given reason.
 */
export type Verdict = 'same' | 'adopt' | 'wait' | { readonly begin: EpochReason };

/**
 * Maximum wait, in milliseconds, for evidence from a node that kept running. Without evidence, a new epoch begins afterwards. A
 * running node checks the epoch every second.
 */
export const WITNESS_PATIENCE_MS = 10_000;

const CERTAIN = ['tables', 'cluster', 'copy'] as const;

/**
 * Decides whether the epoch of the event log continues. The epoch ends if the database was restored from a backup, because the
 * log then assigns ids again that clients have already seen.
 *
 * A promotion changes the timeline and loses nothing. A recovery to a point in time also changes the timeline, but loses the
 * last part of the log. Only a node that has read the log before can distinguish a promotion from a recovery.
 *
 * @param kept Location of the log's tables, as stored in the row of the epoch.
 * @param found Location of the log's tables when the epoch was read.
 * @param waitedMs Milliseconds since a different timeline was detected, without evidence from a node that kept running.
 */
export function judge(
  kept: LogPlace,
  found: LogPlace,
  { witness, waitedMs }: { readonly witness: Witness; readonly waitedMs: number },
): Verdict {
  const isOther = (field: keyof LogPlace) =>
    kept[field] !== null && found[field] !== null && kept[field] !== found[field];
  if (witness === 'lacking') return { begin: 'positions' };
  const other = CERTAIN.find(isOther);
  if (other !== undefined) return { begin: other };
  if (isOther('timeline') && witness !== 'whole') {
    return waitedMs < WITNESS_PATIENCE_MS ? 'wait' : { begin: 'timeline' };
  }
  const isNew = (field: keyof LogPlace) => found[field] !== null && kept[field] !== found[field];
  return isNew('timeline') || CERTAIN.some(isNew) ? 'adopt' : 'same';
}

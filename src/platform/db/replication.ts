import { setTimeout as sleep } from 'node:timers/promises';
import type { RunSql } from './client.ts';
import { isForbidden } from './errors.ts';

/** A publication of some rows, its replication slot, and the subscription to it in another database. All have this name. */
export interface Replication {
  readonly name: string;
  /** Session with the database that publishes the rows. */
  readonly source: RunSql;
  /** Session with the database that subscribes to them. */
  readonly target: RunSql;
}

/** Thrown if the subscriber could not apply a change. */
export class ReplicationError extends Error {
  override name = 'ReplicationError';
}

/**
 * Returns the name of the replication of an organization. Names of slots are unique in a server, so the name contains the
 * number of the source database.
 */
export async function replicationName(source: RunSql, organizationId: number): Promise<string> {
  const [row] = await source<{ oid: number }>(
    'SELECT oid::int8::float8 AS oid FROM pg_database WHERE datname = current_database()',
  );
  return `chat_move_${row?.oid}_${organizationId}`;
}

const WATCH_MS = 100;

/** Pause between two queries for the state of a slot, in milliseconds, and their maximum number. */
const [SLOT_MS, SLOT_LOOKS] = [100, 100];

const quotedText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * Publishes the rows of an organization, and subscribes to them. The subscriber copies the present rows of all tables and then
 * applies all changes, in the order of the commits.
 *
 * The slot is created by a separate statement: if both databases are on one server, a subscription that creates it would wait
 * for its own transaction.
 *
 * @param address Connection string by which the server of the target reaches the source.
 * @returns Whether the log of the target cannot contain the address. False if the role may not change settings of the log.
 */
export async function beginReplication(
  { name, source, target }: Replication,
  organizationId: number,
  { tables, address }: { readonly tables: readonly string[]; readonly address: string },
): Promise<boolean> {
  const listed = tables.map((table) => `"${table}" WHERE (realm_id = ${organizationId})`).join(', ');
  await source(`CREATE PUBLICATION ${name} FOR TABLE ${listed} WITH (publish = 'insert, update, delete')`);
  await source(`SELECT pg_create_logical_replication_slot('${name}', 'pgoutput')::text`);
  return withoutLog(target, () =>
    target(
      `CREATE SUBSCRIPTION ${name} CONNECTION ${quotedText(address)} PUBLICATION ${name}
       WITH (create_slot = false, slot_name = '${name}', copy_data = true, disable_on_error = true)`,
    ),
  );
}

/** Settings with which the server does not write statements to its log. */
const WITHOUT_LOG = {
  log_min_error_statement: 'panic',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_min_duration_sample: '-1',
  log_transaction_sample_rate: '0',
} as const;

/**
 * Runs `work`, whose statement contains a password, so that the server does not write it to its log.
 *
 * @returns False if the role may not change these settings. `work` was run even then.
 */
async function withoutLog(run: RunSql, work: () => Promise<unknown>): Promise<boolean> {
  const settings = Object.entries(WITHOUT_LOG);
  let isPrivate = true;
  try {
    // Several statements in one message are one transaction: all settings are changed, or none.
    await run(settings.map(([name, value]) => `SET ${name} = '${value}'`).join('; '));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    isPrivate = false;
  }
  try {
    await work();
  } finally {
    if (isPrivate) await run(settings.map(([name]) => `RESET ${name}`).join('; '));
  }
  return isPrivate;
}

const SUBSCRIPTION = `pg_subscription s JOIN pg_database d ON d.oid = s.subdbid WHERE d.datname = current_database()`;

/**
 * Waits until the subscriber has copied all tables.
 *
 * @param onProgress Called with the number of tables that are not copied yet.
 * @throws ReplicationError if it could not store a row.
 */
export async function untilCopied(
  { name, source, target }: Replication,
  onProgress: (tablesLeft: number) => void,
): Promise<void> {
  for (; ; await sleep(WATCH_MS)) {
    const [state] = await target<{ enabled: boolean; left: number }>(
      `SELECT s.subenabled AS enabled,
         (SELECT count(*)::int FROM pg_subscription_rel r WHERE r.srsubid = s.oid AND r.srsubstate <> 'r') AS left
       FROM ${SUBSCRIPTION} AND s.subname = $1`,
      [name],
    );
    if (state?.enabled !== true) throw disabled();
    if (state.left === 0) return;
    onProgress(state.left);
    // The subscriber completes a table when it receives the next position, even that of a change of other rows.
    await source(`SELECT pg_logical_emit_message(false, '${name}', '')::text`);
  }
}

/** Checks that the subscriber has not stopped. @throws ReplicationError if it could not store a row. */
export async function requireReplicating(replication: Replication): Promise<void> {
  if (!(await isReplicating(replication))) throw disabled();
}

/** Returns whether the subscription exists and has not stopped. */
export async function isReplicating({ name, target }: Replication): Promise<boolean> {
  const [state] = await target<{ enabled: boolean }>(
    `SELECT s.subenabled AS enabled FROM ${SUBSCRIPTION} AND s.subname = $1`,
    [name],
  );
  return state?.enabled === true;
}

const disabled = () =>
  new ReplicationError(
    'The subscription stopped, because a row could not be stored. The log of the target server has the reason.',
  );

/**
 * Ends a replication: removes its subscription, slots and publication, if they exist. Afterwards no change is replicated.
 *
 * @throws Error if the slot stays in use.
 */
export async function endReplication({ name, source, target }: Replication): Promise<void> {
  const subscription = await endSubscription(target, name);
  await endPublication(source, name, subscription);
}

/**
 * Ends the subscription, if it exists. Afterwards no change arrives. The server of the publication need not be reachable.
 *
 * @returns The oid of the subscription. Undefined if there was none.
 */
export async function endSubscription(target: RunSql, name: string): Promise<number | undefined> {
  const [subscription] = await target<{ oid: number }>(
    `SELECT s.oid::int8::float8 AS oid FROM ${SUBSCRIPTION} AND s.subname = $1`,
    [name],
  );
  if (subscription === undefined) return undefined;
  await target(`ALTER SUBSCRIPTION ${name} DISABLE`);
  // The slots are dropped by `endPublication`.
  await target(`ALTER SUBSCRIPTION ${name} SET (slot_name = NONE)`);
  await target(`DROP SUBSCRIPTION ${name}`);
  return subscription.oid;
}

/** Returns the names of the subscriptions of a database to an organization, from any source. */
export async function subscriptionsTo(target: RunSql, organizationId: number): Promise<string[]> {
  const rows = await target<{ name: string }>(
    `SELECT s.subname::text AS name FROM ${SUBSCRIPTION} AND s.subname ~ ('^chat_move_[0-9]+_' || $1::int || '$')`,
    [organizationId],
  );
  return rows.map(({ name }) => name);
}

/**
 * Ends the publication and its replication slots, if they exist.
 *
 * @param subscription The oid of the subscription. If it is undefined, slots by which it copied tables stay: `doctor` lists them.
 * @throws Error if a slot stays in use.
 */
export async function endPublication(source: RunSql, name: string, subscription: number | undefined): Promise<void> {
  for (let look = 1; ; look++) {
    const slots = await source<{ slot: string; pid: number | null }>(
      `SELECT slot_name::text AS slot, active_pid AS pid FROM pg_replication_slots
       WHERE slot_name = $1 OR starts_with(slot_name, $2::text)`,
      // The subscriber creates further slots while it copies tables.
      [name, subscription === undefined ? null : `pg_${subscription}_sync_`],
    );
    if (slots.length === 0) break;
    if (look > SLOT_LOOKS) throw new Error(`The replication slot ${slots[0]?.slot} stays in use`);
    for (const { slot, pid } of slots) {
      // If a subscriber connects in between, the next attempt terminates it.
      if (pid === null) await source('SELECT pg_drop_replication_slot($1)', [slot]).catch(ignoreInUse);
      else await source('SELECT pg_terminate_backend($1::int)', [pid]);
    }
    await sleep(SLOT_MS);
  }
  await source(`DROP PUBLICATION IF EXISTS ${name}`);
}

/** SQLSTATE of a slot that is in use, and of one that does not exist. */
const SLOT_TAKEN = ['55006', '42704'];

function ignoreInUse(error: unknown): void {
  if (!SLOT_TAKEN.includes(String(Reflect.get(error as object, 'code')))) throw error;
}

/**
 * A replication slot that a move of an organization uses, for all tables or for the first copy of one table. The server keeps
 * write-ahead log for it.
 */
export interface Slot {
  readonly name: string;
  readonly isActive: boolean;
  /** Size of the log that the slot keeps, in bytes. Null if it is lost. */
  readonly bytes: number | null;
}

/** Returns the replication slots of moves from a database, and those by which subscriptions copy its tables. */
export const readSlots = (source: RunSql): Promise<Slot[]> =>
  source<Slot>(
    `SELECT slot_name::text AS name, active AS "isActive",
       pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 AS bytes
     FROM pg_replication_slots WHERE database = current_database() AND slot_name ~ '^(chat_move|pg_[0-9]+_sync)_' ORDER BY 1`,
  );

import { setTimeout as sleep } from 'node:timers/promises';
import type { RunSql } from './client.ts';
import { isForeignKeyViolation } from './errors.ts';
import { tablesOfOrganizations } from './organization-moves.ts';

/** Number of rows that one statement deletes. */
const BATCH = 2_000;
/** Maximum pause after a batch, in milliseconds. */
const MAX_PAUSE_MS = 200;
/** Permits the statement to delete entries of the audit log, which a trigger refuses otherwise. */
const PERMIT = "set_config('audit_log.prunes', 'on', true) = 'on'";

/**
 * Deletes all rows of an organization, in batches, and its row in `realm` at the end. Pauses after each batch for as long as it
 * took, so that other organizations can use the database. Can be repeated after an interruption.
 *
 * @throws Error if rows of a table cannot be deleted.
 */
export async function deleteOrganizationRows(run: RunSql, organizationId: number): Promise<void> {
  // Contents of files first: with the row of a file, the database would delete all of them in one statement.
  const names = (await tablesOfOrganizations(run)).map(({ name }) => name);
  let left = names.toSorted((a, b) => Number(b === 'attachment_chunk') - Number(a === 'attachment_chunk'));
  while (left.length > 0) {
    const again: string[] = [];
    for (const table of left) if (!(await deleteRowsOf(run, table, organizationId))) again.push(table);
    if (again.length === left.length) throw new Error(`The rows of the tables ${again.join(', ')} cannot be deleted`);
    left = again;
  }
  await run('DELETE FROM realm WHERE id = $1::int', [organizationId]);
}

/** Deletes the rows of one table. @returns False if rows of other tables, which must be deleted first, refer to them. */
async function deleteRowsOf(run: RunSql, table: string, organizationId: number): Promise<boolean> {
  try {
    for (let count = BATCH; count === BATCH; ) {
      const began = performance.now();
      const rows = await run(
        `DELETE FROM "${table}" WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM "${table}" WHERE realm_id = ${organizationId} LIMIT ${BATCH})) AND ${PERMIT}
         RETURNING 1 AS removed`,
      );
      count = rows.length;
      if (count === BATCH) await sleep(Math.min(performance.now() - began, MAX_PAUSE_MS));
    }
    return true;
  } catch (error) {
    if (isForeignKeyViolation(error)) return deleteAllOf(run, table, organizationId);
    throw error;
  }
}

/** Deletes the rows of a table in one statement, because rows can refer to rows of the same table in other batches. */
async function deleteAllOf(run: RunSql, table: string, organizationId: number): Promise<boolean> {
  try {
    await run(`DELETE FROM "${table}" WHERE realm_id = ${organizationId} AND ${PERMIT}`);
    return true;
  } catch (error) {
    if (isForeignKeyViolation(error)) return false;
    throw error;
  }
}

import type { SqlClient, Tx } from '../../platform/db/client.ts';

/**
 * Locks a scheduled message or reminder of the owner until the end of the transaction. Waits until a delivery in progress has
 * ended.
 */
export async function lockScheduled(
  tx: Tx,
  { realmId, ownerId }: { readonly realmId: number; readonly ownerId: number },
  id: number,
): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM scheduled_message
    WHERE realm_id = ${realmId} AND id = ${id} AND owner_id = ${ownerId} FOR NO KEY UPDATE`;
}

/**
 * Returns the number of an owner's undelivered messages or reminders, and their total length. The length includes the HTML and
 * is in code points.
 */
export async function measureWaiting(
  db: SqlClient,
  ownerId: number,
  kind: string,
): Promise<{ readonly count: number; readonly length: number }> {
  const [held] = await db.$queryRaw<{ count: number; length: number | null }[]>`
    SELECT count(*)::int AS count, sum(char_length(content) + char_length(rendered_content))::int AS length
    FROM scheduled_message WHERE owner_id = ${ownerId} AND kind = ${kind} AND state <> 'delivered'`;
  return { count: held?.count ?? 0, length: held?.length ?? 0 };
}

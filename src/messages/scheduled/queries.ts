import type { SqlClient, Tx } from '../../platform/db/client.ts';

/**
 * Locks a scheduled message or reminder of the owner until the end of the transaction. If the message is being delivered, waits
 * until the delivery has ended.
 */
export async function lockScheduled(
  tx: Tx,
  { organizationId, ownerId }: { readonly organizationId: number; readonly ownerId: number },
  id: number,
): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM scheduled_message
    WHERE realm_id = ${organizationId} AND id = ${id} AND owner_id = ${ownerId} FOR NO KEY UPDATE`;
}

/**
 * Returns the number of an owner's undelivered messages or reminders, and the total length of their Markdown and HTML in code
 * points.
 */
export async function measureWaiting(
  db: SqlClient,
  { organizationId, ownerId }: { readonly organizationId: number; readonly ownerId: number },
  kind: string,
): Promise<{ readonly count: number; readonly length: number }> {
  const [held] = await db.$queryRaw<{ count: number; length: number | null }[]>`
    SELECT count(*)::int AS count, sum(char_length(content) + char_length(rendered_content))::int AS length
    FROM scheduled_message
    WHERE realm_id = ${organizationId} AND owner_id = ${ownerId} AND kind = ${kind} AND state <> 'delivered'`;
  return { count: held?.count ?? 0, length: held?.length ?? 0 };
}

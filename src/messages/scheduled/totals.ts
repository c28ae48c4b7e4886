import type { Viewer } from '../../access/context.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireWithin } from '../../platform/totals.ts';

/** The totals of what is to be sent later, by kind. */
const TOTALS_OF = {
  message: ['scheduled_messages', 'scheduled_messages_total_length'],
  reminder: ['reminders', 'reminders_total_length'],
} as const;

/**
 * Refuses what would be more, or longer together with its HTML, than one owner may have waiting. The owner is locked.
 *
 * @throws TotalReachedError
 */
export async function requireWaitingWithin(
  tx: Tx,
  { id }: Pick<Viewer, 'id'>,
  kind: keyof typeof TOTALS_OF,
  change: 'added' | 'longer',
): Promise<void> {
  const [held] = await tx.$queryRaw<{ count: number; length: number }[]>`
    SELECT count(*)::int AS count, sum(char_length(content) + char_length(rendered_content))::int AS length
    FROM scheduled_message WHERE owner_id = ${id} AND kind = ${kind} AND state <> 'delivered'`;
  const [count, length] = TOTALS_OF[kind];
  if (change === 'added') requireWithin(count, held?.count ?? 0);
  requireWithin(length, held?.length ?? 0);
}

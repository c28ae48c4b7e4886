import type { Viewer } from '../../access/context.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireWithin } from '../../platform/totals.ts';
import { measureWaiting } from './queries.ts';

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
  const waiting = await measureWaiting(tx, id, kind);
  const [count, length] = TOTALS_OF[kind];
  if (change === 'added') requireWithin(count, waiting.count);
  requireWithin(length, waiting.length);
}

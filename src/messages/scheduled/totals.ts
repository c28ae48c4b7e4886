import type { Viewer } from '../../access/context.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireWithin } from '../../platform/totals.ts';
import { measureWaiting } from './queries.ts';

/** Names of the limits of undelivered messages and reminders, by kind: of their number, and of their total length. */
const TOTALS_OF = {
  message: ['scheduled_messages', 'scheduled_messages_total_length'],
  reminder: ['reminders', 'reminders_total_length'],
} as const;

/**
 * Checks the limits of an owner's undelivered messages or reminders: their total length with HTML and, after one was added,
 * their number. The caller holds the lock of the owner.
 *
 * @throws TotalReachedError if a limit is exceeded.
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

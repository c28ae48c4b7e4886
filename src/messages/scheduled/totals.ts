import type { Viewer } from '../../access/context.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireWithin } from '../../platform/totals.ts';
import { measureWaiting } from './queries.ts';

/**
 * Names of the limits in `TOTALS`, for undelivered messages and for undelivered reminders. The first limit is for their number,
 * the second for their total length.
 */
const TOTALS_OF = {
  message: ['scheduled_messages', 'scheduled_messages_total_length'],
  reminder: ['reminders', 'reminders_total_length'],
} as const;

/**
 * Checks that an owner's undelivered messages or reminders are within the limits. Checks the total length of their Markdown and
 * HTML. If `change` is 'added', also checks their number. The caller must have locked the owner's row.
 *
 * @throws TotalReachedError if a limit is exceeded.
 */
export async function requireWaitingWithin(
  tx: Tx,
  { id, organization }: Pick<Viewer, 'id' | 'organization'>,
  kind: keyof typeof TOTALS_OF,
  change: 'added' | 'longer',
): Promise<void> {
  const waiting = await measureWaiting(tx, { organizationId: organization.id, ownerId: id }, kind);
  const [count, length] = TOTALS_OF[kind];
  if (change === 'added') requireWithin(count, waiting.count);
  requireWithin(length, waiting.length);
}

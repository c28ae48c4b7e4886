import { beginningOf, defineError } from '../platform/errors.ts';

/**
 * The reason why a queue cannot continue. `unknown`: the viewer has no such queue. `expired`: it has ended. `pruned`,
 * `from_future`: its position is not in the log. `restored`: the database was restored from a backup, so positions of the
 * previous log are invalid.
 */
export type QueueLoss = 'unknown' | 'expired' | 'pruned' | 'from_future' | 'restored';

const RESTORED = ' (the service was restored from a backup)';

/**
 * The error for a lost queue or position: the client must register again. All causes have one code, because legacy clients
 * handle only that code. `reason` distinguishes them.
 */
export class BadEventQueueIdError extends defineError('BAD_EVENT_QUEUE_ID', (queueId: string, reason: QueueLoss) => ({
  message: `Bad event queue ID: ${queueId}${reason === 'restored' ? RESTORED : ''}`,
  data: { queue_id: beginningOf(queueId), reason },
})) {}

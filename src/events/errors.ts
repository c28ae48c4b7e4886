import { beginningOf, defineError } from '../platform/errors.ts';

/**
 * Why a queue cannot go on: never heard of (or not the viewer's), over, its position is not in the log, or the log is another
 * since the database was restored.
 */
export type QueueLoss = 'unknown' | 'expired' | 'pruned' | 'from_future' | 'restored';

const RESTORED = ' (the service was restored from a back-up)';

/**
 * The queue, or the position in it, is lost: the client registers anew. One code for every cause, because legacy
 * clients know that code alone; `reason` tells the cause.
 */
export class BadEventQueueIdError extends defineError('BAD_EVENT_QUEUE_ID', (queueId: string, reason: QueueLoss) => ({
  message: `Bad event queue ID: ${queueId}${reason === 'restored' ? RESTORED : ''}`,
  data: { queue_id: beginningOf(queueId), reason },
})) {}

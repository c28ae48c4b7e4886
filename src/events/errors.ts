import { beginningOf, defineError } from '../platform/errors.ts';

/** Why a queue cannot go on: never heard of (or not the viewer's), over, or its position is not in the log. */
export type QueueLoss = 'unknown' | 'expired' | 'pruned' | 'from_future';

/**
 * The queue, or the position in it, is lost: the client registers anew. One code for every cause, because legacy
 * clients know that code alone; `reason` tells the cause.
 */
export class BadEventQueueIdError extends defineError('BAD_EVENT_QUEUE_ID', (queueId: string, reason: QueueLoss) => ({
  message: `Bad event queue ID: ${queueId}`,
  data: { queue_id: beginningOf(queueId), reason },
})) {}

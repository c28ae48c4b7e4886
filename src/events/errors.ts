import { beginningOf, defineError } from '../platform/errors.ts';

/**
 * The reason why a reader cannot continue with a queue. `unknown`: the viewer has no such queue. `expired`: the queue has
 * ended. `displaced`: a newer reader has taken the queue, which continues for that reader. `pruned`: the log no longer has the
 * events after the queue's position. `from_future`: the log has not reached the position yet. `restored`: the database was
 * restored from a backup, so positions of the previous log are invalid.
 */
export type QueueLoss = 'unknown' | 'expired' | 'displaced' | 'pruned' | 'from_future' | 'restored';

/** Ends of the message, for reasons that the operator or the client can act on. */
const EXPLANATIONS: Readonly<Partial<Record<QueueLoss, string>>> = {
  displaced: ' (another reader has taken the queue; register a queue for each reader)',
  restored: ' (the service was restored from a backup)',
};

/**
 * The error for a lost queue or position: the client must register again. All causes have one code, because legacy clients
 * handle only that code. `reason` distinguishes them.
 */
export class BadEventQueueIdError extends defineError('BAD_EVENT_QUEUE_ID', (queueId: string, reason: QueueLoss) => ({
  message: `Bad event queue ID: ${queueId}${EXPLANATIONS[reason] ?? ''}`,
  data: { queue_id: beginningOf(queueId), reason },
  parameter: reason === 'from_future' ? 'last_event_id' : 'queue_id',
})) {}

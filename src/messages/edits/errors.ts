import { defineError } from '../../platform/errors.ts';

/** What of a topic the viewer may move. */
interface Movable {
  /** Of the oldest message that may be moved, with all after it. */
  readonly firstAllowedId: number;
  readonly total: number;
  readonly allowed: number;
}

/** Of a topic that is to be moved, some messages are too old to be moved by the viewer. */
export class MoveMessagesTimeLimitExceededError extends defineError(
  'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
  ({ firstAllowedId, total, allowed }: Movable) => ({
    message: `You only have permission to move the ${allowed}/${total} most recent messages in this topic.`,
    data: {
      first_message_id_allowed_to_move: firstAllowedId,
      total_messages_in_topic: total,
      total_messages_allowed_to_move: allowed,
    },
  }),
) {}

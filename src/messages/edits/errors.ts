import { defineError } from '../../platform/errors.ts';

/** Numbers of messages of a topic that the viewer can and cannot move. */
interface Movable {
  /** Id of the oldest message that the viewer can move. They can move all later messages as well. */
  readonly firstAllowedId: number;
  readonly total: number;
  readonly allowed: number;
}

/** Error for a move of a topic that has messages too old for the viewer to move. */
export class MoveMessagesTimeLimitExceededError extends defineError(
  'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
  ({ firstAllowedId, total, allowed }: Movable) => ({
    message: `You only have permission to move the ${allowed}/${total} most recent messages in this topic.`,
    data: {
      first_message_id_allowed_to_move: firstAllowedId,
      total_messages_in_topic: total,
      total_messages_allowed_to_move: allowed,
    },
    parameter: 'propagate_mode',
  }),
) {}

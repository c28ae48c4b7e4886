import { BadRequestError, beginningOf, defineError } from '../platform/errors.ts';

/** A channel, given by id or name, does not exist or is not visible to the viewer. */
export class ChannelDoesNotExistError extends defineError('STREAM_DOES_NOT_EXIST', (channel: number | string) => ({
  message:
    typeof channel === 'number' ? `Channel with ID '${channel}' does not exist` : `Channel '${channel}' does not exist`,
  data: typeof channel === 'number' ? { stream_id: channel } : { stream: beginningOf(channel) },
})) {}

/** The name of a new channel is taken, ignoring case. */
export class ChannelAlreadyExistsError extends defineError(
  'CHANNEL_ALREADY_EXISTS',
  (name: string) => ({ message: `A channel named '${name}' already exists`, data: { channel_name: name } }),
  { status: 409 },
) {}

/** A message or an edit of the channel violates the topics policy, which allows only the empty topic or only other topics. */
export class TopicPolicyError extends BadRequestError {
  override readonly data: { empty_topic_display_name: string };

  constructor(message: string, emptyTopicName: string) {
    super(message);
    this.data = { empty_topic_display_name: emptyTopicName };
  }
}

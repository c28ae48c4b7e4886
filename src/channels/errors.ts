import { BadRequestError, beginningOf, defineError } from '../platform/errors.ts';

/** A channel named by id or by name that is not there, or not for the viewer. */
export class ChannelDoesNotExistError extends defineError('STREAM_DOES_NOT_EXIST', (channel: number | string) => ({
  message:
    typeof channel === 'number' ? `Channel with ID '${channel}' does not exist` : `Channel '${channel}' does not exist`,
  data: typeof channel === 'number' ? { stream_id: channel } : { stream: beginningOf(channel) },
})) {}

/** A new channel's name is taken, in whatever case. */
export class ChannelAlreadyExistsError extends defineError(
  'CHANNEL_ALREADY_EXISTS',
  (name: string) => ({ message: `A channel named '${name}' already exists`, data: { channel_name: name } }),
  { status: 409 },
) {}

/** The channel takes only messages of the empty topic, or none of it. */
export class TopicPolicyError extends BadRequestError {
  override readonly data: { empty_topic_display_name: string };

  constructor(message: string, emptyTopicName: string) {
    super(message);
    this.data = { empty_topic_display_name: emptyTopicName };
  }
}

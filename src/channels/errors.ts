import {
  beginningOf,
  ConflictError,
  NotFoundError,
  UnsupportedParametersError,
  ValidationError,
} from '../platform/errors.ts';

/** The error for a channel, given by id or name, that does not exist or is not visible to the viewer. */
export class ChannelDoesNotExistError extends NotFoundError {
  override readonly code = 'STREAM_DOES_NOT_EXIST';
  override readonly data: { stream_id: number } | { stream: string };

  constructor(channel: number | string) {
    super(
      typeof channel === 'number'
        ? `Channel with ID '${channel}' does not exist`
        : `Channel '${channel}' does not exist`,
      { type: 'Channel', id: typeof channel === 'number' ? channel : undefined, parameter: 'stream' },
    );
    this.data = typeof channel === 'number' ? { stream_id: channel } : { stream: beginningOf(channel) };
  }
}

/** The error for a new channel whose name is taken, ignoring case. */
export class ChannelAlreadyExistsError extends ConflictError {
  override readonly code = 'CHANNEL_ALREADY_EXISTS';
  override readonly status = 409;
  override readonly data: { channel_name: string };

  /** @param parameter Parameter with the name. */
  constructor(name: string, parameter = 'name') {
    super(`A channel named '${name}' already exists`, { parameter });
    this.data = { channel_name: name };
  }
}

/** The error for a message that violates the topics policy. Such a policy allows only the empty topic, or only other topics. */
export class TopicPolicyError extends ValidationError {
  override readonly data: { empty_topic_display_name: string };

  constructor(message: string, emptyTopicName: string) {
    super(message, { parameter: 'topic' });
    this.data = { empty_topic_display_name: emptyTopicName };
  }
}

/** The error for a channel that would have protected history, although only some users can start topics. */
export class ProtectedHistoryError extends UnsupportedParametersError {
  override readonly parameter = 'can_create_topic_group';
  override readonly schemaMessage =
    'If new subscribers cannot read the history of a channel, all users must be able to start topics in it.';

  constructor() {
    super(['history_public_to_subscribers', 'can_create_topic_group']);
  }
}

/** The error for a new topics policy that allows only the empty topic, while the channel contains messages in other topics. */
export class OtherTopicsError extends ConflictError {
  override readonly data: { empty_topic_display_name: string };

  constructor(emptyTopicName: string) {
    super(
      `To enable this configuration, all messages in this channel must be in the ${emptyTopicName} topic. Consider ` +
        'renaming or deleting other topics.',
      { parameter: 'topics_policy' },
    );
    this.data = { empty_topic_display_name: emptyTopicName };
  }
}

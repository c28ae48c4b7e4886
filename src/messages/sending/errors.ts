import { ChatError } from '../../platform/errors.ts';

/**
 * Error for a wildcard mention, such as @everyone, by a sender who is not permitted to use it in this channel or topic, because
 * it has many users.
 */
export class WildcardMentionNotAllowedError extends ChatError {
  override name = 'WildcardMentionNotAllowedError';
  readonly code: 'STREAM_WILDCARD_MENTION_NOT_ALLOWED' | 'TOPIC_WILDCARD_MENTION_NOT_ALLOWED';

  constructor(what: 'channel' | 'topic') {
    super(`You do not have permission to use ${what} wildcard mentions in this ${what}.`);
    this.code = what === 'channel' ? 'STREAM_WILDCARD_MENTION_NOT_ALLOWED' : 'TOPIC_WILDCARD_MENTION_NOT_ALLOWED';
  }
}

import { ForbiddenError } from '../../platform/errors.ts';

/**
 * Error for a wildcard mention, such as @everyone, in a channel or topic with many users. The sender is not permitted to use
 * wildcard mentions there.
 */
export class WildcardMentionNotAllowedError extends ForbiddenError {
  override readonly code: 'STREAM_WILDCARD_MENTION_NOT_ALLOWED' | 'TOPIC_WILDCARD_MENTION_NOT_ALLOWED';

  constructor(what: 'channel' | 'topic') {
    const message = `You do not have permission to use ${what} wildcard mentions in this ${what}.`;
    super(message, {
      permission: 'can_mention_many_users_group',
      parameter: 'content',
      schemaMessage: message,
    });
    this.code = what === 'channel' ? 'STREAM_WILDCARD_MENTION_NOT_ALLOWED' : 'TOPIC_WILDCARD_MENTION_NOT_ALLOWED';
  }
}

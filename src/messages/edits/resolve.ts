import type { Ctx } from '../../access/context.ts';
import { accessChannel } from '../../channels/access.ts';
import { isResolved, RESOLVED_PREFIX, topicNamed } from '../../channels/topic-name.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { findTopics, type TopicKey } from '../topics/topics.ts';
import { updateMessage } from './edit.ts';

const unresolved = (name: string): string => (isResolved(name) ? name.slice(RESOLVED_PREFIX.length) : name);
const resolved = (name: string): string => (isResolved(name) ? name : RESOLVED_PREFIX + name);

/**
 * Marks a topic as resolved or unresolved, by moving all its messages to the topic whose name has, or lacks, the mark. Changes
 * nothing if the topic has the wanted state.
 *
 * @returns The channel and the new name of the topic.
 * @throws ValidationError if the name contains a null byte.
 * @throws NotFoundError if the viewer cannot see the channel, the topic has no message that the viewer can read, or
 *   `updateMessage` refuses the move.
 * @throws MoveMessagesTimeLimitExceededError if some messages of the topic are too old to be moved.
 */
export async function markResolved(ctx: Ctx, topic: TopicKey, isWanted: boolean): Promise<TopicKey> {
  refuseNullBytes('topic', topic.name);
  await accessChannel(ctx, topic.channelId);
  const [last] = await findTopics(ctx, [topic]);
  if (last == null) throw new NotFoundError('Invalid topic', { type: 'Topic', parameter: 'topic' });
  if (isResolved(last.name) === isWanted) return { channelId: topic.channelId, name: last.name };
  const rename = isWanted ? resolved : unresolved;
  await updateMessage(ctx, last.maxId, {
    // The name is computed under the lock of the move, because the topic can be renamed in the meantime.
    topic: rename,
    propagateMode: 'change_all',
    notifiesOldTopic: false,
    notifiesNewTopic: true,
  });
  return { channelId: topic.channelId, name: topicNamed(ctx.viewer.organization, rename(last.name)) };
}

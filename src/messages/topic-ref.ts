import type { Ctx } from '../access/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { ChannelRef } from '../channels/channel-ref.ts';
import type { ChannelKey } from '../channels/keys.ts';
import { channelIdOf } from '../channels/reads.ts';
import { NotFoundError } from '../platform/errors.ts';
import { namedInId } from './topic-ids.ts';
import { findTopics, type TopicKey } from './topics/topics.ts';

const TopicName = builder.inputType('TopicNameInput', {
  description: 'A topic of a channel, by name. It need not have messages.',
  fields: (t) => ({
    channel: t.field({ type: ChannelRef, description: 'Channel of the topic.' }),
    name: t.string({
      description:
        'Name of the topic. Case and Unicode normalization form do not matter. "" for the empty topic. In the target of a ' +
        'message, a longer name is truncated to 60 characters.',
    }),
  }),
});

/** GraphQL input type for a topic that is given by id, or by channel and name. */
export const TopicRef = builder.inputType('TopicRef', {
  isOneOf: true,
  description: 'A topic, by id or by channel and name.',
  fields: (t) => ({
    id: t.id({
      ...refersTo('Topic'),
      required: false,
      description: 'The `id` of the topic. It must have a message that the viewer can read.',
    }),
    named: t.field({ type: TopicName, required: false, description: 'Channel and name of the topic.' }),
  }),
});
type Ref = typeof TopicRef.$inferInput;

/**
 * Returns the error for the id of a topic that does not exist or that the viewer cannot read. Both cases have the same error,
 * so that clients cannot find out which topics exist.
 */
const invalidTopic = (): NotFoundError => new NotFoundError('Invalid topic', { type: 'Topic', parameter: 'topic' });

/** A topic in an input: its name, and its channel by id or name. */
export interface GivenTopic {
  readonly channel: ChannelKey;
  readonly name: string;
}

/**
 * Returns the channel and name of a topic in an input without reading the topic. If the input has an id, the name in the result
 * is the topic key that the id contains. For a malformed id, the channel in the result does not exist.
 */
export function givenTopic({ id, named }: Ref): GivenTopic {
  if (named !== undefined) return named;
  // A topic has no row, so resolvers receive the text in its id.
  const { channelId = 0, name = '' } = namedInId(String(id)) ?? {};
  return { channel: { id: channelId }, name };
}

/**
 * Returns the channel of a topic in an input, and the name of the topic. If the input has an id, the name is that in the last
 * message.
 *
 * @throws NotFoundError if the input has the id of a topic without messages that the viewer can read.
 */
export async function topicTarget(ctx: Ctx, ref: Ref): Promise<GivenTopic> {
  const { channel, name } = givenTopic(ref);
  if (ref.id === undefined || !('id' in channel)) return { channel, name };
  const [topic] = await findTopics(ctx, [{ channelId: channel.id, name }]);
  if (topic == null) throw invalidTopic();
  return { channel, name: topic.name };
}

/**
 * Returns the channel id and name of a topic in an input.
 *
 * @throws NotFoundError if the input has the id of a topic without messages that the viewer can read, or the name of a channel
 *   that the viewer cannot see. The caller checks the access to channels that are given by id.
 */
export async function topicIn(ctx: Ctx, ref: Ref): Promise<TopicKey> {
  const { channel, name } = await topicTarget(ctx, ref);
  return { channelId: await channelIdOf(ctx, channel), name };
}

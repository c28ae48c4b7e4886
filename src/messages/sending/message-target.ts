import type { Ctx } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { type GivenTopic, TopicRef, topicTarget } from '../topic-ref.ts';
import type { NewMessage } from './send.ts';

/** GraphQL input for the target of a message. */
export const MessageTarget = builder.inputType('MessageTarget', {
  isOneOf: true,
  description: 'Target of a message: a topic or users.',
  fields: (t) => ({
    topic: t.field({ type: TopicRef, required: false, description: 'Target topic of a channel message.' }),
    direct: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Ids of the recipients of a direct message. The viewer can be omitted, except in a note to self.',
    }),
  }),
});

type Target = typeof MessageTarget.$inferInput;

/** The target of a message: a topic, by its channel and name, or users. */
type TargetIn =
  | { readonly topic: GivenTopic; readonly direct?: undefined }
  | { readonly topic?: undefined; readonly direct: readonly number[] };

/**
 * Replaces the topic reference in a GraphQL message target by the topic's channel and name.
 *
 * @throws NotFoundError for the id of a topic without messages that the viewer can read.
 */
export const targetIn = async (ctx: Ctx, { topic, direct }: Target): Promise<TargetIn> =>
  topic === undefined ? { direct } : { topic: await topicTarget(ctx, topic) };

/**
 * Converts a GraphQL message target to the channel and topic, or the users, that `sendMessage` accepts.
 *
 * @throws NotFoundError for the id of a topic without messages that the viewer can read.
 */
export async function placeIn(ctx: Ctx, target: Target): Promise<Pick<NewMessage, 'to' | 'topic'>> {
  const { topic, direct } = await targetIn(ctx, target);
  return topic === undefined ? { to: { userIds: direct } } : { to: topic.channel, topic: topic.name };
}

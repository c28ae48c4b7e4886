import { builder } from '../../api/graphql/schema/builder.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { ChannelRef } from '../../channels/channel-ref.ts';
import type { NewMessage } from './send.ts';

const TopicTarget = builder.inputType('TopicTargetInput', {
  description: 'A topic of a channel. It need not exist yet.',
  fields: (t) => ({
    channel: t.field({ type: ChannelRef, description: 'Channel of the topic.' }),
    name: t.string({
      description:
        'Name of the topic. Case and Unicode normalization form do not matter. "" for the empty topic. Truncated to 60 ' +
        'characters.',
    }),
  }),
});

/** GraphQL input for the target of a message. */
export const MessageTarget = builder.inputType('MessageTarget', {
  isOneOf: true,
  description: 'Target of a message: a topic or users.',
  fields: (t) => ({
    topic: t.field({ type: TopicTarget, required: false, description: 'Target topic of a channel message.' }),
    direct: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Ids of the recipients of a direct message. The viewer can be omitted, except in a note to self.',
    }),
  }),
});

/** Converts a target to the form that `sendMessage` accepts. */
export const placeOf = ({ topic, direct }: typeof MessageTarget.$inferInput): Pick<NewMessage, 'to' | 'topic'> =>
  topic === undefined ? { to: { userIds: direct } } : { to: topic.channel, topic: topic.name };

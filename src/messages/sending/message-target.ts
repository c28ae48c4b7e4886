import { builder } from '../../api/graphql/builder.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { ChannelRef } from '../../channels/channel-ref.ts';
import type { NewMessage } from './send.ts';

const TopicTarget = builder.inputType('TopicTargetInput', {
  description: 'A topic of a channel, which need not be there yet.',
  fields: (t) => ({
    channel: t.field({ type: ChannelRef, description: 'The channel.' }),
    name: t.string({
      description: 'What the topic is called, in whatever case; "" for the one without a name. Cut to 60 characters.',
    }),
  }),
});

/** Where a message goes, or is to go. */
export const MessageTarget = builder.inputType('MessageTarget', {
  isOneOf: true,
  description: 'Where a message goes.',
  fields: (t) => ({
    topic: t.field({ type: TopicTarget, required: false, description: 'To a channel, under a topic.' }),
    direct: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'To people: their ids. The viewer need not be named; alone, it is a note to self.',
    }),
  }),
});

/** Where a message goes, as sending has it. */
export const placeOf = ({ topic, direct }: typeof MessageTarget.$inferInput): Pick<NewMessage, 'to' | 'topic'> =>
  topic === undefined ? { to: { userIds: direct } } : { to: topic.channel, topic: topic.name };

import { LATER, PAGE, REST_LATER } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { heldBy, removeFirst, waiting } from '../helpers/piles.ts';
import { toTopic } from '../helpers/talk.ts';

const later = (channelId: number, content: string) => ({
  type: 'channel',
  to: channelId,
  topic: 't',
  content,
  ...REST_LATER,
});

export const scheduledMessages: FeatureTests = {
  rest: {
    'GET /scheduled_messages': () => [{}],
    'POST /scheduled_messages': ({ channelId, userId }) => [
      { parameters: { ...REST_LATER, type: 'channel', to: channelId, topic: 'a topic', content: 'later' } },
      { parameters: { ...REST_LATER, type: 'direct', to: [userId], content: 'later', read_by_sender: true } },
    ],
    'PATCH /scheduled_messages/{scheduled_message_id}': ({ scheduledMessageId, channelId, userId }) => {
      const slots = { scheduled_message_id: scheduledMessageId };
      return [
        { slots, parameters: { type: 'direct', to: [userId], content: 'changed' } },
        { slots, parameters: { ...REST_LATER, type: 'channel', to: channelId, topic: 'a topic' } },
      ];
    },
    'DELETE /scheduled_messages/{scheduled_message_id}': ({ scheduledMessageId }) => [
      { slots: { scheduled_message_id: scheduledMessageId } },
    ],
  },
  queries: {
    scheduledMessages: () => [{ ...PAGE, orderBy: { field: 'ID', direction: 'DESC' } }],
  },
  mutations: {
    scheduleMessage: ({ channelId, channelName, userId }) => [
      { to: toTopic(channelId, 'a topic'), content: 'later', scheduledAt: LATER },
      { to: toTopic(channelName, 'a topic'), content: 'later', scheduledAt: LATER },
      { to: { direct: [userId] }, content: 'later', scheduledAt: LATER, readBySender: true },
    ],
    updateScheduledMessage: ({ scheduledMessageId, channelId, channelName, userId }) => [
      { scheduledMessageId, to: { direct: [userId] }, content: 'changed' },
      { scheduledMessageId, to: toTopic(channelName, 'a topic'), scheduledAt: LATER },
      { scheduledMessageId, to: toTopic(channelId, 'another topic') },
    ],
    cancelScheduledMessage: ({ scheduledMessageId }) => [{ scheduledMessageId }],
  },
  nodes: ({ scheduledMessageId }) => ({ ScheduledMessage: scheduledMessageId }),
  piles: {
    scheduled_messages: {
      fill: ({ sql }) => sql(waiting('message', 'NULL'), 1_000, 1),
      rest: ({ member, channelId }) => member.rest('POST', '/scheduled_messages', later(channelId, 'x')),
      graphql: ({ channelId }) => [
        'scheduleMessage',
        { to: toTopic(channelId, 't'), content: 'x', scheduledAt: LATER },
      ],
      held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'message'"),
      free: ({ member }) => removeFirst(member, '/scheduled_messages', 'scheduled_message_id'),
    },
    scheduled_messages_total_length: {
      fill: ({ sql }) => sql(waiting('message', 'NULL'), 100, 10_000),
      rest: ({ member, channelId }) => member.rest('POST', '/scheduled_messages', later(channelId, 'x'.repeat(9_900))),
      graphql: ({ channelId }) => [
        'scheduleMessage',
        { to: toTopic(channelId, 't'), content: 'x'.repeat(9_900), scheduledAt: LATER },
      ],
      held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'message'"),
      free: ({ member }) => removeFirst(member, '/scheduled_messages', 'scheduled_message_id'),
    },
  },
  objects: {
    scheduledMessageId: async (owner, { channelId, topic, text }) => {
      const message = { type: 'channel', to: channelId, topic, content: text, ...REST_LATER };
      return (await owner.ok('POST', '/scheduled_messages', message)).scheduled_message_id;
    },
  },
  lists: { scheduled_messages: 'scheduled_message_id' },
  rules: {
    'scheduled_messages/add': (state, { scheduled_messages }) => {
      for (const message of scheduled_messages) state['scheduled_messages'][message.scheduled_message_id] = message;
    },
    'scheduled_messages/update': (state, { scheduled_message }) => {
      state['scheduled_messages'][scheduled_message.scheduled_message_id] = scheduled_message;
    },
    'scheduled_messages/remove': (state, { scheduled_message_id }) => {
      delete state['scheduled_messages'][scheduled_message_id];
    },
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly scheduledMessageId: number;
  }
}

import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { channelReference } from '../../channels/event-projections.ts';
import { Channel } from '../../channels/graphql.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { messageReference } from '../event-projections.ts';
import { Message } from '../graphql.ts';
import { MessageTarget, targetIn } from '../sending/message-target.ts';
import { TYPING_OPS, type TypingTopic, type Typist } from './events.ts';
import { setEditTyping, setTyping } from './service.ts';

const TypingOperation = builder.enumType('TypingOperation', {
  description: 'Change of the typing status.',
  values: {
    START: {
      value: 'start',
      description: 'The viewer is typing. Clients send `START` repeatedly while the viewer types.',
    },
    STOP: { value: 'stop', description: 'The viewer has stopped typing.' },
  } as const,
});

const TOLD = 'The typing status that was sent.';

mutation('setTyping', {
  ignoresIdempotencyKey: true,
  description:
    'Notifies users or the subscribers of a channel that the viewer is typing a message to them or has stopped.',
  input: (t) => ({
    operation: t.field({ type: TypingOperation, description: 'Whether the viewer is typing or has stopped.' }),
    to: t.field({ type: MessageTarget, description: 'Target of the message that is being typed.' }),
  }),
  payload: () => ({ operation: { type: TypingOperation, description: TOLD } }),
  resolve: async (ctx, { operation, to: given }) => {
    const { topic, direct } = await targetIn(ctx, given);
    const to = topic === undefined ? { userIds: direct } : { channel: topic.channel, topic: topic.name };
    await setTyping(ctx, operation, to);
    return { operation };
  },
});

mutation('setEditTyping', {
  ignoresIdempotencyKey: true,
  description: 'Notifies the users who can read a message that the viewer is editing it or has stopped.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of the message that is being edited.' }),
    operation: t.field({
      type: TypingOperation,
      description: 'Whether the viewer is editing the message or has stopped.',
    }),
  }),
  payload: () => ({ operation: { type: TypingOperation, description: TOLD } }),
  resolve: async (ctx, { messageId, operation }) => {
    await setEditTyping(ctx, messageId, operation);
    return { operation };
  },
});

interface TypingBody {
  readonly sender: Typist;
  readonly recipients?: readonly Typist[];
  readonly stream_id?: number;
}

interface EditTypingBody {
  readonly sender_id: number;
  readonly message_id: number;
  readonly recipient: { readonly channel_id?: number; readonly user_ids?: readonly number[] };
}

const CHANNEL = 'Channel of the message. Null for a direct message.';
const TOPIC = 'Name of the topic of the message. Null for a direct message.';

for (const op of TYPING_OPS) {
  const what = op === 'start' ? 'Started' : 'Stopped';
  eventType<TypingBody, TypingTopic>(
    'typing',
    op,
    `Typing${what}Event`,
    (t) => ({
      sender: t.field({
        type: User,
        nullable: true,
        description: 'User who is typing.',
        ...projectedFromEvent(userReference, ({ event }: EventSource<TypingBody, TypingTopic>) => event.sender.user_id),
      }),
      recipients: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'Members of the conversation. Empty for a channel message.',
        ...projectedFromEvent(userReference, ({ event }: EventSource<TypingBody, TypingTopic>) =>
          (event.recipients ?? []).map((recipient) => recipient.user_id),
        ),
      }),
      channel: t.field({
        type: Channel,
        nullable: true,
        description: CHANNEL,
        ...projectedFromEvent(
          channelReference,
          ({ event }: EventSource<TypingBody, TypingTopic>) => event.stream_id ?? null,
        ),
      }),
      topicName: t.string({ nullable: true, description: TOPIC, resolve: ({ facts }) => facts.topic }),
    }),
    { description: `A user has ${what.toLowerCase()} typing.` },
  );
  eventType<EditTypingBody, TypingTopic>(
    'typing_edit_message',
    op,
    `EditTyping${what}Event`,
    (t) => ({
      sender: t.field({
        type: User,
        nullable: true,
        description: 'User who is editing the message.',
        ...projectedFromEvent(userReference, ({ event }: EventSource<EditTypingBody, TypingTopic>) => event.sender_id),
      }),
      message: t.field({
        type: Message,
        nullable: true,
        description: 'The message that is being edited.',
        ...projectedFromEvent(
          messageReference,
          ({ event }: EventSource<EditTypingBody, TypingTopic>) => event.message_id,
        ),
      }),
      recipients: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'For a direct message: the users who receive this event. Empty for a channel message.',
        ...projectedFromEvent(
          userReference,
          ({ event }: EventSource<EditTypingBody, TypingTopic>) => event.recipient.user_ids ?? [],
        ),
      }),
      channel: t.field({
        type: Channel,
        nullable: true,
        description: CHANNEL,
        ...projectedFromEvent(
          channelReference,
          ({ event }: EventSource<EditTypingBody, TypingTopic>) => event.recipient.channel_id ?? null,
        ),
      }),
      topicName: t.string({
        nullable: true,
        description: TOPIC,
        resolve: ({ facts }) => facts.topic,
      }),
    }),
    { description: `A user has ${what.toLowerCase()} editing a message.` },
  );
}

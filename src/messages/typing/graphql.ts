import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { channelReference } from '../../channels/entity-facts.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { Channel } from '../../channels/graphql.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User } from '../../people/graphql.ts';
import { messageReference } from '../entity-facts.ts';
import { Message } from '../graphql.ts';
import { MessageTarget } from '../sending/message-target.ts';
import { type KnownTopic, TYPING_OPS, type Typist } from './events.ts';
import { setEditTyping, setTyping } from './service.ts';

const TypingOperation = builder.enumType('TypingOperation', {
  description: 'What the viewer tells of their writing.',
  values: {
    START: { value: 'start', description: 'They are writing. To be said again while they do.' },
    STOP: { value: 'stop', description: 'They have stopped.' },
  } as const,
});

const TOLD = 'What was told.';

mutation('setTyping', {
  ignoresIdempotencyKey: true,
  errors: [ChannelDoesNotExistError],
  description: 'Tells people, or the subscribers of a channel, that the viewer is writing to them, or has stopped.',
  input: (t) => ({
    operation: t.field({ type: TypingOperation, description: 'Whether the viewer is writing, or has stopped.' }),
    to: t.field({ type: MessageTarget, description: 'Where what they write is to go.' }),
  }),
  payload: () => ({ operation: { type: TypingOperation, description: TOLD } }),
  resolve: async (ctx, { operation, to: { topic, direct } }) => {
    const to = topic === undefined ? { userIds: direct } : { channel: topic.channel, topic: topic.name };
    await setTyping(ctx, operation, to);
    return { operation };
  },
});

mutation('setEditTyping', {
  ignoresIdempotencyKey: true,
  description: 'Tells those who see a message that the viewer edits it, or has stopped.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'The message that is edited.' }),
    operation: t.field({ type: TypingOperation, description: 'Whether the viewer edits it, or has stopped.' }),
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

const CHANNEL = 'The channel of the message; null for a direct message.';
const TOPIC = 'The topic of the message; null for a direct message.';

for (const op of TYPING_OPS) {
  const what = op === 'start' ? 'Started' : 'Stopped';
  eventType<TypingBody, KnownTopic>(
    'typing',
    op,
    `Typing${what}Event`,
    (t) => ({
      sender: t.field({
        type: User,
        nullable: true,
        description: 'Who writes.',
        ...fromEvent(userReference, ({ event }: EventSource<TypingBody, KnownTopic>) => event.sender.user_id),
      }),
      recipients: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'Everyone in the conversation; nobody in a channel.',
        ...fromEvent(userReference, ({ event }: EventSource<TypingBody, KnownTopic>) =>
          (event.recipients ?? []).map((recipient) => recipient.user_id),
        ),
      }),
      channel: t.field({
        type: Channel,
        nullable: true,
        description: CHANNEL,
        ...fromEvent(channelReference, ({ event }: EventSource<TypingBody, KnownTopic>) => event.stream_id ?? null),
      }),
      topicName: t.string({ nullable: true, description: TOPIC, resolve: ({ facts }) => facts.topic }),
    }),
    { description: `Somebody has ${what.toLowerCase()} writing.` },
  );
  eventType<EditTypingBody, KnownTopic>(
    'typing_edit_message',
    op,
    `EditTyping${what}Event`,
    (t) => ({
      sender: t.field({
        type: User,
        nullable: true,
        description: 'Who edits it.',
        ...fromEvent(userReference, ({ event }: EventSource<EditTypingBody, KnownTopic>) => event.sender_id),
      }),
      message: t.field({
        type: Message,
        nullable: true,
        description: 'The message that is edited.',
        ...fromEvent(messageReference, ({ event }: EventSource<EditTypingBody, KnownTopic>) => event.message_id),
      }),
      recipients: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'Of a direct message: everyone in the conversation. Nobody in a channel.',
        ...fromEvent(
          userReference,
          ({ event }: EventSource<EditTypingBody, KnownTopic>) => event.recipient.user_ids ?? [],
        ),
      }),
      channel: t.field({
        type: Channel,
        nullable: true,
        description: CHANNEL,
        ...fromEvent(
          channelReference,
          ({ event }: EventSource<EditTypingBody, KnownTopic>) => event.recipient.channel_id ?? null,
        ),
      }),
      topicName: t.string({
        nullable: true,
        description: TOPIC,
        resolve: ({ facts }) => facts.topic,
      }),
    }),
    { description: `Somebody has ${what.toLowerCase()} editing a message.` },
  );
}

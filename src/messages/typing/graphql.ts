import { builder } from '../../api/graphql/builder.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { RequestVariableMissingError } from '../../platform/errors.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { TYPING_OPS, type Typist } from './events.ts';
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
  errors: [ChannelDoesNotExistError, RequestVariableMissingError],
  description: 'Tells people, or the subscribers of a channel, that the viewer is writing to them, or has stopped.',
  input: (t) => ({
    operation: t.field({ type: TypingOperation, description: 'Whether the viewer is writing, or has stopped.' }),
    directTo: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'For a direct message: whom it is for. The viewer need not be named.',
    }),
    channelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: 'For a channel message: the channel. Give the topic as well.',
    }),
    topic: t.string({
      required: false,
      description: `For a channel message: the topic, of at most ${MAX_TOPIC_LENGTH} characters.`,
    }),
  }),
  payload: () => ({ operation: { type: TypingOperation, description: TOLD } }),
  resolve: async (ctx, { operation, directTo, channelId, topic }) => {
    const toChannel = channelId != null || topic != null;
    const to = toChannel
      ? { channelId: channelId ?? undefined, topic: topic ?? undefined }
      : { userIds: directTo ?? undefined };
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

const TypistValue = builder.objectRef<Typist>('Typist').implement({
  description: 'Somebody in a conversation.',
  fields: (t) => ({
    userId: t.id({ ...refersTo('User'), description: 'Who it is.', resolve: ({ user_id }) => user_id }),
    email: t.exposeString('email', { description: 'The address that the API knows them by.' }),
  }),
});

interface TypingBody {
  readonly sender: Typist;
  readonly recipients?: readonly Typist[];
  readonly stream_id?: number;
  readonly topic?: string;
}

interface EditTypingBody {
  readonly sender_id: number;
  readonly message_id: number;
  readonly recipient: { readonly channel_id?: number; readonly topic?: string; readonly user_ids?: readonly number[] };
}

const CHANNEL = 'The channel of the message; null for a direct message.';
const TOPIC = 'The topic of the message; null for a direct message.';

for (const op of TYPING_OPS) {
  const what = op === 'start' ? 'Started' : 'Stopped';
  eventType<TypingBody>(
    'typing',
    op,
    `Typing${what}Event`,
    (t) => ({
      sender: t.field({ type: TypistValue, description: 'Who writes.', resolve: ({ event }) => event.sender }),
      recipients: t.field({
        type: [TypistValue],
        nullable: true,
        description: 'Everyone in the conversation; null in a channel.',
        resolve: ({ event }) => event.recipients ?? null,
      }),
      channelId: t.id({
        ...refersTo('Channel'),
        nullable: true,
        description: CHANNEL,
        resolve: ({ event }) => event.stream_id ?? null,
      }),
      topic: t.string({ nullable: true, description: TOPIC, resolve: ({ event }) => event.topic ?? null }),
    }),
    { description: `Somebody has ${what.toLowerCase()} writing.` },
  );
  eventType<EditTypingBody>(
    'typing_edit_message',
    op,
    `EditTyping${what}Event`,
    (t) => ({
      senderId: t.id({ ...refersTo('User'), description: 'Who edits it.', resolve: ({ event }) => event.sender_id }),
      messageId: t.id({
        ...refersTo('Message'),
        description: 'The message that is edited.',
        resolve: ({ event }) => event.message_id,
      }),
      channelId: t.id({
        ...refersTo('Channel'),
        nullable: true,
        description: CHANNEL,
        resolve: ({ event }) => event.recipient.channel_id ?? null,
      }),
      topic: t.string({ nullable: true, description: TOPIC, resolve: ({ event }) => event.recipient.topic ?? null }),
      userIds: t.idList({
        ...refersTo('User'),
        nullable: true,
        description: 'Of a direct message: everyone in the conversation. Null in a channel.',
        resolve: ({ event }) => event.recipient.user_ids ?? null,
      }),
    }),
    { description: `Somebody has ${what.toLowerCase()} editing a message.` },
  );
}

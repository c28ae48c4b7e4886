import { builder } from '../../api/graphql/builder.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { ChannelDoesNotExistError } from '../../channels/errors.ts';
import { TYPING_OPS, type Typist } from './events.ts';
import { setEditTyping, setTyping } from './service.ts';

const TypingOperation = builder.enumType('TypingOperation', {
  values: { START: { value: 'start' }, STOP: { value: 'stop' } } as const,
});

mutation('setTyping', {
  ignoresIdempotencyKey: true,
  errors: [ChannelDoesNotExistError],
  description: 'Tells people, or the subscribers of a channel, that the viewer is writing to them, or has stopped.',
  input: (t) => ({
    operation: t.field({ type: TypingOperation }),
    directTo: t.idList({ ...refersTo('User'), required: false, description: 'User ids, for a direct message.' }),
    channelId: t.id({ ...refersTo('Channel'), required: false, description: 'For a channel message, with the topic.' }),
    topic: t.string({ required: false }),
  }),
  payload: () => ({ operation: { type: TypingOperation } }),
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
    messageId: t.id(refersTo('Message')),
    operation: t.field({ type: TypingOperation }),
  }),
  payload: () => ({ operation: { type: TypingOperation } }),
  resolve: async (ctx, { messageId, operation }) => {
    await setEditTyping(ctx, messageId, operation);
    return { operation };
  },
});

const TypistValue = builder.objectRef<Typist>('Typist').implement({
  description: 'Somebody in a conversation.',
  fields: (t) => ({
    userId: t.id({ ...refersTo('User'), resolve: ({ user_id }) => user_id }),
    email: t.exposeString('email', { description: 'The address the API knows them by.' }),
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

for (const op of TYPING_OPS) {
  const what = op === 'start' ? 'Started' : 'Stopped';
  eventType<TypingBody>(
    'typing',
    op,
    `Typing${what}Event`,
    (t) => ({
      sender: t.field({ type: TypistValue, resolve: ({ event }) => event.sender }),
      recipients: t.field({
        type: [TypistValue],
        nullable: true,
        description: 'Everyone in the conversation; null in a channel.',
        resolve: ({ event }) => event.recipients ?? null,
      }),
      channelId: t.id({ ...refersTo('Channel'), nullable: true, resolve: ({ event }) => event.stream_id ?? null }),
      topic: t.string({ nullable: true, resolve: ({ event }) => event.topic ?? null }),
    }),
    { description: `Somebody has ${what.toLowerCase()} writing.` },
  );
  eventType<EditTypingBody>(
    'typing_edit_message',
    op,
    `EditTyping${what}Event`,
    (t) => ({
      senderId: t.id({ ...refersTo('User'), resolve: ({ event }) => event.sender_id }),
      messageId: t.id({ ...refersTo('Message'), resolve: ({ event }) => event.message_id }),
      channelId: t.id({
        ...refersTo('Channel'),
        nullable: true,
        resolve: ({ event }) => event.recipient.channel_id ?? null,
      }),
      topic: t.string({ nullable: true, resolve: ({ event }) => event.recipient.topic ?? null }),
      userIds: t.idList({
        ...refersTo('User'),
        nullable: true,
        description: 'Who is told, of a direct message.',
        resolve: ({ event }) => event.recipient.user_ids ?? null,
      }),
    }),
    { description: `Somebody has ${what.toLowerCase()} editing a message.` },
  );
}

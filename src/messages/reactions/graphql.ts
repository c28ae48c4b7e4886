import { builder } from '../../api/graphql/builder.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import type { ReactionType } from '../../people/emoji/emoji.ts';
import { ReactionTypeEnum } from '../../people/emoji/reaction-type.ts';
import { Message } from '../graphql.ts';
import { ReactionAlreadyExistsError, ReactionDoesNotExistError } from './errors.ts';
import { addReaction, removeReaction } from './service.ts';

const Reaction = builder.prismaObject('Reaction', {
  fields: (t) => ({
    emojiName: t.exposeString('emojiName'),
    emojiCode: t.exposeString('emojiCode', { description: 'The identifier within the namespace of `reactionType`.' }),
    reactionType: t.field({ type: ReactionTypeEnum, resolve: ({ reactionType }) => reactionType as ReactionType }),
    user: t.relation('user'),
  }),
});

builder.prismaObjectField(Message, 'reactions', (t) =>
  t.relation('reactions', { description: 'Oldest first.', query: { orderBy: { id: 'asc' } } }),
);

errorType(ReactionAlreadyExistsError, 'The viewer has this emoji on the message already.');
errorType(ReactionDoesNotExistError, 'The viewer has no such emoji on the message.');

mutation('addReaction', {
  description: 'Adds an emoji to a message.',
  errors: [ReactionAlreadyExistsError],
  input: (t) => ({
    messageId: t.id(refersTo('Message')),
    emojiName: t.string(),
    emojiCode: t.string({ required: false, description: 'Looked up by the name, if absent.' }),
    reactionType: t.field({ type: ReactionTypeEnum, required: false }),
  }),
  payload: () => ({ reaction: { type: Reaction } }),
  resolve: async (ctx, { messageId, emojiName, emojiCode, reactionType }) => ({
    reaction: await addReaction(ctx, messageId, {
      name: emojiName,
      code: emojiCode ?? undefined,
      type: reactionType ?? undefined,
    }),
  }),
});

mutation('removeReaction', {
  description: "Takes one of the viewer's emoji from a message.",
  errors: [ReactionDoesNotExistError],
  input: (t) => ({
    messageId: t.id(refersTo('Message')),
    emojiName: t.string({ required: false, description: 'This or the code must be given.' }),
    emojiCode: t.string({ required: false }),
    reactionType: t.field({ type: ReactionTypeEnum, required: false }),
  }),
  payload: () => ({ messageId: { type: 'ID', refersTo: 'Message' } }),
  resolve: async (ctx, { messageId, emojiName, emojiCode, reactionType }) => {
    await removeReaction(ctx, messageId, {
      name: emojiName ?? undefined,
      code: emojiCode ?? undefined,
      type: reactionType ?? undefined,
    });
    return { messageId };
  },
});

interface ReactionBody {
  readonly message_id: number;
  readonly user_id: number;
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: ReactionType;
}

for (const [op, name, description] of [
  ['add', 'ReactionAddedEvent', 'Somebody reacted to a message.'],
  ['remove', 'ReactionRemovedEvent', 'Somebody took back their reaction to a message.'],
] as const) {
  eventType<ReactionBody>(
    'reaction',
    op,
    name,
    (t) => ({
      messageId: t.id({ ...refersTo('Message'), resolve: ({ event }) => event.message_id }),
      userId: t.id({ ...refersTo('User'), resolve: ({ event }) => event.user_id }),
      emojiName: t.string({ resolve: ({ event }) => event.emoji_name }),
      emojiCode: t.string({ resolve: ({ event }) => event.emoji_code }),
      reactionType: t.field({ type: ReactionTypeEnum, resolve: ({ event }) => event.reaction_type }),
    }),
    { description },
  );
}

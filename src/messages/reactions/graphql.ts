import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { type EntityFacts, fromEvent } from '../../api/graphql/entity-facts.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodesOf, nodeType } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { byKey } from '../../api/graphql/together.ts';
import type { ReactionType } from '../../people/emoji/emoji.ts';
import { ReactionTypeEnum } from '../../people/emoji/reaction-type.ts';
import { namedUser } from '../../people/entity-facts.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { readableMessages } from '../access.ts';
import { messageReference, reactedMessage } from '../entity-facts.ts';
import { Message, readBack } from '../graphql.ts';
import { ReactionAlreadyExistsError, ReactionDoesNotExistError } from './errors.ts';
import type { KnownReacted } from './events.ts';
import { MAX_GROUP_USERS, MAX_TOLD_REACTIONS, type ReactionGroup } from './groups.ts';
import { reactionGroups, reactionsOf } from './loaders.ts';
import { addReaction, removeReaction } from './service.ts';

const NAME = 'The name it was chosen by: "tada".';
const CODE = 'The identifier of the emoji within the namespace of `reactionType`.';
const NAMESPACE = 'The namespace of `emojiCode`.';

const Reaction = builder.prismaNode('Reaction', {
  id: { resolve: ({ id }) => id },
  findUnique: (id, ctx) => ({ realmId_id: { realmId: signedIn(ctx).realmId, id: BigInt(id) } }),
  description: 'An emoji that somebody has put on a message.',
  fields: (t) => ({
    emojiName: t.exposeString('emojiName', { description: NAME }),
    emojiCode: t.exposeString('emojiCode', { description: CODE }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      description: NAMESPACE,
      resolve: ({ reactionType }) => reactionType as ReactionType,
    }),
    user: t.field({
      type: User,
      description: 'Who reacted.',
      resolve: byKey(usersById, ({ userId }) => userId),
    }),
  }),
});

builder.prismaObjectField(Message, 'reactions', (t) =>
  t.field({
    type: [Reaction],
    description:
      'The emoji on it, the oldest first: of each who reads it 25 at most, and of 100 kinds. `reactionGroups` counts them.',
    resolve: byKey(reactionsOf, ({ id }) => Number(id)),
  }),
);

nodeType('Reaction', async (ctx, ids) => {
  const rows = await ctx.app.db.reaction.findMany({ where: { realmId: ctx.realmId, id: { in: ids.map(BigInt) } } });
  const messages = await readableMessages(
    ctx,
    rows.map(({ messageId }) => Number(messageId)),
  );
  const readable = new Set(messages.map(({ id }) => id));
  return rows.filter(({ messageId }) => readable.has(messageId));
});

const ReactionGroupType = builder.objectRef<ReactionGroup>('ReactionGroup').implement({
  description: 'One emoji on a message, with all who have put it there.',
  fields: (t) => ({
    emojiName: t.exposeString('emojiName', { description: 'The name it was first chosen by: "tada".' }),
    emojiCode: t.exposeString('emojiCode', { description: CODE }),
    reactionType: t.expose('reactionType', { type: ReactionTypeEnum, description: NAMESPACE }),
    count: t.exposeInt('count', { description: 'How many have put it there.' }),
    viewerHasReacted: t.exposeBoolean('viewerHasReacted', { description: 'Whether the viewer is one of them.' }),
    users: t.field({
      type: [User],
      description: `The first ${MAX_GROUP_USERS} who have, in the order in which they did. All of them: \`reactions\`.`,
      // As many as there are on most messages of a page: those of the whole page are read at once.
      complexity: { field: 1, multiplier: 3 },
      resolve: ({ userIds }, _args, ctx) => nodesOf(ctx, 'User', userIds),
    }),
  }),
});

builder.prismaObjectField(Message, 'reactionGroups', (t) =>
  t.field({
    type: [ReactionGroupType],
    description: 'The emoji on it, the one that came first before the others; at most 100.',
    resolve: byKey(reactionGroups, ({ id }) => Number(id)),
  }),
);

errorType(ReactionAlreadyExistsError, 'The viewer has this emoji on the message already.');
errorType(ReactionDoesNotExistError, 'The viewer has no such emoji on the message.');

mutation('addReaction', {
  description: 'Adds an emoji to a message.',
  errors: [ReactionAlreadyExistsError],
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'A message the viewer may read.' }),
    emojiName: t.string({ description: "The emoji's name, without colons." }),
    emojiCode: t.string({ required: false, description: `${CODE} Absent: that of the name.` }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      required: false,
      description: `${NAMESPACE} Absent: that of the name.`,
    }),
  }),
  payload: () => ({ reaction: { type: Reaction, description: 'The new reaction.' } }),
  resolve: async (ctx, { messageId, emojiName, emojiCode, reactionType }) => ({
    reaction: await addReaction(ctx, messageId, {
      name: emojiName,
      code: emojiCode ?? undefined,
      type: reactionType ?? undefined,
    }),
  }),
});

const EmojiCodeInput = builder.inputType('EmojiCodeInput', {
  description: 'An emoji, as reactions tell which one it is.',
  fields: (t) => ({
    emojiCode: t.string({ description: CODE }),
    reactionType: t.field({ type: ReactionTypeEnum, description: NAMESPACE }),
  }),
});

const EmojiRef = builder.inputType('EmojiRef', {
  isOneOf: true,
  description: 'Which emoji is meant.',
  fields: (t) => ({
    code: t.field({ type: EmojiCodeInput, required: false, description: 'The emoji itself, whatever it is called.' }),
    name: t.string({ required: false, description: 'What it is called, without colons.' }),
  }),
});

mutation('removeReaction', {
  description: "Takes one of the viewer's emoji from a message.",
  errors: [ReactionDoesNotExistError],
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'The message the reaction is on.' }),
    emoji: t.field({ type: EmojiRef, description: 'Which of them.' }),
  }),
  // Not `message`: that is the word of every error in the same union.
  payload: () => ({
    changedMessage: {
      type: Message,
      nullable: true,
      description: 'The message the reaction was on; null when it is gone by now.',
    },
  }),
  resolve: async (ctx, { messageId, emoji: { name, code } }) => {
    await removeReaction(ctx, messageId, { name, code: code?.emojiCode, type: code?.reactionType });
    return { changedMessage: await readBack(ctx, messageId) };
  },
});

interface ReactionBody {
  readonly message_id: number;
  readonly user: { readonly id: number; readonly email: string; readonly full_name: string };
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: ReactionType;
}

type ReactionSource = EventSource<ReactionBody, KnownReacted>;

const factsOfReacted = ({ facts }: ReactionSource): EntityFacts =>
  facts.reactions === null ? messageReference : reactedMessage;

for (const [op, name, description] of [
  ['add', 'ReactionAddedEvent', 'Somebody reacted to a message.'],
  ['remove', 'ReactionRemovedEvent', 'Somebody took back their reaction to a message.'],
] as const) {
  eventType<ReactionBody, KnownReacted>(
    'reaction',
    op,
    name,
    (t) => ({
      message: t.field({
        type: Message,
        nullable: true,
        description: `The message. The event knows all that is on it now, up to ${MAX_TOLD_REACTIONS} reactions.`,
        ...fromEvent(factsOfReacted, ({ facts }: ReactionSource) => (facts.reactions === null ? facts.id : facts)),
      }),
      user: t.field({
        type: User,
        nullable: true,
        description: 'Whose reaction it is.',
        ...fromEvent(namedUser, ({ event: { user } }: ReactionSource) => ({ ...user, fullName: user.full_name })),
      }),
      emojiName: t.string({ nullable: true, description: NAME, resolve: ({ event }) => event.emoji_name }),
      emojiCode: t.string({ nullable: true, description: CODE, resolve: ({ event }) => event.emoji_code }),
      reactionType: t.field({
        nullable: true,
        type: ReactionTypeEnum,
        description: NAMESPACE,
        resolve: ({ event }) => event.reaction_type,
      }),
    }),
    { description },
  );
}

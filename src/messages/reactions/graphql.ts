import { signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { type EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodesOf, nodeType } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { ReactionType } from '../../people/emoji/emoji.ts';
import { ReactionTypeEnum } from '../../people/emoji/reaction-type.ts';
import { namedUser } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { readableMessages } from '../access.ts';
import { messageReference, reactedMessage } from '../event-projections.ts';
import { Message, readBack } from '../graphql.ts';
import { ReactionAlreadyExistsError, ReactionDoesNotExistError } from './errors.ts';
import type { ProjectedReacted } from './events.ts';
import { MAX_EVENT_REACTIONS, MAX_GROUP_USERS, type ReactionGroup } from './groups.ts';
import { reactionGroups, reactionsOf } from './loaders.ts';
import { addReaction, removeReaction } from './service.ts';

const NAME = 'Name that the emoji had when the user chose it, such as "tada".';
const CODE = 'Code of the emoji within the namespace `reactionType`.';
const NAMESPACE = 'Namespace of `emojiCode`.';

const Reaction = builder.prismaNode('Reaction', {
  id: { resolve: ({ id }) => id },
  findUnique: (id, ctx) => ({ realmId_id: { realmId: signedIn(ctx).realmId, id: BigInt(id) } }),
  description: 'A reaction of a user to a message.',
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
      description: 'User who reacted.',
      resolve: byKey(usersById, ({ userId }) => userId),
    }),
  }),
});

builder.prismaObjectField(Message, 'reactions', (t) =>
  t.field({
    type: [Reaction],
    description:
      'Reactions to the message, oldest first. At most 5,000, 25 per user. `reactionGroups` has the counts by emoji.',
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
  description: 'All reactions to a message with one emoji.',
  fields: (t) => ({
    emojiName: t.exposeString('emojiName', { description: 'Name of the emoji in the first reaction, such as "tada".' }),
    emojiCode: t.exposeString('emojiCode', { description: CODE }),
    reactionType: t.expose('reactionType', { type: ReactionTypeEnum, description: NAMESPACE }),
    count: t.exposeInt('count', { description: 'Number of reactions.' }),
    viewerHasReacted: t.exposeBoolean('viewerHasReacted', {
      description: 'Whether the viewer has reacted with this emoji.',
    }),
    users: t.field({
      type: [User],
      description: `The first ${MAX_GROUP_USERS} users, in the order of their reactions. \`reactions\` has all of them.`,
      // Estimates the usual number of users of the reactions to a message. The users who reacted to any message of a page are
      // loaded in one batch.
      complexity: { field: 1, multiplier: 3 },
      resolve: ({ userIds }, _args, ctx) => nodesOf(ctx, 'User', userIds),
    }),
  }),
});

builder.prismaObjectField(Message, 'reactionGroups', (t) =>
  t.field({
    type: [ReactionGroupType],
    description: 'Reactions to the message by emoji, in the order of the first reaction with each. At most 100.',
    resolve: byKey(reactionGroups, ({ id }) => Number(id)),
  }),
);

errorType(ReactionAlreadyExistsError, 'The viewer has already reacted to the message with this emoji.');
errorType(ReactionDoesNotExistError, 'The viewer has not reacted to the message with this emoji.');

mutation('addReaction', {
  description: 'Adds a reaction of the viewer to a message.',
  errors: [ReactionAlreadyExistsError],
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of a message that the viewer can read.' }),
    emojiName: t.string({ description: 'Name of the emoji, without colons.' }),
    emojiCode: t.string({ required: false, description: `${CODE} Absent: the code of \`emojiName\`.` }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      required: false,
      description: `${NAMESPACE} Absent: the namespace of \`emojiName\`.`,
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
  description: 'An emoji by code and namespace.',
  fields: (t) => ({
    emojiCode: t.string({ description: CODE }),
    reactionType: t.field({ type: ReactionTypeEnum, description: NAMESPACE }),
  }),
});

const EmojiRef = builder.inputType('EmojiRef', {
  isOneOf: true,
  description: 'An emoji by code or name.',
  fields: (t) => ({
    code: t.field({ type: EmojiCodeInput, required: false, description: 'Code of the emoji.' }),
    name: t.string({ required: false, description: 'Name of the emoji, without colons.' }),
  }),
});

mutation('removeReaction', {
  description: 'Removes a reaction of the viewer from a message.',
  errors: [ReactionDoesNotExistError],
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of the message.' }),
    emoji: t.field({ type: EmojiRef, description: 'Emoji of the reaction.' }),
  }),
  // The field is not named `message`, because all errors in the same union have a field of that name.
  payload: () => ({
    changedMessage: {
      type: Message,
      nullable: true,
      description: 'The message. Null if it no longer exists or the viewer can no longer read it.',
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

type ReactionSource = EventSource<ReactionBody, ProjectedReacted>;

const factsOfReacted = ({ facts }: ReactionSource): EventProjection =>
  facts.reactions === null ? messageReference : reactedMessage;

for (const [op, name, description] of [
  ['add', 'ReactionAddedEvent', 'A user reacted to a message.'],
  ['remove', 'ReactionRemovedEvent', 'A user removed a reaction to a message.'],
] as const) {
  eventType<ReactionBody, ProjectedReacted>(
    'reaction',
    op,
    name,
    (t) => ({
      message: t.field({
        type: Message,
        nullable: true,
        description: `The message. If it has at most ${MAX_EVENT_REACTIONS} reactions, the event contains all of them.`,
        ...projectedFromEvent(factsOfReacted, ({ facts }: ReactionSource) =>
          facts.reactions === null ? facts.id : facts,
        ),
      }),
      user: t.field({
        type: User,
        nullable: true,
        description: 'User who made the reaction.',
        ...projectedFromEvent(namedUser, ({ event: { user } }: ReactionSource) => ({
          ...user,
          fullName: user.full_name,
        })),
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

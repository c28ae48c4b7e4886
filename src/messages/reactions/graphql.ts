import { signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refuseBoth, requireMember } from '../../api/graphql/schema/deprecated-members.ts';
import { type EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { given, mutation, whenAsked } from '../../api/graphql/schema/mutation.ts';
import { nodesOf, nodeType } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { ReactionType } from '../../people/emoji/emoji.ts';
import { EmojiRef, givenEmoji } from '../../people/emoji/emoji-ref.ts';
import { EMOJI_CODE, ReactionTypeEnum } from '../../people/emoji/reaction-type.ts';
import { namedUser } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { readableMessages } from '../access.ts';
import { messageReference, reactedMessage } from '../event-projections.ts';
import { changeableChannel, Message, readBack } from '../graphql.ts';
import type { ProjectedReacted } from './events.ts';
import { MAX_EVENT_REACTIONS, MAX_GROUP_USERS, type ReactionGroup } from './groups.ts';
import { reactionGroups, reactionsOf } from './loaders.ts';
import { addReaction, removeReaction } from './service.ts';

const NAME = 'Name that the emoji had when the user chose it, such as "tada".';
const NAMESPACE = 'Namespace of `emojiCode`.';

const Reaction = builder.prismaNode('Reaction', {
  id: { resolve: ({ id }) => id },
  findUnique: (id, ctx) => ({ organizationId_id: { organizationId: signedIn(ctx).organizationId, id: BigInt(id) } }),
  description: 'A reaction of a user to a message.',
  fields: (t) => ({
    emojiName: t.exposeString('emojiName', { description: NAME }),
    emojiCode: t.exposeString('emojiCode', { description: EMOJI_CODE }),
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
  const rows = await ctx.work.db.reaction.findMany({
    where: { organizationId: ctx.organizationId, id: { in: ids.map(BigInt) } },
  });
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
    emojiCode: t.exposeString('emojiCode', { description: EMOJI_CODE }),
    reactionType: t.expose('reactionType', { type: ReactionTypeEnum, description: NAMESPACE }),
    count: t.exposeInt('count', { description: 'Number of reactions.' }),
    viewerHasReacted: t.exposeBoolean('viewerHasReacted', {
      description: 'Whether the viewer has reacted with this emoji.',
    }),
    users: t.field({
      type: [User],
      description: `The first ${MAX_GROUP_USERS} users, in the order of their reactions. \`reactions\` has all of them.`,
      // Estimate: 3 users usually react to a message. The users who reacted to any message of a page are loaded in one batch.
      complexity: { field: 1, multiplier: 3 },
      resolve: ({ userIds }, _args, ctx) => nodesOf(ctx, 'User', userIds),
    }),
  }),
});

builder.prismaObjectField(Message, 'viewerCanReact', (t) =>
  t.boolean({
    description:
      'Whether the viewer can add and remove reactions to the message now. The limits on the number of reactions ' +
      'can still refuse one.',
    resolve: async (message, _args, ctx) => (await changeableChannel(ctx, message)).isChangeable,
  }),
);

builder.prismaObjectField(Message, 'reactionGroups', (t) =>
  t.field({
    type: [ReactionGroupType],
    description:
      'Reactions to the message, grouped by emoji, in the order in which each emoji was first used. At most 100.',
    resolve: byKey(reactionGroups, ({ id }) => Number(id)),
  }),
);

const MESSAGE_ID = 'Id of a message that the viewer can read.';
const EMOJI = 'Emoji of the reaction.';

/**
 * Payload of both mutations. The field with the message is not named `message`, because all errors in the union have a field of
 * that name.
 */
const reacted = (reaction: string) => ({
  reaction: { type: Reaction, description: reaction },
  changedMessage: {
    type: Message,
    nullable: true as const,
    description: 'The message. Null if it no longer exists or the viewer can no longer read it.',
  },
});

mutation('addReaction', {
  description: 'Adds a reaction of the viewer to a message.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: MESSAGE_ID }),
    emoji: t.field({
      type: EmojiRef,
      required: false,
      description: `${EMOJI} Required, except with the deprecated \`emojiName\`. The next version requires it.`,
    }),
    emojiName: t.string({
      required: false,
      description: 'Name of the emoji, without colons.',
      deprecationReason: 'Use `emoji: { name }`.',
    }),
    emojiCode: t.string({
      required: false,
      description: `${EMOJI_CODE} Absent: the code of the emoji with the name \`emojiName\`.`,
      deprecationReason: 'Use `emoji: { code }`.',
    }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      required: false,
      description: `${NAMESPACE} Absent: the namespace of \`emojiName\`.`,
      deprecationReason: 'Use `emoji: { code }`.',
    }),
  }),
  payload: () => reacted('The new reaction.'),
  resolve: async (ctx, { messageId, emoji, emojiName, emojiCode, reactionType }) => {
    refuseBoth('emoji', emoji != null, { emojiName, emojiCode, reactionType });
    requireMember('emoji', emoji ?? emojiName ?? emojiCode);
    const named = given({ name: emojiName, code: emojiCode, type: reactionType });
    return {
      reaction: await addReaction(ctx, messageId, emoji == null ? named : givenEmoji(emoji)),
      changedMessage: whenAsked(() => readBack(ctx, messageId)),
    };
  },
});

mutation('removeReaction', {
  description: 'Removes a reaction of the viewer from a message.',
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: MESSAGE_ID }),
    emoji: t.field({ type: EmojiRef, description: EMOJI }),
  }),
  payload: () => reacted('The removed reaction.'),
  resolve: async (ctx, { messageId, emoji }) => ({
    reaction: await removeReaction(ctx, messageId, givenEmoji(emoji)),
    changedMessage: whenAsked(() => readBack(ctx, messageId)),
  }),
});

interface ReactionBody {
  readonly message_id: number;
  readonly user: { readonly id: number; readonly email: string; readonly full_name: string };
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: ReactionType;
}

type ReactionSource = EventSource<ReactionBody, ProjectedReacted>;

const projectionOfReacted = ({ facts }: ReactionSource): EventProjection =>
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
        ...projectedFromEvent(projectionOfReacted, ({ facts }: ReactionSource) =>
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
      emojiCode: t.string({ nullable: true, description: EMOJI_CODE, resolve: ({ event }) => event.emoji_code }),
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

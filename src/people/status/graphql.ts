import DataLoader from 'dataloader';
import { builder } from '../../api/graphql/builder.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import type { ReactionType } from '../emoji/emoji.ts';
import { ReactionTypeEnum } from '../emoji/reaction-type.ts';
import { User } from '../graphql.ts';
import { setOwnStatus, setStatusOf } from './service.ts';
import { isAway } from './state.ts';
import { toWire, type WireStatus } from './wire.ts';

const UserStatus = builder.objectRef<WireStatus>('UserStatus').implement({
  description: 'What a user says of themselves for the moment.',
  fields: (t) => ({
    text: t.string({ description: 'Empty when there is none.', resolve: ({ status_text }) => status_text ?? '' }),
    emojiName: t.string({ nullable: true, resolve: ({ emoji_name }) => emoji_name ?? null }),
    emojiCode: t.string({ nullable: true, resolve: ({ emoji_code }) => emoji_code ?? null }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      nullable: true,
      resolve: ({ reaction_type }) => (reaction_type as ReactionType | undefined) ?? null,
    }),
    isAway: t.boolean({ description: 'Whether they show no presence.', resolve: ({ away }) => away === true }),
  }),
});

const statuses = perOperation(
  ({ app }) =>
    new DataLoader<number, Awaited<ReturnType<typeof app.db.userStatus.findUnique>>>(async (ids) => {
      const rows = await app.db.userStatus.findMany({ where: { userId: { in: [...ids] } } });
      const byUser = new Map(rows.map((row) => [row.userId, row]));
      return ids.map((id) => byUser.get(id) ?? null);
    }),
);

builder.prismaObjectField(User, 'status', (t) =>
  t.field({
    type: UserStatus,
    select: { id: true, settings: true },
    resolve: async (user, _args, ctx) => toWire(await statuses(ctx).load(user.id), isAway(user)),
  }),
);

mutation('setStatus', {
  description: "Sets the viewer's status, or as an administrator somebody's.",
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), required: false, description: 'The viewer, if absent.' }),
    text: t.string({ required: false, description: 'At most 60 characters; "" clears it.' }),
    emojiName: t.string({ required: false, description: '"" clears it.' }),
    emojiCode: t.string({ required: false, description: 'Looked up by the name, if absent.' }),
    reactionType: t.field({ type: ReactionTypeEnum, required: false }),
    isAway: t.boolean({ required: false, description: 'Whether to show no presence.' }),
  }),
  payload: () => ({ status: { type: UserStatus } }),
  resolve: async (ctx, { userId, text, emojiName, emojiCode, reactionType, isAway }) => {
    const edit = {
      statusText: text ?? undefined,
      emojiName: emojiName ?? undefined,
      emojiCode: emojiCode ?? undefined,
      reactionType: reactionType ?? undefined,
      away: isAway ?? undefined,
    };
    return { status: userId == null ? await setOwnStatus(ctx, edit) : await setStatusOf(ctx, userId, edit) };
  },
});

interface StatusBody {
  readonly user_id: number;
  readonly away?: boolean;
  readonly status_text?: string;
  readonly emoji_name?: string;
  readonly emoji_code?: string;
  readonly reaction_type?: ReactionType | '';
}

eventType<StatusBody>(
  'user_status',
  undefined,
  'UserStatusSetEvent',
  (t) => ({
    userId: t.id({ ...refersTo('User'), resolve: ({ event }) => event.user_id }),
    text: t.string({ nullable: true, description: 'If set.', resolve: ({ event }) => event.status_text ?? null }),
    emojiName: t.string({
      nullable: true,
      description: 'If set; empty when cleared.',
      resolve: ({ event }) => event.emoji_name ?? null,
    }),
    emojiCode: t.string({ nullable: true, resolve: ({ event }) => event.emoji_code ?? null }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      nullable: true,
      resolve: ({ event }) => event.reaction_type || null,
    }),
    isAway: t.boolean({ nullable: true, description: 'If set.', resolve: ({ event }) => event.away ?? null }),
  }),
  { description: 'A user set their status.' },
);

import DataLoader from 'dataloader';
import { type Scope, signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refuseBoth } from '../../api/graphql/schema/deprecated-members.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeType } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { UserStatus as StatusRow } from '../../generated/prisma/client.ts';
import { completeEmoji, type EmojiReference, type ReactionType } from '../emoji/emoji.ts';
import { EmojiRef, givenEmoji } from '../emoji/emoji-ref.ts';
import { EMOJI_CODE, ReactionTypeEnum } from '../emoji/reaction-type.ts';
import { User } from '../graphql.ts';
import { visibleTo } from '../users.ts';
import { setOwnStatus, setStatusOf } from './service.ts';
import { isAway } from './state.ts';
import { toWire, type WireStatus } from './wire.ts';

const TEXT = 'Text of the status, at most 60 characters. Empty if there is none.';
const EMOJI_NAME = 'Name of the emoji. Null if there is none.';
const NAMESPACE = 'Namespace of the emoji code. Null if there is no emoji.';

/** The status of a user, and the user's id. */
interface StatusOfUser extends WireStatus {
  readonly id: number;
}

const UserStatus = builder.objectRef<StatusOfUser>('UserStatus');

builder.node(UserStatus, {
  id: { resolve: ({ id }) => id },
  description: 'Status of a user: a text and an emoji.',
  fields: (t) => ({
    text: t.string({ description: TEXT, resolve: ({ status_text }) => status_text ?? '' }),
    emojiName: t.string({ nullable: true, description: EMOJI_NAME, resolve: ({ emoji_name }) => emoji_name ?? null }),
    emojiCode: t.string({
      nullable: true,
      description: `${EMOJI_CODE} Null if there is no emoji.`,
      resolve: ({ emoji_code }) => emoji_code ?? null,
    }),
    reactionType: t.field({
      type: ReactionTypeEnum,
      nullable: true,
      description: NAMESPACE,
      resolve: ({ reaction_type }) => (reaction_type as ReactionType | undefined) ?? null,
    }),
    isAway: t.boolean({ description: 'Whether the user hides their presence.', resolve: ({ away }) => away === true }),
  }),
});

/**
 * Reads the stored statuses of users. Returns a function from a user id to the user's status. The function returns null for a
 * user without a stored status.
 */
async function readStatuses(
  { work, organizationId }: Scope,
  ids: readonly number[],
): Promise<(userId: number) => StatusRow | null> {
  const rows = await work.db.userStatus.findMany({ where: { organizationId, userId: { in: [...ids] } } });
  const byUser = new Map(rows.map((row) => [row.userId, row]));
  return (userId) => byUser.get(userId) ?? null;
}

const statuses = perOperation(
  (ctx) => new DataLoader<number, StatusRow | null>(async (ids) => ids.map(await readStatuses(signedIn(ctx), ids))),
);

nodeType('UserStatus', async (ctx, ids) => {
  const users = await ctx.work.db.user.findMany({ where: { AND: [visibleTo(ctx.viewer), { id: { in: [...ids] } }] } });
  const statusOf = await readStatuses(
    ctx,
    users.map(({ id }) => id),
  );
  return users.map((user) => ({ ...toWire(statusOf(user.id), isAway(user)), id: user.id }));
});

builder.prismaObjectField(User, 'status', (t) =>
  t.field({
    type: UserStatus,
    description: 'Status of the user.',
    resolve: async (user, _args, ctx) => ({ ...toWire(await statuses(ctx).load(user.id), isAway(user)), id: user.id }),
  }),
);

mutation('setStatus', {
  description: "Sets the viewer's status. Administrators can set the status of other users.",
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), required: false, description: 'Id of the user. Default: the viewer.' }),
    text: t.string({
      required: false,
      description: 'Text, at most 60 characters. "" removes it. If absent, it does not change.',
    }),
    emoji: t.field({
      type: EmojiRef,
      required: false,
      description: 'The emoji. Null removes it. If absent, it does not change.',
    }),
    emojiName: t.string({
      required: false,
      description: 'Name of the emoji. "" removes the emoji. If absent, it does not change.',
      deprecationReason: 'Use `emoji`.',
    }),
    isAway: t.boolean({ required: false, description: 'Whether to hide the presence. If absent, it does not change.' }),
  }),
  payload: () => ({ status: { type: UserStatus, description: 'The status after the change.' } }),
  resolve: async (ctx, { userId, text, emoji, emojiName, isAway }) => {
    refuseBoth('emoji', emoji !== undefined, { emojiName });
    const { work, organizationId } = ctx;
    const { name, code, type }: EmojiReference =
      emoji == null
        ? { name: emoji === null ? '' : (emojiName ?? undefined) }
        : await completeEmoji(work.db, organizationId, givenEmoji(emoji));
    const edit = {
      statusText: text ?? undefined,
      emojiName: name,
      emojiCode: code,
      reactionType: type,
      away: isAway ?? undefined,
    };
    const status = userId == null ? await setOwnStatus(ctx, edit) : await setStatusOf(ctx, userId, edit);
    return { status: { ...status, id: userId ?? ctx.viewer.id } };
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

const PARTS = {
  status_text: { text: ({ status_text }: StatusBody) => status_text ?? '' },
  emoji_name: { emojiName: ({ emoji_name }: StatusBody) => emoji_name || null },
  emoji_code: { emojiCode: ({ emoji_code }: StatusBody) => emoji_code || null },
  reaction_type: { reactionType: ({ reaction_type }: StatusBody) => reaction_type || null },
  away: { isAway: ({ away }: StatusBody) => away === true },
} as const;

const idOf = ({ user_id }: StatusBody) => user_id;
const projectionsByParts = new Map<string, EventProjection<StatusBody>>();

/**
 * Returns the event projection (the fields that an event alone provides) of a user: the user's ids, and the status properties
 * that the event contains. The first call for a combination of properties creates the projection, and later calls reuse it.
 */
function projectionOf(event: StatusBody): EventProjection<StatusBody> {
  const parts = (Object.keys(PARTS) as (keyof typeof PARTS)[]).filter((part) => event[part] !== undefined);
  const key = parts.join();
  let projection = projectionsByParts.get(key);
  if (projection === undefined) {
    const status = new EventProjection<StatusBody>(
      'UserStatus',
      { idOf },
      Object.assign({}, ...parts.map((p) => PARTS[p])),
    );
    projection = new EventProjection<StatusBody>(
      'User',
      { idOf },
      { databaseId: idOf, status: { projection: status, of: (e) => e } },
    );
    projectionsByParts.set(key, projection);
  }
  return projection;
}

eventType<StatusBody>(
  'user_status',
  undefined,
  'UserStatusSetEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'The user, with the new `status`.',
      ...projectedFromEvent(
        ({ event }: EventSource<StatusBody>) => projectionOf(event),
        ({ event }) => event,
      ),
    }),
  }),
  { description: 'The status of a user changed.' },
);

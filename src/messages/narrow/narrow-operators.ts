import type { Ctx } from '../../access/context.ts';
import { type OwnChannel, visibleAmong } from '../../channels/access.ts';
import { RESOLVED_PREFIX, topicNamed } from '../../channels/topic-name.ts';
import { Prisma, type User } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { hasProtectedHistory, receivedBy } from '../access.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import type { MessagePlace } from '../reading.ts';
import { accessNamed, findConversation, type Recipients } from '../sending/direct.ts';
import { FOLLOWED, INHERITED, literal, MUTED } from '../topic-policies/policies.ts';
import { BadNarrowError } from './errors.ts';
import { parseSearch, type Search } from './narrow-search.ts';
import type { Operand } from './narrow-terms.ts';

/** The access path to the messages of a term, usually an index. */
export type Lead =
  | { readonly by: 'nothing' }
  | { readonly by: 'id'; readonly id: number }
  | { readonly by: 'channel'; readonly channelId: number; readonly isGuarded: boolean }
  | { readonly by: 'channels'; readonly isOne: Prisma.Sql }
  | { readonly by: 'conversation'; readonly conversationId: number }
  | { readonly by: 'direct' }
  | { readonly by: 'sender'; readonly userId: number }
  | { readonly by: 'row'; readonly userId: number; readonly isOne: Prisma.Sql }
  | { readonly by: 'mentioned' }
  | { readonly by: 'resolved' }
  | { readonly by: 'reaction' }
  | { readonly by: 'unread' }
  | { readonly by: 'search'; readonly search: Search };

/** The compiled form of a term, before negation. No condition is ever null. */
export interface Meaning {
  /** The condition, if it depends only on the channel or conversation. Whole channels and conversations are then skipped. */
  readonly ofPlace?: (place: MessagePlace) => Prisma.Sql;
  /** The condition on the message `m`. A term has one of the two conditions, or none if it matches everything. */
  readonly ofMessage?: Prisma.Sql;
  readonly lead?: Lead;
  readonly topic?: string;
  /** The only channel that the term selects. */
  readonly channel?: OwnChannel;
  /** The kind of message that the term selects. No message is of both kinds. */
  readonly kind?: 'channel' | 'direct';
  /** Whether the term selects the whole history of a channel, and not only the messages that the viewer received. */
  readonly opensHistory?: boolean;
  /** Whether the term is about the viewer's own state of a message, so that only messages on the viewer's record can match. */
  readonly isOwn?: boolean;
}

type Operator = (ctx: Ctx, operand: Operand) => Meaning | Promise<Meaning>;

const { sql } = Prisma;
const none = (): Prisma.Sql => sql`false`;
const equal = (column: Prisma.Sql, value: number) => sql`COALESCE(${column} = ${value}, false)`;

/** All operators of a narrow, by the names that `operatorNamed` returns. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  channel: async (ctx, operand) => {
    const channel = await findChannel(ctx, operand);
    if (channel === null) throw new BadNarrowError(`unknown channel ${operand}`);
    return {
      ofPlace: ({ channelId }) => equal(channelId, channel.id),
      lead: { by: 'channel', channelId: channel.id, isGuarded: hasProtectedHistory(channel) },
      kind: 'channel',
      opensHistory: true,
      channel,
    };
  },
  channels: ({ realmId }, operand) => {
    if (operand !== 'public' && operand !== 'web-public')
      throw new BadNarrowError(`unknown channels operand ${operand}`);
    const isOne = operand === 'public' ? sql`NOT pc.invite_only` : sql`pc.is_web_public`;
    return {
      ofPlace: ({ channelId }) =>
        sql`EXISTS (SELECT FROM channel pc WHERE pc.realm_id = ${realmId} AND pc.id = ${channelId} AND ${isOne})`,
      lead: { by: 'channels', isOne },
      kind: 'channel',
      opensHistory: true,
    };
  },
  topic: ({ viewer }, operand) => {
    const topic = topicNamed(viewer.realm, String(operand).trim());
    return {
      ofMessage: sql`(m.channel_id IS NOT NULL AND topic_key(m.topic) = topic_key(${topic}))`,
      kind: 'channel',
      topic,
    };
  },
  sender: async (ctx, operand) => {
    const { id: userId } = await findUser(ctx, operand);
    return { ofMessage: sql`m.sender_id = ${userId}`, lead: { by: 'sender', userId } };
  },
  dm: async (ctx, operand) => {
    const conversation = await findDirect(ctx, operand);
    const ofPlace = ({ conversationId }: MessagePlace) =>
      conversation === null ? none() : equal(conversationId, conversation.id);
    const lead: Lead =
      conversation === null ? { by: 'nothing' } : { by: 'conversation', conversationId: conversation.id };
    return { ofPlace, lead, kind: 'direct' };
  },
  'dm-including': async (ctx, operand) => {
    const user = await findUser(ctx, operand);
    return { ofPlace: ({ conversationId }) => includes(conversationId, user), lead: { by: 'direct' }, kind: 'direct' };
  },
  'group-pm-with': async (ctx, operand) => {
    const user = await findUser(ctx, operand);
    const ofPlace = ({ conversationId }: MessagePlace) => sql`(${includes(conversationId, user)} AND EXISTS (
      SELECT FROM conversation g WHERE g.realm_id = ${ctx.realmId} AND g.id = ${conversationId} AND cardinality(g.member_ids) > 2))`;
    return { ofPlace, lead: { by: 'direct' }, kind: 'direct' };
  },
  is: ({ viewer }, operand) => {
    const state = typeof operand === 'string' && Object.hasOwn(STATES, operand) ? STATES[operand] : undefined;
    if (state === undefined) throw new BadNarrowError(`unknown 'is' operand ${operand}`);
    return { isOwn: operand !== 'resolved', ...state(viewer.id) };
  },
  has: (_ctx, operand) => {
    const part = typeof operand === 'string' && Object.hasOwn(PARTS, operand) ? PARTS[operand] : undefined;
    if (part === undefined) throw new BadNarrowError(`unknown 'has' operand ${operand}`);
    return { ofMessage: part, ...(operand === 'reaction' && { lead: { by: 'reaction' } }) };
  },
  in: ({ viewer }, operand) => {
    if (operand === 'all') return {};
    if (operand !== 'home') throw new BadNarrowError(`unknown 'in' operand ${operand}`);
    return { ofMessage: sql`NOT ${isMutedFor(viewer.id)}` };
  },
  id: (_ctx, operand) => {
    const id = messageIdIn(operand);
    if (id === undefined) throw new BadNarrowError('Invalid message ID');
    return { ofMessage: sql`m.id = ${id}::bigint`, lead: { by: 'id', id } };
  },
  near: () => ({}),
  mentions: async (ctx, operand) => {
    const { id } = await findUser(ctx, operand);
    // The row shows that a mention reached the user; the text shows that the mention was by name.
    const byName = `class="user-mention" data-user-id="${id}"`;
    return {
      ofMessage: sql`(strpos(m.rendered_content, ${byName}) > 0 AND ${hasRow(id, sql`um.mentioned`)})`,
      lead: { by: 'row', userId: id, isOne: sql`um.mentioned` },
    };
  },
  search: async ({ app }, operand) => {
    const search = await parseSearch(app.db, String(operand));
    return { ofMessage: search.matches, lead: { by: 'search', search } };
  },
};

/** Returns the message id in an operand, clamped to `Number.MAX_SAFE_INTEGER`. Undefined if the operand is not an id. */
export function messageIdIn(operand: Operand): number | undefined {
  if (typeof operand === 'string' && !/^\d{1,30}$/.test(operand)) return undefined;
  const id = Number(operand);
  return Number.isInteger(id) ? Math.min(id, Number.MAX_SAFE_INTEGER) : undefined;
}

/** Operands of `is`. */
const STATES: Readonly<Record<string, (userId: number) => Meaning>> = {
  dm: () => DIRECT,
  private: () => DIRECT,
  starred: (userId) => ofRow(userId, sql`um.starred`),
  alerted: (userId) => ofRow(userId, sql`um.has_alert_word`),
  mentioned: (userId) => ({
    ofMessage: sql`(${hasRow(userId, MENTIONED)} OR (m.channel_wildcard AND ${receivedBy(userId)}))`,
    lead: { by: 'mentioned' },
  }),
  unread: (userId) => ({ ofMessage: isUnreadBy(userId), lead: { by: 'unread' } }),
  resolved: () => ({ ofMessage: RESOLVED, lead: { by: 'resolved' } }),
  followed: (userId) => ({ ofMessage: sql`(${policyOf(userId)} = ${literal(FOLLOWED)})` }),
  muted: (userId) => ({ ofMessage: isMutedFor(userId) }),
};

/** Must equal the predicate of the index on a user's mentions. */
export const MENTIONED = sql`(um.mentioned OR um.topic_wildcard_mentioned)`;

/** Direct messages have no topic. The prefix is a literal in the statement so that an index on this expression can be used. */
export const RESOLVED = sql`starts_with(m.topic, ${Prisma.raw(`'${RESOLVED_PREFIX}'`)})`;

const DIRECT: Meaning = {
  ofPlace: ({ conversationId }) => sql`${conversationId} IS NOT NULL`,
  lead: { by: 'direct' },
  kind: 'direct',
};

/** Operands of `has`. */
const PARTS: Readonly<Record<string, Prisma.Sql>> = {
  link: sql`m.has_link`,
  image: sql`m.has_image`,
  attachment: sql`m.has_attachment`,
  reaction: sql`EXISTS (SELECT FROM reaction r WHERE r.realm_id = m.realm_id AND r.message_id = m.id)`,
};

const ofRow = (userId: number, isOne: Prisma.Sql): Meaning => ({
  ofMessage: hasRow(userId, isOne),
  lead: { by: 'row', userId, isOne },
});

const hasRow = (userId: number, isOne: Prisma.Sql) =>
  sql`EXISTS (SELECT FROM user_message um WHERE um.realm_id = m.realm_id AND um.user_id = ${userId} AND um.message_id = m.id AND ${isOne})`;

const includes = (conversationId: Prisma.Sql, { realmId, id }: Pick<User, 'realmId' | 'id'>) => sql`EXISTS (
  SELECT FROM conversation_member o WHERE o.realm_id = ${realmId} AND o.user_id = ${id} AND o.conversation_id = ${conversationId})`;

/** The user's visibility policy for the topic of `m`, as SQL. `INHERITED` if there is none. */
const policyOf = (userId: number) => sql`COALESCE((
  SELECT t.policy FROM user_topic t
  WHERE t.realm_id = m.realm_id AND t.user_id = ${userId} AND t.channel_id = m.channel_id AND topic_key(t.topic) = topic_key(m.topic)), ${literal(INHERITED)})`;

/**
 * Returns SQL for whether the message `m` is muted for the user, by its topic or its channel.
 *
 * @param heedsChannel Whether a muted channel counts.
 */
export const isMutedFor = (userId: number, heedsChannel = true): Prisma.Sql => {
  const byChannel = sql`EXISTS (
    SELECT FROM subscription s WHERE s.realm_id = m.realm_id AND s.user_id = ${userId} AND s.channel_id = m.channel_id AND s.active AND s.is_muted)`;
  return sql`(CASE ${policyOf(userId)} WHEN ${literal(MUTED)} THEN true
    WHEN ${literal(INHERITED)} THEN ${heedsChannel ? byChannel : none()} ELSE false END)`;
};

/** Finds a channel by id or by name, ignoring case. Null if the viewer does not see it. */
async function findChannel(ctx: Ctx, operand: Operand) {
  const { app, viewer } = ctx;
  const rows =
    typeof operand === 'number'
      ? [{ id: operand }]
      : await app.db.$queryRaw<{ id: number }[]>`
          SELECT id FROM channel WHERE realm_id = ${viewer.realm.id} AND lower(name) = lower(${String(operand).trim()})`;
  const [channel] = await visibleAmong(
    ctx,
    rows.map(({ id }) => id),
  );
  return channel ?? null;
}

/** Finds a user by email address or id. */
async function findUser(ctx: Ctx, operand: Operand): Promise<User> {
  const named = typeof operand === 'number' ? { userIds: [operand] } : { emails: [String(operand)] };
  const [user] = await usersNamed(ctx, named, () => `unknown user ${operand}`);
  if (user === undefined) throw new BadNarrowError(`unknown user ${operand}`);
  return user;
}

/** Returns the conversation of exactly these users and the viewer. Null if there is none. */
async function findDirect(ctx: Ctx, operand: Operand): Promise<{ id: number } | null> {
  const named =
    typeof operand === 'object'
      ? { userIds: operand }
      : {
          emails: String(operand)
            .split(',')
            .map((address) => address.trim())
            .filter((address) => address !== ''),
        };
  const users = await usersNamed(ctx, named, () => `unknown user in ${operand}`);
  if (users.length === 0) return null;
  const ids = [...new Set([ctx.viewer.id, ...users.map(({ id }) => id)])].sort((a, b) => a - b);
  return findConversation(ctx.app.db, ctx.realmId, ids);
}

async function usersNamed({ app, viewer }: Ctx, named: Recipients, problem: () => string): Promise<User[]> {
  try {
    return await accessNamed(app.db, viewer, named);
  } catch (error) {
    if (error instanceof BadRequestError) throw new BadNarrowError(problem());
    throw error;
  }
}

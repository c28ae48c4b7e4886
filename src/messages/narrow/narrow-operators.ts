import type { Ctx } from '../../access/context.ts';
import { hasProtectedHistory, type OwnChannel, visibleAmong } from '../../channels/access.ts';
import { RESOLVED_PREFIX, topicNamed } from '../../channels/topic-name.ts';
import { Prisma, type User } from '../../generated/prisma/client.ts';
import { BadRequestError, NotFoundError } from '../../platform/errors.ts';
import { receivedBy } from '../access.ts';
import { accessNamed, findConversation, type Recipients } from '../direct.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import type { MessagePlace } from '../reading.ts';
import { FOLLOWED, INHERITED, literal, MUTED } from '../topic-policies/policies.ts';
import { BadNarrowError } from './errors.ts';
import { parseSearch, type Search } from './narrow-search.ts';
import type { Operand } from './narrow-terms.ts';

/** Access path of a term: how the messages that the term selects can be read quickly, for example through an index. */
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

/** A user with own flags and settings for messages, and their organization. */
interface Owner {
  readonly organizationId: number;
  readonly userId: number;
}

const ownerOf = ({ id, organization }: Ctx['viewer']): Owner => ({ organizationId: organization.id, userId: id });

/** Compiled form of a term of a narrow (message filter), before negation. Its SQL conditions never evaluate to null. */
export interface Meaning {
  /**
   * Builds the SQL condition that the channel or conversation of a message matches the term. If the condition is false, the
   * whole channel or conversation can be skipped.
   */
  readonly ofPlace?: (place: MessagePlace) => Prisma.Sql;
  /** SQL condition on the message `m`. A term has either `ofPlace` or `ofMessage`, or neither if it matches every message. */
  readonly ofMessage?: Prisma.Sql;
  readonly lead?: Lead;
  readonly topic?: string;
  /** Operand of the term, if it is a `has` term that requires a link, an image or an attachment. */
  readonly has?: string;
  /** The channel that the term names. Absent if the term names no channel or several channels. */
  readonly channel?: OwnChannel;
  /** Kind of message, if the term can match only messages of one kind. Otherwise absent. */
  readonly kind?: 'channel' | 'direct';
  /** Whether the term also selects channel messages that the viewer can read although the viewer did not receive them. */
  readonly opensHistory?: boolean;
  /**
   * Whether the term depends on the viewer's own state of a message, such as a flag. Then only messages that meet the condition
   * `holds` of `ReadingRights` can match.
   */
  readonly isOwn?: boolean;
}

type Operator = (ctx: Ctx, operand: Operand) => Meaning | Promise<Meaning>;

const { sql } = Prisma;
const none = (): Prisma.Sql => sql`false`;
const equal = (column: Prisma.Sql, value: number) => sql`COALESCE(${column} = ${value}, false)`;

/** Functions that compile a term of a narrow, by the current name of the operator (see `operatorNamed`). */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  channel: async (ctx, operand) => {
    const channel = await findChannel(ctx, operand);
    if (channel === null) {
      const schemaDescription = typeof operand === 'number' ? 'unknown channel' : undefined;
      throw new BadNarrowError(`unknown channel ${operand}`, 'operator', { schemaDescription });
    }
    return {
      ofPlace: ({ channelId }) => equal(channelId, channel.id),
      lead: { by: 'channel', channelId: channel.id, isGuarded: hasProtectedHistory(channel) },
      kind: 'channel',
      opensHistory: true,
      channel,
    };
  },
  channels: ({ organizationId }, operand) => {
    if (operand !== 'public' && operand !== 'web-public')
      throw new BadNarrowError(`unknown channels operand ${operand}`);
    const isOne = operand === 'public' ? sql`NOT pc.invite_only` : sql`pc.is_web_public`;
    return {
      ofPlace: ({ channelId }) =>
        sql`EXISTS (SELECT FROM channel pc WHERE pc.realm_id = ${organizationId} AND pc.id = ${channelId} AND ${isOne})`,
      lead: { by: 'channels', isOne },
      kind: 'channel',
      opensHistory: true,
    };
  },
  topic: ({ viewer }, operand) => {
    const topic = topicNamed(viewer.organization, String(operand).trim());
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
      SELECT FROM conversation g WHERE g.realm_id = ${ctx.organizationId} AND g.id = ${conversationId} AND cardinality(g.member_ids) > 2))`;
    return { ofPlace, lead: { by: 'direct' }, kind: 'direct' };
  },
  is: ({ viewer }, operand) => {
    const state = typeof operand === 'string' && Object.hasOwn(STATES, operand) ? STATES[operand] : undefined;
    if (state === undefined) throw new BadNarrowError(`unknown 'is' operand ${operand}`);
    return { isOwn: operand !== 'resolved', ...state(ownerOf(viewer)) };
  },
  has: ({ organizationId }, operand) => {
    if (operand === 'reaction') return { ofMessage: hasReaction(organizationId), lead: { by: 'reaction' } };
    const part = typeof operand === 'string' && Object.hasOwn(PARTS, operand) ? PARTS[operand] : undefined;
    if (part === undefined) throw new BadNarrowError(`unknown 'has' operand ${operand}`);
    return { ofMessage: part, has: String(operand) };
  },
  in: ({ viewer }, operand) => {
    if (operand === 'all') return {};
    if (operand !== 'home') throw new BadNarrowError(`unknown 'in' operand ${operand}`);
    return { ofMessage: sql`NOT ${isMutedFor(ownerOf(viewer))}` };
  },
  id: (_ctx, operand) => {
    const id = messageIdIn(operand);
    if (id === undefined) throw new BadNarrowError('Invalid message ID');
    return { ofMessage: sql`m.id = ${id}::bigint`, lead: { by: 'id', id } };
  },
  near: () => ({}),
  mentions: async (ctx, operand) => {
    const { id } = await findUser(ctx, operand);
    const user = { organizationId: ctx.organizationId, userId: id };
    // The row in `user_message` shows that the user was mentioned and received the message. The HTML shows that the mention was
    // by name.
    const byName = `class="user-mention" data-user-id="${id}"`;
    return {
      ofMessage: sql`(strpos(m.rendered_content, ${byName}) > 0 AND ${hasRow(user, sql`um.mentioned`)})`,
      lead: { by: 'row', userId: id, isOne: sql`um.mentioned` },
    };
  },
  search: async ({ work, organizationId }, operand) => {
    const search = await parseSearch(work.db, organizationId, String(operand));
    return { ofMessage: search.matches, lead: { by: 'search', search } };
  },
};

/**
 * Parses the message id in an operand. Returns `Number.MAX_SAFE_INTEGER` for a larger id. Undefined if the operand is neither
 * an integer nor a string of at most 30 digits.
 */
export function messageIdIn(operand: Operand): number | undefined {
  if (typeof operand === 'string' && !/^\d{1,30}$/.test(operand)) return undefined;
  const id = Number(operand);
  return Number.isInteger(id) ? Math.min(id, Number.MAX_SAFE_INTEGER) : undefined;
}

/** Functions that compile a term with the operator `is`, by operand. */
const STATES: Readonly<Record<string, (owner: Owner) => Meaning>> = {
  dm: () => DIRECT,
  private: () => DIRECT,
  starred: (owner) => ofRow(owner, sql`um.starred`),
  alerted: (owner) => ofRow(owner, sql`um.has_alert_word`),
  mentioned: (owner) => ({
    ofMessage: sql`(${hasRow(owner, MENTIONED)} OR (m.channel_wildcard AND ${receivedBy(owner.organizationId, owner.userId)}))`,
    lead: { by: 'mentioned' },
  }),
  unread: ({ organizationId, userId }) => ({ ofMessage: isUnreadBy(organizationId, userId), lead: { by: 'unread' } }),
  resolved: () => ({ ofMessage: RESOLVED, lead: { by: 'resolved' } }),
  followed: (owner) => ({ ofMessage: sql`(${policyOf(owner)} = ${literal(FOLLOWED)})` }),
  muted: (owner) => ({ ofMessage: isMutedFor(owner) }),
};

/**
 * SQL condition that the row `um` of `user_message` records a mention of its user, except by a channel wildcard. The condition
 * must be identical to the predicate of the partial index on mentions, so that the planner can use that index.
 */
export const MENTIONED = sql`(um.mentioned OR um.topic_wildcard_mentioned)`;

/**
 * SQL condition that the topic of `m` is resolved. The prefix is a literal in the statement, so that the planner can use the
 * index on this expression. Direct messages have no topic and never match.
 */
export const RESOLVED = sql`starts_with(m.topic, ${Prisma.raw(`'${RESOLVED_PREFIX}'`)})`;

const DIRECT: Meaning = {
  ofPlace: ({ conversationId }) => sql`${conversationId} IS NOT NULL`,
  lead: { by: 'direct' },
  kind: 'direct',
};

/** SQL conditions for terms with the operator `has`, by operand. */
const PARTS: Readonly<Record<string, Prisma.Sql>> = {
  link: sql`m.has_link`,
  image: sql`m.has_image`,
  attachment: sql`m.has_attachment`,
};

const hasReaction = (organizationId: number) =>
  sql`EXISTS (SELECT FROM reaction r WHERE r.realm_id = ${organizationId} AND r.message_id = m.id)`;

const ofRow = (owner: Owner, isOne: Prisma.Sql): Meaning => ({
  ofMessage: hasRow(owner, isOne),
  lead: { by: 'row', userId: owner.userId, isOne },
});

const hasRow = ({ organizationId, userId }: Owner, isOne: Prisma.Sql) =>
  sql`EXISTS (SELECT FROM user_message um WHERE um.realm_id = ${organizationId} AND um.user_id = ${userId} AND um.message_id = m.id AND ${isOne})`;

const includes = (
  conversationId: Prisma.Sql,
  { organizationId, id }: Pick<User, 'organizationId' | 'id'>,
) => sql`EXISTS (
  SELECT FROM conversation_member o WHERE o.realm_id = ${organizationId} AND o.user_id = ${id} AND o.conversation_id = ${conversationId})`;

/**
 * Builds SQL for the user's visibility policy for the topic of `m`. Its value is `INHERITED` if the user has no policy for the
 * topic.
 */
const policyOf = ({ organizationId, userId }: Owner) => sql`COALESCE((
  SELECT t.policy FROM user_topic t
  WHERE t.realm_id = ${organizationId} AND t.user_id = ${userId} AND t.channel_id = m.channel_id AND topic_key(t.topic) = topic_key(m.topic)), ${literal(INHERITED)})`;

/**
 * Builds the SQL condition that the message `m` is muted for the user, by its topic or its channel.
 *
 * @param heedsChannel Whether a muted channel mutes its messages. If false, only the user's policies for topics are considered.
 */
export const isMutedFor = (owner: Owner, heedsChannel = true): Prisma.Sql => {
  const { organizationId, userId } = owner;
  const byChannel = sql`EXISTS (
    SELECT FROM subscription s WHERE s.realm_id = ${organizationId} AND s.user_id = ${userId} AND s.channel_id = m.channel_id AND s.active AND s.is_muted)`;
  return sql`(CASE ${policyOf(owner)} WHEN ${literal(MUTED)} THEN true
    WHEN ${literal(INHERITED)} THEN ${heedsChannel ? byChannel : none()} ELSE false END)`;
};

/** Finds a channel by id or by name, ignoring case. Null if the channel does not exist or the viewer cannot see it. */
export async function findChannel(ctx: Ctx, operand: Operand) {
  const { work, viewer } = ctx;
  const rows =
    typeof operand === 'number'
      ? [{ id: operand }]
      : await work.db.$queryRaw<{ id: number }[]>`
          SELECT id FROM channel WHERE realm_id = ${viewer.organization.id} AND lower(name) = lower(${String(operand).trim()})`;
  const [channel] = await visibleAmong(
    ctx,
    rows.map(({ id }) => id),
  );
  return channel ?? null;
}

/**
 * Finds a user by email address or id.
 *
 * @throws BadNarrowError if the user does not exist.
 */
export async function findUser(ctx: Ctx, operand: Operand): Promise<User> {
  const named = typeof operand === 'number' ? { userIds: [operand] } : { emails: [String(operand)] };
  const [user] = await usersNamed(ctx, named, () => `unknown user ${operand}`);
  if (user === undefined) {
    throw new BadNarrowError(`unknown user ${operand}`, 'operator', { schemaDescription: 'unknown user' });
  }
  return user;
}

/**
 * Finds the conversation whose members are exactly the users in the operand and the viewer. Null if there is no such
 * conversation, or the operand names no user.
 *
 * @throws BadNarrowError if a user does not exist.
 */
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
  return findConversation(ctx.work.db, ctx.organizationId, ids);
}

async function usersNamed({ work, viewer }: Ctx, named: Recipients, problem: () => string): Promise<User[]> {
  try {
    return await accessNamed(work.db, viewer, named);
  } catch (error) {
    if (!(error instanceof BadRequestError)) throw error;
    const missingId = error instanceof NotFoundError ? error.object?.id : undefined;
    throw new BadNarrowError(problem(), 'operator', {
      schemaDescription: 'userIds' in named ? 'unknown user' : undefined,
      within: missingId === undefined || !('userIds' in named) ? '' : `[${named.userIds.indexOf(missingId)}]`,
    });
  }
}

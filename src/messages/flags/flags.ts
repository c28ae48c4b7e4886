import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { readBy } from '../../channels/access.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireWithin } from '../../platform/totals.ts';
import { hasProtectedHistory, invalidMessage, isMessageId, receivedBy } from '../access.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { type Range, type Selection, selectIds } from '../narrow/narrow-select.ts';
import type { NarrowTerm } from '../narrow/narrow-terms.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import { isUnreadBy } from '../user-flags.ts';
import { flagAdded, flagRemoved, MESSAGE_FLAGS, type MessageFlag } from './events.ts';
import { lockReaders, setRead } from './read-state.ts';

export type FlagOperation = 'add' | 'remove';

/** What is to become of a flag. */
export interface FlagChange {
  readonly operation: FlagOperation;
  readonly flag: MessageFlag;
}

/** Flags the service sets. */
const FIXED_FLAGS = [
  ...['mentioned', 'stream_wildcard_mentioned', 'topic_wildcard_mentioned', 'wildcard_mentioned', 'has_alert_word'],
  'historical',
];

/** In one request. */
const MAX_MESSAGES = 5_000;

/**
 * A flag change, from the operation and the flag that a client named.
 *
 * @throws BadRequestError when there is no such operation or flag, or the flag is not the user's to change.
 */
export function requireFlagChange(operation: string, flag: string): FlagChange {
  if (operation !== 'add' && operation !== 'remove') {
    throw new BadRequestError(`Invalid message flag operation: '${operation}'`);
  }
  const known = MESSAGE_FLAGS.find((name) => name === flag);
  if (known !== undefined) return { operation, flag: known };
  throw new BadRequestError(FIXED_FLAGS.includes(flag) ? `Flag not editable: '${flag}'` : `Invalid flag: '${flag}'`);
}

/** What became of a change of flags. */
export interface FlagsChanged {
  /** The messages that are different now. */
  readonly changedIds: readonly number[];
  /** Channels whose messages were left as they were, because the user is not subscribed to them. Ascending. */
  readonly skippedChannelIds: readonly number[];
}

/**
 * Gives messages a flag for the viewer, or takes it, and tells the viewer's clients of those that change. Messages of a
 * channel's history that the viewer never received can be taken up so. Channel messages become unread only where the
 * viewer is subscribed.
 *
 * @throws BadRequestError when there are more than 5,000, or the viewer neither received one of them where it stands, nor may
 *   read it.
 * @throws TotalReachedError when there would be more than 100,000 starred ones.
 */
export async function updateFlags(ctx: Ctx, messageIds: readonly number[], change: FlagChange): Promise<FlagsChanged> {
  if (messageIds.length > MAX_MESSAGES) {
    throw new BadRequestError(`Too many messages requested (maximum ${MAX_MESSAGES}).`);
  }
  if (messageIds.length === 0) return { changedIds: [], skippedChannelIds: [] };
  return transact(ctx, async (tx, emit) => {
    await lockReaders(tx, ctx.realmId, [ctx.viewer.id]);
    return changeFlags(tx, emit, ctx, await requireMessages(tx, ctx, messageIds), change);
  });
}

/** Messages of a narrow around an anchor. */
export interface NarrowRange extends Range {
  readonly narrow: readonly NarrowTerm[];
}

/** What became of a change of flags of messages that were looked for. */
export interface NarrowChanged extends FlagsChanged {
  /** What was found: of these some had the flag already, or did not. */
  readonly selection: Selection;
}

/**
 * As `updateFlags`, of the messages of a narrow around an anchor.
 *
 * @throws BadNarrowError when the narrow is none.
 * @throws BadRequestError when more than 5,000 messages are asked for, or the anchor is left out in the midst of a range.
 */
export async function updateFlagsInNarrow(
  ctx: Ctx,
  { narrow, ...range }: NarrowRange,
  change: FlagChange,
): Promise<NarrowChanged> {
  if (range.numBefore < 0 || range.numAfter < 0) throw new BadRequestError('A number of messages is too small');
  const selection = await selectIds(ctx, await compileNarrow(ctx, narrow), range);
  if (selection.ids.length === 0) return { selection, changedIds: [], skippedChannelIds: [] };
  return transact(ctx, async (tx, emit) => {
    await lockReaders(tx, ctx.realmId, [ctx.viewer.id]);
    // Without those that were deleted since they were found.
    const rows = await readMessages(tx, ctx, selection.ids);
    return { selection, ...(await changeFlags(tx, emit, ctx, rows, change)) };
  });
}

/** As part of a change that holds the user. That they may read the messages is for the caller to know. */
async function changeFlags(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  rows: readonly FlaggedMessage[],
  { operation, flag }: FlagChange,
): Promise<FlagsChanged> {
  const holder = { realmId: ctx.realmId, userId: ctx.viewer.id };
  if (flag !== 'read') {
    const changed = operation === 'add' ? await setFlag(tx, ctx, flag, rows) : await clearFlag(tx, ctx, flag, rows);
    if (operation === 'add' && flag === 'starred' && changed.length > 0) await requireRoomForStars(tx, ctx);
    announce(emit, ctx, { operation, flag }, changed);
    return { changedIds: changed.map(({ id }) => id), skippedChannelIds: [] };
  }
  const isRead = operation === 'add';
  const skipped = isRead ? [] : rows.filter((row) => row.channelId !== null && !row.isSubscribed);
  const skippedChannelIds = [...new Set(skipped.map(({ channelId }) => channelId ?? 0))].sort((a, b) => a - b);
  const changed = rows.filter((row) => row.isUnread === isRead && !skipped.includes(row));
  const changedIds = changed.map(({ id }) => id);
  await setRead(tx, holder, changedIds, isRead);
  announce(emit, ctx, { operation, flag }, changed);
  return { changedIds, skippedChannelIds };
}

/** A registration lists them all. The user is locked. */
async function requireRoomForStars(tx: Tx, { viewer }: Ctx): Promise<void> {
  requireWithin(
    'starred_messages',
    await tx.userMessage.count({ where: { realmId: viewer.realm.id, userId: viewer.id, starred: true } }),
  );
}

function announce(emit: Emit, { viewer }: Ctx, { operation, flag }: FlagChange, changed: readonly FlaggedMessage[]) {
  if (changed.length === 0) return;
  const ids = changed.map(({ id }) => id);
  const audience = users([viewer.id]);
  const details = flag === 'read' ? { details: changed.map(detailsFor(viewer.id)) } : {};
  const events = operation === 'add' ? flagAdded(flag, ids) : flagRemoved(flag, { ids, ...details }, viewer.realm);
  for (const event of events) emit(event, audience);
}

const detailsFor = (userId: number) => (row: FlaggedMessage) => ({
  id: row.id,
  channelId: row.channelId,
  topic: row.topic,
  otherIds: row.memberIds?.filter((id) => id !== userId) ?? null,
  isMentioned: row.mentioned || (row.wildcard && !row.isMuted),
  isMuted: row.isMuted,
});

/** A message, as far as one user's flags go. */
interface FlaggedMessage {
  readonly id: number;
  /** Null for a direct message. */
  readonly channelId: number | null;
  readonly topic: string;
  readonly memberIds: readonly number[] | null;
  readonly received: boolean;
  /** Whether it stands in another channel than it was sent to. */
  readonly isMoved: boolean;
  readonly isUnread: boolean;
  readonly isSubscribed: boolean;
  readonly isMuted: boolean;
  readonly mentioned: boolean;
  readonly wildcard: boolean;
}

/** The messages, once each, all of which the viewer received where they stand, or may read. */
async function requireMessages(tx: Tx, ctx: Ctx, messageIds: readonly number[]): Promise<FlaggedMessage[]> {
  const ids = [...new Set(messageIds)];
  if (!ids.every(isMessageId)) throw invalidMessage();
  const messages = await readMessages(tx, ctx, ids);
  if (messages.length < ids.length) throw invalidMessage();
  // A moved message: not everybody who received it may read it where it is.
  const others = messages.filter(({ received, isMoved }) => !received || isMoved);
  await requireReadable(tx, ctx.viewer, ctx.app.now(), others);
  return messages;
}

/** Those of the messages that are there. */
async function readMessages(tx: Tx, { realmId, viewer }: Ctx, ids: readonly number[]): Promise<FlaggedMessage[]> {
  const userId = viewer.id;
  const rows = await tx.$queryRaw<(Omit<FlaggedMessage, 'id'> & { readonly id: bigint })[]>`
    SELECT m.id, m.channel_id AS "channelId", m.topic, c.member_ids AS "memberIds", ${receivedBy(userId)} AS received,
           COALESCE(m.channel_id <> m.sent_channel_id, false) AS "isMoved", ${isUnreadBy(userId)} AS "isUnread", s.user_id IS NOT NULL AS "isSubscribed",
           ${IS_TOPIC_MUTED} AS "isMuted",
           COALESCE(um.mentioned, false) AS mentioned,
           COALESCE(um.topic_wildcard_mentioned, false) OR (m.channel_wildcard AND ${receivedBy(userId)}) AS wildcard
    FROM message m
    LEFT JOIN conversation c ON c.realm_id = m.realm_id AND c.id = m.conversation_id
    LEFT JOIN subscription s ON s.realm_id = m.realm_id AND s.user_id = ${userId} AND s.channel_id = m.channel_id AND s.active
    LEFT JOIN user_topic t ON t.realm_id = m.realm_id AND t.user_id = ${userId} AND t.channel_id = m.channel_id AND lower(t.topic) = lower(m.topic)
    LEFT JOIN user_message um ON um.realm_id = m.realm_id AND um.user_id = ${userId} AND um.message_id = m.id
    WHERE m.realm_id = ${realmId} AND m.id = ANY(${[...ids]}::bigint[])`;
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}

/** @throws BadRequestError unless the viewer may read all of the messages, of which the direct ones are not theirs. */
async function requireReadable(
  tx: Tx,
  viewer: Ctx['viewer'],
  now: Date,
  messages: readonly FlaggedMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  const ids = [...new Set(messages.flatMap(({ channelId }) => channelId ?? []))];
  const readable = await tx.channel.findMany({
    where: { AND: [{ id: { in: ids } }, readBy(await channelActor(tx, viewer, now))] },
  });
  const isGuarded = new Map(readable.map((channel) => [channel.id, hasProtectedHistory(channel)]));
  // Nobody who did not receive a direct message may read it.
  const mayRead = ({ channelId, received }: FlaggedMessage) => {
    const guarded = isGuarded.get(channelId ?? 0);
    return guarded !== undefined && (received || !guarded);
  };
  if (!messages.every(mayRead)) throw invalidMessage();
}

const columnOf = (flag: 'starred' | 'collapsed') => Prisma.raw(flag);

/** @returns The messages that did not have the flag. */
async function setFlag(
  tx: Tx,
  { realmId, viewer }: Ctx,
  flag: 'starred' | 'collapsed',
  rows: readonly FlaggedMessage[],
): Promise<FlaggedMessage[]> {
  const column = columnOf(flag);
  const changed = await tx.$queryRaw<{ id: bigint }[]>`
    INSERT INTO user_message (realm_id, user_id, message_id, ${column}, historical)
    SELECT ${realmId}, ${viewer.id}, there.id, true, NOT there.received FROM (
      SELECT m.id, ${receivedBy(viewer.id)} AS received FROM message m
      WHERE m.realm_id = ${realmId} AND m.id = ANY(${rows.map(({ id }) => id)}::bigint[]) FOR KEY SHARE OF m) AS there
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET ${column} = true WHERE NOT user_message.${column}
    RETURNING message_id AS id`;
  return among(rows, changed);
}

/** @returns The messages that had the flag. A row that says nothing any more goes. */
async function clearFlag(
  tx: Tx,
  { realmId, viewer }: Ctx,
  flag: 'starred' | 'collapsed',
  rows: readonly FlaggedMessage[],
): Promise<FlaggedMessage[]> {
  const column = columnOf(flag);
  const changed = await tx.$queryRaw<{ id: bigint }[]>`
    UPDATE user_message SET ${column} = false
    WHERE realm_id = ${realmId} AND user_id = ${viewer.id} AND message_id = ANY(${rows.map(({ id }) => id)}::bigint[]) AND ${column}
    RETURNING message_id AS id`;
  if (changed.length > 0) {
    await tx.$executeRaw`
      DELETE FROM user_message
      WHERE realm_id = ${realmId} AND user_id = ${viewer.id} AND message_id = ANY(${changed.map(({ id }) => id)}::bigint[]) AND NOT (starred
        OR collapsed OR mentioned OR topic_wildcard_mentioned OR has_alert_word OR historical)`;
  }
  return among(rows, changed);
}

function among(rows: readonly FlaggedMessage[], changed: readonly { readonly id: bigint }[]): FlaggedMessage[] {
  const ids = new Set(changed.map(({ id }) => Number(id)));
  return rows.filter(({ id }) => ids.has(id));
}

import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { hasProtectedHistory, readBy } from '../../channels/access.ts';
import { holdRolesAndShareChannels } from '../../channels/locks.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ValidationError } from '../../platform/errors.ts';
import { requireWithin } from '../../platform/totals.ts';
import { invalidMessage, isMessageId, receivedBy } from '../access.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { serializationFailure } from '../locks.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { type Range, type Selection, selectIds } from '../narrow/narrow-select.ts';
import type { NarrowTerm } from '../narrow/narrow-terms.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import { type FlaggedPlace, flagAdded, flagRemoved, MESSAGE_FLAGS, type MessageFlag } from './events.ts';
import { lockReaders, setRead } from './read-state.ts';

export type FlagOperation = 'add' | 'remove';

/** A flag of messages, and whether the flag is to be added or removed. */
export interface FlagChange {
  readonly operation: FlagOperation;
  readonly flag: MessageFlag;
}

/** Flags that only the service sets. Requests to change them are refused. */
const FIXED_FLAGS = [
  ...['mentioned', 'stream_wildcard_mentioned', 'topic_wildcard_mentioned', 'wildcard_mentioned', 'has_alert_word'],
  'historical',
];

/** Maximum number of messages whose flags one request can change. Larger requests are refused with `ValidationError`. */
const MAX_MESSAGES = 5_000;

/**
 * Validates the operation and the flag of a request, and returns them.
 *
 * @throws ValidationError if the operation or the flag is unknown, or if users cannot change the flag.
 */
export function requireFlagChange(operation: string, flag: string): FlagChange {
  if (operation !== 'add' && operation !== 'remove') {
    throw new ValidationError(`Invalid message flag operation: '${operation}'`, {
      parameter: 'op',
      value: operation,
    });
  }
  const known = MESSAGE_FLAGS.find((name) => name === flag);
  if (known !== undefined) return { operation, flag: known };
  if (FIXED_FLAGS.includes(flag)) {
    throw new ValidationError(`Flag not editable: '${flag}'`, {
      parameter: 'flag',
      schemaMessage: 'Users cannot change this flag.',
    });
  }
  throw new ValidationError(`Invalid flag: '${flag}'`, { parameter: 'flag', value: flag });
}

/** Result of adding a flag to messages or removing it. */
export interface FlagsChanged {
  /** Ids of the messages whose flag changed. */
  readonly changedIds: readonly number[];
  /** Ids of the channels whose messages were skipped because the user is not subscribed to them. Ascending. */
  readonly skippedChannelIds: readonly number[];
}

/**
 * Adds a flag of the viewer to messages, or removes it, and notifies the viewer's clients of the messages that changed. Channel
 * messages that the viewer did not receive can be flagged too. Channel messages become unread only if the viewer is subscribed.
 *
 * @throws ValidationError if there are more than 5,000 messages.
 * @throws NotFoundError if a message does not exist, or the viewer has no access to it. Access means that the viewer can read
 *   the message or, unless the change adds stars, received it in its current channel.
 * @throws TotalReachedError if the viewer would have more than 100,000 starred messages.
 */
export async function updateFlags(ctx: Ctx, messageIds: readonly number[], change: FlagChange): Promise<FlagsChanged> {
  if (messageIds.length > MAX_MESSAGES) {
    throw new ValidationError(`Too many messages requested (maximum ${MAX_MESSAGES}).`, {
      parameter: 'messages',
      maximum: MAX_MESSAGES,
    });
  }
  if (messageIds.length === 0) return { changedIds: [], skippedChannelIds: [] };
  return transact(ctx, async (tx, emit) => {
    const lockedChannels = isStarring(change) ? await lockChannels(tx, ctx.organizationId, messageIds) : undefined;
    await lockReaders(tx, ctx.organizationId, [ctx.viewer.id]);
    return changeFlags(tx, emit, ctx, await requireMessages(tx, ctx, messageIds, lockedChannels), change);
  });
}

/** A narrow (message filter), an anchor, and the numbers of messages before and after the anchor. */
export interface NarrowRange extends Range {
  readonly narrow: readonly NarrowTerm[];
}

/** Result of adding a flag to the messages of a narrow or removing it. */
export interface NarrowChanged extends FlagsChanged {
  /** Ids of the messages that were found, and the anchor. Includes messages whose flag did not change. */
  readonly selection: Selection;
}

/**
 * Adds a flag of the viewer to the messages of a narrow around an anchor, or removes it, and notifies the viewer's clients of
 * the messages that changed. Channel messages become unread only if the viewer is subscribed.
 *
 * @throws BadNarrowError if the narrow is invalid.
 * @throws ValidationError if `numBefore` or `numAfter` is negative, or if their sum is more than 5,000.
 * @throws ValidationError if the anchor is excluded although messages on both sides of the anchor are requested.
 * @throws TotalReachedError if the viewer would have more than 100,000 starred messages.
 */
export async function updateFlagsInNarrow(
  ctx: Ctx,
  { narrow, ...range }: NarrowRange,
  change: FlagChange,
): Promise<NarrowChanged> {
  if (range.numBefore < 0 || range.numAfter < 0) {
    throw new ValidationError('numBefore and numAfter must be at least 0', {
      ...(range.numBefore < 0
        ? { parameter: 'num_before', value: range.numBefore }
        : { parameter: 'num_after', value: range.numAfter }),
      minimum: 0,
      schemaMessage: 'The counts before and after the anchor must be at least 0',
    });
  }
  const selection = await selectIds(ctx, await compileNarrow(ctx, narrow), range);
  if (selection.ids.length === 0) return { selection, changedIds: [], skippedChannelIds: [] };
  return transact(ctx, async (tx, emit) => {
    const lockedChannels = isStarring(change) ? await lockChannels(tx, ctx.organizationId, selection.ids) : undefined;
    await lockReaders(tx, ctx.organizationId, [ctx.viewer.id]);
    // `readMessages` omits messages that were deleted since they were found.
    const found = await readMessages(tx, ctx, selection.ids, lockedChannels);
    const rows = lockedChannels === undefined ? found : await readableOf(tx, ctx.viewer, ctx.app.now(), found);
    return { selection, ...(await changeFlags(tx, emit, ctx, rows, change)) };
  });
}

/**
 * Returns whether a change adds the flag `starred`. Such a change locks the channels of the messages, so that the viewer cannot
 * lose access to a message before the flag is stored.
 */
const isStarring = ({ operation, flag }: FlagChange): boolean => operation === 'add' && flag === 'starred';

/** Ids of channels that the transaction has locked. While they are locked, users cannot lose access to them. */
type LockedChannels = ReadonlySet<number>;

async function lockChannels(tx: Tx, organizationId: number, messageIds: readonly number[]): Promise<LockedChannels> {
  const rows = await tx.$queryRaw<{ channel_id: number }[]>`
    SELECT DISTINCT channel_id FROM message
    WHERE realm_id = ${organizationId} AND id = ANY(${messageIds.filter(isMessageId)}::bigint[]) AND channel_id IS NOT NULL`;
  const channelIds = rows.map(({ channel_id }) => channel_id);
  if (channelIds.length > 0) await holdRolesAndShareChannels(tx, organizationId, channelIds);
  return new Set(channelIds);
}

/**
 * Changes flags in a transaction that has locked the user. The caller has checked access to the messages.
 *
 * @throws TotalReachedError if the user would have too many starred messages.
 */
async function changeFlags(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  rows: readonly FlaggedMessage[],
  { operation, flag }: FlagChange,
): Promise<FlagsChanged> {
  const holder = { organizationId: ctx.organizationId, userId: ctx.viewer.id };
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

/**
 * Checks that the viewer has at most 100,000 starred messages. The caller must have locked the viewer's row.
 *
 * @throws TotalReachedError if the viewer has more.
 */
async function requireRoomForStars(tx: Tx, { viewer }: Ctx): Promise<void> {
  requireWithin(
    'starred_messages',
    await tx.userMessage.count({ where: { organizationId: viewer.organization.id, userId: viewer.id, starred: true } }),
  );
}

function announce(emit: Emit, { viewer }: Ctx, { operation, flag }: FlagChange, changed: readonly FlaggedMessage[]) {
  if (changed.length === 0) return;
  const ids = changed.map(({ id }) => id);
  const audience = users([viewer.id]);
  const details = flag === 'read' ? { details: changed.map(detailsFor(viewer.id)) } : {};
  const byId = new Map(changed.map((row) => [row.id, row]));
  const placeOf = flag === 'read' ? (id: number) => byId.get(id) as FlaggedMessage : undefined;
  const events =
    operation === 'add' ? flagAdded(flag, ids, placeOf) : flagRemoved(flag, { ids, ...details }, viewer.organization);
  for (const event of events) emit(event, audience);
}

const detailsFor = (userId: number) => (row: FlaggedMessage) => ({
  id: row.id,
  channelId: row.channelId,
  topic: row.topic,
  conversationId: row.conversationId,
  otherIds: row.memberIds?.filter((id) => id !== userId) ?? null,
  isMentioned: row.mentioned || (row.wildcard && !row.isMuted),
  isMuted: row.isMuted,
});

/** A message, with the properties on which one user's flags of it depend. */
interface FlaggedMessage extends FlaggedPlace {
  readonly id: number;
  readonly memberIds: readonly number[] | null;
  readonly received: boolean;
  /** Whether the message is in a different channel than the one to which it was sent. */
  readonly isMoved: boolean;
  readonly isUnread: boolean;
  readonly isSubscribed: boolean;
  readonly isMuted: boolean;
  readonly mentioned: boolean;
  readonly wildcard: boolean;
}

/**
 * Reads the messages, without duplicates, and checks that the viewer has access to each of them. The viewer has access if they
 * received the message in its current channel or can read it.
 *
 * @param lockedChannels Locked channels. If given, the viewer must be able to read all of the messages.
 * @throws NotFoundError for the first message that does not exist or to which the viewer has no access. The error does not
 *   depend on which of the two is true.
 */
async function requireMessages(
  tx: Tx,
  ctx: Ctx,
  messageIds: readonly number[],
  lockedChannels: LockedChannels | undefined,
): Promise<FlaggedMessage[]> {
  const ids = [...new Set(messageIds)];
  const messages = await readMessages(tx, ctx, ids.filter(isMessageId), lockedChannels);
  // Users who received a message may not be able to read it after a move to another channel.
  const others =
    lockedChannels === undefined ? messages.filter(({ received, isMoved }) => !received || isMoved) : messages;
  const readable = await readableOf(tx, ctx.viewer, ctx.app.now(), others);
  if (messages.length === ids.length && readable.length === others.length) return messages;
  const [checked, passed] = [new Set(others), new Set(readable)];
  const accessible = new Set(
    messages.filter((message) => !checked.has(message) || passed.has(message)).map(({ id }) => id),
  );
  throw invalidMessage(ids.find((id) => !accessible.has(id)) ?? 0);
}

/**
 * Fetches the given messages. Omits those that no longer exist.
 *
 * @param lockedChannels Locked channels. If given, the messages are also locked, so that they cannot be moved.
 * @throws A serialization failure (40001) if a message is in a channel that is not in `lockedChannels`.
 */
async function readMessages(
  tx: Tx,
  { organizationId, viewer }: Ctx,
  ids: readonly number[],
  lockedChannels?: LockedChannels,
): Promise<FlaggedMessage[]> {
  const userId = viewer.id;
  if (lockedChannels !== undefined) {
    await tx.$queryRaw`
      SELECT 1 AS held FROM message WHERE realm_id = ${organizationId} AND id = ANY(${[...ids]}::bigint[]) ORDER BY id FOR SHARE`;
  }
  const rows = await tx.$queryRaw<(Omit<FlaggedMessage, 'id'> & { readonly id: bigint })[]>`
    SELECT m.id, m.channel_id AS "channelId", m.topic, m.conversation_id AS "conversationId", c.member_ids AS "memberIds", ${receivedBy(organizationId, userId)} AS received,
           COALESCE(m.channel_id <> m.sent_channel_id, false) AS "isMoved", ${isUnreadBy(organizationId, userId)} AS "isUnread", s.user_id IS NOT NULL AS "isSubscribed",
           ${IS_TOPIC_MUTED} AS "isMuted",
           COALESCE(um.mentioned, false) AS mentioned,
           COALESCE(um.topic_wildcard_mentioned, false) OR (m.channel_wildcard AND ${receivedBy(organizationId, userId)}) AS wildcard
    FROM message m
    LEFT JOIN conversation c ON c.realm_id = m.realm_id AND c.id = m.conversation_id
    LEFT JOIN subscription s ON s.realm_id = m.realm_id AND s.user_id = ${userId} AND s.channel_id = m.channel_id AND s.active
    LEFT JOIN user_topic t ON t.realm_id = m.realm_id AND t.user_id = ${userId} AND t.channel_id = m.channel_id AND topic_key(t.topic) = topic_key(m.topic)
    LEFT JOIN user_message um ON um.realm_id = m.realm_id AND um.user_id = ${userId} AND um.message_id = m.id
    WHERE m.realm_id = ${organizationId} AND m.id = ANY(${[...ids]}::bigint[])`;
  const isHeld = ({ channelId }: Pick<FlaggedMessage, 'channelId'>) =>
    channelId === null || lockedChannels?.has(channelId);
  if (lockedChannels !== undefined && !rows.every(isHeld)) throw serializationFailure();
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}

/** Returns the given messages without those that the viewer cannot read. */
async function readableOf(
  tx: Tx,
  viewer: Ctx['viewer'],
  now: Date,
  messages: readonly FlaggedMessage[],
): Promise<FlaggedMessage[]> {
  if (messages.length === 0) return [];
  const ids = [...new Set(messages.flatMap(({ channelId }) => channelId ?? []))];
  const readable = await tx.channel.findMany({
    where: { AND: [{ id: { in: ids } }, readBy(await channelActor(tx, viewer, now))] },
  });
  const isGuarded = new Map(readable.map((channel) => [channel.id, hasProtectedHistory(channel)]));
  // Only users who received a direct message can read it.
  const mayRead = ({ channelId, received }: FlaggedMessage) => {
    if (channelId === null) return received;
    const guarded = isGuarded.get(channelId);
    return guarded !== undefined && (received || !guarded);
  };
  return messages.filter(mayRead);
}

const columnOf = (flag: 'starred' | 'collapsed') => Prisma.raw(flag);

/**
 * Sets a flag of the viewer on messages.
 *
 * @returns The messages that did not have the flag before.
 */
async function setFlag(
  tx: Tx,
  { organizationId, viewer }: Ctx,
  flag: 'starred' | 'collapsed',
  rows: readonly FlaggedMessage[],
): Promise<FlaggedMessage[]> {
  const column = columnOf(flag);
  const changed = await tx.$queryRaw<{ id: bigint }[]>`
    INSERT INTO user_message (realm_id, user_id, message_id, ${column}, historical)
    SELECT ${organizationId}, ${viewer.id}, there.id, true, NOT there.received FROM (
      SELECT m.id, ${receivedBy(organizationId, viewer.id)} AS received FROM message m
      WHERE m.realm_id = ${organizationId} AND m.id = ANY(${rows.map(({ id }) => id)}::bigint[]) FOR KEY SHARE OF m) AS there
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET ${column} = true WHERE NOT user_message.${column}
    RETURNING message_id AS id`;
  return among(rows, changed);
}

/**
 * Clears a flag of the viewer on messages. Deletes rows of `user_message` that then have no flag.
 *
 * @returns The messages that had the flag before.
 */
async function clearFlag(
  tx: Tx,
  { organizationId, viewer }: Ctx,
  flag: 'starred' | 'collapsed',
  rows: readonly FlaggedMessage[],
): Promise<FlaggedMessage[]> {
  const column = columnOf(flag);
  const changed = await tx.$queryRaw<{ id: bigint }[]>`
    UPDATE user_message SET ${column} = false
    WHERE realm_id = ${organizationId} AND user_id = ${viewer.id} AND message_id = ANY(${rows.map(({ id }) => id)}::bigint[]) AND ${column}
    RETURNING message_id AS id`;
  if (changed.length > 0) {
    await tx.$executeRaw`
      DELETE FROM user_message
      WHERE realm_id = ${organizationId} AND user_id = ${viewer.id} AND message_id = ANY(${changed.map(({ id }) => id)}::bigint[]) AND NOT (starred
        OR collapsed OR mentioned OR topic_wildcard_mentioned OR has_alert_word OR historical)`;
  }
  return among(rows, changed);
}

function among(rows: readonly FlaggedMessage[], changed: readonly { readonly id: bigint }[]): FlaggedMessage[] {
  const ids = new Set(changed.map(({ id }) => Number(id)));
  return rows.filter(({ id }) => ids.has(id));
}

import { userIdsReading } from '../channels/audience.ts';
import { type Audience, either, except, subscribersOf, users } from '../events/audience.ts';
import type { Channel, Realm } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { GUEST } from '../platform/roles.ts';
import { hasProtectedHistory, type PlacedMessage } from './access.ts';

/** Messages, and the recipients of an event about them. Each recipient can read all of these messages. */
export interface RecipientGroup {
  readonly audience: Audience;
  /** Ids of the messages, ascending. There is at least one. */
  readonly ids: readonly number[];
}

/** Messages of one channel or of one conversation. */
export interface LocatedMessages extends Pick<PlacedMessage, 'channel' | 'conversation'> {
  /** Ids of the messages, ascending. */
  readonly ids: readonly number[];
}

/** Messages of one channel that move to another channel or, if `from` and `to` are equal, to another topic. */
export interface MovedMessages {
  readonly from: Channel;
  readonly to: Channel;
  /** Ids of the messages, ascending. */
  readonly ids: readonly number[];
}

/**
 * Returns the recipients of changes of messages. In a conversation, they are its members. In a channel, they are its
 * subscribers. If the channel is public, also unsubscribed users who received, flagged or reacted to one of the messages. If
 * its history is protected, users are recipients only of changes of messages that they received.
 *
 * Subscriptions of the channel must be locked.
 *
 * @param actorId The user who makes the change. They are a recipient even without a subscription. In a channel without
 * protected history, the caller must have checked that they can read it.
 * @see src/events/README.md#the-log
 */
export async function recipientsOf(
  tx: Tx,
  realm: Pick<Realm, 'id'>,
  { channel, conversation, ids }: LocatedMessages,
  actorId: number | undefined,
): Promise<RecipientGroup[]> {
  if (ids.length === 0) return [];
  if (channel === null) return [{ audience: users(conversation?.memberIds ?? []), ids }];
  const actor = actorId === undefined ? [] : [actorId];
  if (hasProtectedHistory(channel)) {
    const subscribers = await subscriberIds(tx, channel.id);
    return byIds(await readReceipts(tx, realm.id, ids, [...new Set([...subscribers, ...actor])]));
  }
  const takers = channel.inviteOnly ? [] : await takersOf(tx, realm.id, channel.id, ids);
  return [{ audience: either(subscribersOf(channel.id), users([...takers, ...actor])), ids }];
}

/** Recipients of a move (`moved`), and users who lose access to the messages by the move (`gone`). */
export interface MoveHearings {
  readonly moved: readonly RecipientGroup[];
  readonly gone: readonly RecipientGroup[];
}

/**
 * Returns the recipients of a move to another channel. They are the subscribers of the target channel, and those previous
 * recipients who can read it. Previous recipients who cannot read the messages any more are in `gone`: they receive the event
 * of a deletion.
 *
 * Subscriptions of both channels must be locked.
 */
export async function recipientsOfMove(
  tx: Tx,
  { realm, now }: { readonly realm: Realm; readonly now: Date },
  moving: MovedMessages,
  actorId: number,
): Promise<MoveHearings> {
  const { from, to, ids } = moving;
  if (from.id === to.id) {
    return { moved: await recipientsOf(tx, realm, { channel: from, conversation: null, ids }, actorId), gone: [] };
  }
  const takers = await takersOf(tx, realm.id, from.id, ids);
  const notified = new Set([...(await subscriberIds(tx, from.id)), ...(from.inviteOnly ? [] : takers)]);
  const others = new Set([...takers, actorId]);
  const readers = new Set(await userIdsReading(tx, realm, to, [...new Set([...notified, ...others])], now));
  const people = { notified, others, readers };
  return hasProtectedHistory(from) || hasProtectedHistory(to)
    ? guardedMove(tx, realm.id, moving, people)
    : openMove(moving, people);
}

interface People {
  /** Users who receive changes of the messages while they are in the source channel. */
  readonly notified: ReadonlySet<number>;
  /** Further users who receive the move, if they can read the messages in the target channel. */
  readonly others: ReadonlySet<number>;
  /** Users in `notified` or `others` who can read the target channel. */
  readonly readers: ReadonlySet<number>;
}

/**
 * Computes the recipients of a move between channels without protected history. Describes them by rules instead of lists of
 * users where possible, because the lists can be long.
 */
function openMove({ from, to, ids }: MovedMessages, { notified, others, readers }: People): MoveHearings {
  const gone = [...notified].filter((id) => !readers.has(id));
  const named = (to.inviteOnly ? [...notified, ...others] : [...others]).filter((id) => readers.has(id));
  const arrived = either(subscribersOf(to.id), users(named));
  const audience = to.inviteOnly ? arrived : except(either(arrived, subscribersOf(from.id)), gone);
  return { moved: [{ audience, ids }], gone: gone.length === 0 ? [] : [{ audience: users(gone), ids }] };
}

/**
 * Computes the recipients of a move if a channel has protected history. Each user is examined, because access depends on the
 * messages that a user received.
 */
async function guardedMove(
  tx: Tx,
  realmId: number,
  { from, to, ids }: MovedMessages,
  { notified, others, readers }: People,
): Promise<MoveHearings> {
  const arrived = new Set(await subscriberIds(tx, to.id));
  const userIds = [...new Set([...notified, ...others, ...arrived])];
  const received = await readReceipts(tx, realmId, ids, userIds);
  const [moved, gone] = [new Map<number, readonly number[]>(), new Map<number, readonly number[]>()];
  for (const userId of userIds) {
    const mine = received.get(userId) ?? NONE;
    const had = !notified.has(userId) ? NONE : hasProtectedHistory(from) ? mine : ids;
    const reads = readers.has(userId) || arrived.has(userId);
    const has = !reads ? NONE : hasProtectedHistory(to) ? mine : ids;
    moved.set(userId, arrived.has(userId) || others.has(userId) ? has : among(has, had));
    gone.set(userId, without(had, has));
  }
  return { moved: byIds(moved), gone: byIds(gone) };
}

const NONE: readonly number[] = [];

// The first lines of the functions below are shortcuts: most users received either none of the messages, or all of them. Those
// who received all share one array.

function among(some: readonly number[], others: readonly number[]): readonly number[] {
  if (some === others || some.length === 0) return some;
  const known = new Set(others);
  return some.filter((id) => known.has(id));
}

function without(some: readonly number[], others: readonly number[]): readonly number[] {
  if (some === others) return NONE;
  if (some.length === 0 || others.length === 0) return some;
  const known = new Set(others);
  return some.filter((id) => !known.has(id));
}

/** Groups users whose lists contain exactly the same message ids. Users with an empty list are omitted. */
function byIds(idsOf: ReadonlyMap<number, readonly number[]>): RecipientGroup[] {
  const keys = new Map([...new Set(idsOf.values())].map((ids) => [ids, ids.join()]));
  const alike = Map.groupBy(idsOf, ([, ids]) => keys.get(ids));
  return [...alike.values()].flatMap((entries) => {
    const ids = entries[0]?.[1] ?? [];
    return ids.length === 0 ? [] : [{ audience: users(entries.map(([userId]) => userId)), ids }];
  });
}

async function subscriberIds(tx: Tx, channelId: number): Promise<number[]> {
  const rows = await tx.$queryRaw<{ user_id: number }[]>`
    SELECT user_id FROM subscription WHERE channel_id = ${channelId} AND active`;
  return rows.map(({ user_id }) => user_id);
}

/**
 * Returns the users who are not subscribed to the channel, but received one of the messages, have a flag on it or reacted to
 * it. Guests are excluded, because they cannot read channels without a subscription.
 */
async function takersOf(tx: Tx, realmId: number, channelId: number, ids: readonly number[]): Promise<number[]> {
  const rows = await tx.$queryRaw<{ id: number }[]>`
    WITH concerned AS (
      SELECT m.id, m.sender_id, m.sent_channel_id FROM message m
      WHERE m.realm_id = ${realmId} AND m.id = ANY(${[...ids]}::bigint[])
    ), present AS (SELECT user_id FROM subscription WHERE channel_id = ${channelId} AND active)
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${realmId} AND u.role < ${GUEST} AND NOT u.is_system
      AND u.id NOT IN (SELECT user_id FROM present) AND u.id IN (
        SELECT sender_id FROM concerned
        UNION SELECT um.user_id FROM concerned c JOIN user_message um ON um.realm_id = ${realmId} AND um.message_id = c.id
        UNION SELECT r.user_id FROM concerned c JOIN reaction r ON r.realm_id = ${realmId} AND r.message_id = c.id
        UNION SELECT p.user_id FROM subscription_period p
          WHERE p.channel_id IN (SELECT sent_channel_id FROM concerned) AND p.user_id NOT IN (SELECT user_id FROM present)
            AND EXISTS (
              SELECT FROM concerned c WHERE c.sent_channel_id = p.channel_id AND p.began_message_id < c.id
                AND (p.ended_message_id IS NULL OR c.id <= p.ended_message_id)))`;
  return rows.map(({ id }) => id);
}

/**
 * Range of message ids that a user received in a channel: greater than `began` and at most `ended`. If `ended` is null, the
 * range is open.
 */
interface Period {
  readonly user_id: number;
  readonly channel_id: number;
  readonly began: bigint;
  readonly ended: bigint | null;
}

/**
 * Reads which of the channel messages each user received, ascending by id. Equivalent to `receivedBy` in messages/access.ts,
 * but without comparing every user with every message. For a user who received all messages, the result is the array `ids`
 * itself.
 */
async function readReceipts(
  tx: Tx,
  realmId: number,
  ids: readonly number[],
  userIds: readonly number[],
): Promise<Map<number, readonly number[]>> {
  const messages = await tx.$queryRaw<{ id: bigint; sender_id: number; sent_channel_id: number }[]>`
    SELECT id, sender_id, sent_channel_id FROM message
    WHERE realm_id = ${realmId} AND id = ANY(${[...ids]}::bigint[]) ORDER BY id`;
  const numbers = (rows: readonly { id: bigint }[]) => rows.map(({ id }) => Number(id));
  const sentIn = new Map([...Map.groupBy(messages, (m) => m.sent_channel_id)].map(([id, rows]) => [id, numbers(rows)]));
  const sentBy = new Map([...Map.groupBy(messages, (m) => m.sender_id)].map(([id, rows]) => [id, numbers(rows)]));
  const periods = await tx.$queryRaw<Period[]>`
    SELECT user_id, channel_id, began_message_id AS began, ended_message_id AS ended FROM subscription_period
    WHERE realm_id = ${realmId} AND channel_id = ANY(${[...sentIn.keys()]}) AND user_id = ANY(${[...userIds]})
    ORDER BY channel_id, began_event_id`;
  const periodsOf = Map.groupBy(periods, ({ user_id }) => user_id);
  // Lists of received messages, by the ranges of which they consist. Most users have the same ranges, so each list is built
  // once and shared.
  const made = new Map<string, readonly number[]>();
  return new Map(
    userIds.map((userId) => {
      const stretches = (periodsOf.get(userId) ?? []).map((period) => stretchOf(sentIn, period));
      const own = sentBy.get(userId) ?? [];
      const key = `${own.length === 0 ? '' : userId} ${stretches.map(({ name }) => name).join()}`;
      const received = made.get(key) ?? gather(ids, [own, ...stretches.map(({ read }) => read())]);
      made.set(key, received);
      return [userId, received];
    }),
  );
}

/**
 * Returns the messages that were sent during a subscription period, and a key. All periods that contain the same messages get
 * the same key.
 */
function stretchOf(sentIn: ReadonlyMap<number, readonly number[]>, { channel_id, began, ended }: Period) {
  const sent = sentIn.get(channel_id) ?? NONE;
  const [from, to] = [
    countThrough(sent, Number(began)),
    ended === null ? sent.length : countThrough(sent, Number(ended)),
  ];
  return { name: `${channel_id}:${from}-${to}`, read: () => sent.slice(from, to) };
}

/**
 * Returns how many of the ids are at most `id`.
 *
 * @param ids Ids, ascending.
 */
function countThrough(ids: readonly number[], id: number): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? 0) <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the union of the lists, ascending. If the union contains all of `ids`, returns the array `ids` itself. */
function gather(ids: readonly number[], lists: readonly (readonly number[])[]): readonly number[] {
  const all = new Set(lists.flat());
  return all.size === ids.length ? ids : [...all].sort((a, b) => a - b);
}

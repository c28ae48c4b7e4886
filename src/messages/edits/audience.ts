import { userIdsReading } from '../../channels/audience.ts';
import { type Audience, either, except, subscribersOf, users } from '../../events/audience.ts';
import type { Channel, Realm } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { GUEST } from '../../platform/roles.ts';
import { hasProtectedHistory, type PlacedMessage } from '../access.ts';

/** Messages, and who hears what becomes of all of them: users who may read each. */
export interface Hearing {
  readonly audience: Audience;
  /** Ascending, at least one. */
  readonly ids: readonly number[];
}

/** Messages that stand in one channel, or in one conversation. */
export interface Standing extends Pick<PlacedMessage, 'channel' | 'conversation'> {
  /** Ascending. */
  readonly ids: readonly number[];
}

/** Messages that go from one channel to another. */
export interface Moving {
  readonly from: Channel;
  readonly to: Channel;
  /** Ascending. */
  readonly ids: readonly number[];
}

/**
 * Who hears of changes of messages: who takes part in the conversation; the channel's subscribers and, where everybody
 * may read, who has a message on record without being subscribed. Where history is protected, each subscriber hears of
 * the messages they received, and of no other.
 *
 * Subscriptions of the channel must be locked.
 *
 * @param actorId Who does it, and hears of it wherever they stand. In a channel without protected history, the caller
 *   knows that they may read it.
 * @see src/events/README.md#the-log
 */
export async function hearingsOf(
  tx: Tx,
  realm: Pick<Realm, 'id'>,
  { channel, conversation, ids }: Standing,
  actorId: number | undefined,
): Promise<Hearing[]> {
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

/** Who hears that messages have moved, and to whom they are gone by it. */
export interface MoveHearings {
  readonly moved: readonly Hearing[];
  readonly gone: readonly Hearing[];
}

/**
 * Who hears of messages going to another channel: whoever heard of changes of them before and may read them there, and
 * the other channel's subscribers. To those who heard of them before and may not read them there, they are gone.
 *
 * Subscriptions of both channels must be locked.
 */
export async function hearingsOfMove(
  tx: Tx,
  { realm, now }: { readonly realm: Realm; readonly now: Date },
  moving: Moving,
  actorId: number,
): Promise<MoveHearings> {
  const { from, to, ids } = moving;
  if (from.id === to.id) {
    return { moved: await hearingsOf(tx, realm, { channel: from, conversation: null, ids }, actorId), gone: [] };
  }
  const takers = await takersOf(tx, realm.id, from.id, ids);
  const told = new Set([...(await subscriberIds(tx, from.id)), ...(from.inviteOnly ? [] : takers)]);
  const others = new Set([...takers, actorId]);
  const readers = new Set(await userIdsReading(tx, realm, to, [...new Set([...told, ...others])], now));
  const people = { told, others, readers };
  return hasProtectedHistory(from) || hasProtectedHistory(to)
    ? guardedMove(tx, realm.id, moving, people)
    : openMove(moving, people);
}

interface People {
  /** Who heard of changes where the messages were. */
  readonly told: ReadonlySet<number>;
  /** Who hears of the move besides, if they may read the messages from here on. */
  readonly others: ReadonlySet<number>;
  /** Those of both who may read the channel the messages go to. */
  readonly readers: ReadonlySet<number>;
}

/** By a rule where one says it, because lists of users can be long. */
function openMove({ from, to, ids }: Moving, { told, others, readers }: People): MoveHearings {
  const gone = [...told].filter((id) => !readers.has(id));
  const named = (to.inviteOnly ? [...told, ...others] : [...others]).filter((id) => readers.has(id));
  const arrived = either(subscribersOf(to.id), users(named));
  const audience = to.inviteOnly ? arrived : except(either(arrived, subscribersOf(from.id)), gone);
  return { moved: [{ audience, ids }], gone: gone.length === 0 ? [] : [{ audience: users(gone), ids }] };
}

/** User by user, because what one may read another may not. */
async function guardedMove(
  tx: Tx,
  realmId: number,
  { from, to, ids }: Moving,
  { told, others, readers }: People,
): Promise<MoveHearings> {
  const arrived = new Set(await subscriberIds(tx, to.id));
  const everybody = [...new Set([...told, ...others, ...arrived])];
  const received = await readReceipts(tx, realmId, ids, everybody);
  const [moved, gone] = [new Map<number, readonly number[]>(), new Map<number, readonly number[]>()];
  for (const userId of everybody) {
    const mine = received.get(userId) ?? NONE;
    const had = !told.has(userId) ? NONE : hasProtectedHistory(from) ? mine : ids;
    const reads = readers.has(userId) || arrived.has(userId);
    const has = !reads ? NONE : hasProtectedHistory(to) ? mine : ids;
    moved.set(userId, arrived.has(userId) || others.has(userId) ? has : among(has, had));
    gone.set(userId, without(had, has));
  }
  return { moved: byIds(moved), gone: byIds(gone) };
}

const NONE: readonly number[] = [];

// Most users received all of the messages, and share one array, or none of them.

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

/** Users to whom the same messages matter, together. */
function byIds(idsOf: ReadonlyMap<number, readonly number[]>): Hearing[] {
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
 * Who is not subscribed to the channel, and yet has one of the messages on record: they received it, or took it up from
 * the channel's history. Guests read nothing where they are not subscribed.
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

/** A stretch of messages that a user was sent in a channel: those with `began` < id <= `ended`. */
interface Period {
  readonly user_id: number;
  readonly channel_id: number;
  readonly began: bigint;
  readonly ended: bigint | null;
}

/**
 * Which of the channel messages each user received, ascending: `receivedBy` of messages/access.ts for many users and many
 * messages at once, whose every pair a query would look at. Who received all gets `ids` itself.
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
  // Few differ in what they received: each such list is made once.
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

/** The messages of a period, by a name that tells it from others. */
function stretchOf(sentIn: ReadonlyMap<number, readonly number[]>, { channel_id, began, ended }: Period) {
  const sent = sentIn.get(channel_id) ?? NONE;
  const [from, to] = [
    countThrough(sent, Number(began)),
    ended === null ? sent.length : countThrough(sent, Number(ended)),
  ];
  return { name: `${channel_id}:${from}-${to}`, read: () => sent.slice(from, to) };
}

/** How many of ascending `ids` are not above `id`. */
function countThrough(ids: readonly number[], id: number): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? 0) <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** All that is in the lists; `ids` itself, when that is all there is. */
function gather(ids: readonly number[], lists: readonly (readonly number[])[]): readonly number[] {
  const all = new Set(lists.flat());
  return all.size === ids.length ? ids : [...all].sort((a, b) => a - b);
}

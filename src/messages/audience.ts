import { hasProtectedHistory } from '../channels/access.ts';
import { userIdsReading } from '../channels/audience.ts';
import { type Audience, either, except, subscribersOf, users } from '../events/audience.ts';
import type { Channel, Organization } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { GUEST } from '../platform/roles.ts';
import type { PlacedMessage } from './access.ts';

/**
 * Messages, and the recipients of an event about these messages. Each recipient can read all of the messages, or could until
 * the change that causes the event.
 */
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
 * Returns the recipients of events about changes of messages. In a conversation, the recipients are its members. In a channel,
 * the recipients are its subscribers. In a public channel, unsubscribed users who received, flagged or reacted to one of the
 * messages are recipients too. In a channel with protected history, each user is a recipient only of changes of messages that
 * they received.
 *
 * The caller must have locked the subscriptions of the channel.
 *
 * @param actorId Id of the user who makes the change. This user is a recipient even without a subscription. In a channel
 *   without protected history, the caller must have checked that this user can read the channel. Undefined: none.
 * @see src/events/README.md#the-log
 */
export async function recipientsOf(
  tx: Tx,
  organization: Pick<Organization, 'id'>,
  { channel, conversation, ids }: LocatedMessages,
  actorId: number | undefined,
): Promise<RecipientGroup[]> {
  if (ids.length === 0) return [];
  if (channel === null) return [{ audience: users(conversation?.memberIds ?? []), ids }];
  const actor = actorId === undefined ? [] : [actorId];
  if (hasProtectedHistory(channel)) {
    const subscribers = await subscriberIds(tx, channel);
    return byIds(await readReceipts(tx, organization.id, ids, [...new Set([...subscribers, ...actor])]));
  }
  const involved = channel.inviteOnly ? [] : await involvedUsersOf(tx, organization.id, channel.id, ids);
  return [{ audience: either(subscribersOf(channel.id), users([...involved, ...actor])), ids }];
}

/** Recipients of the event of a move (`moved`), and users who lose access to the messages by the move (`gone`). */
export interface MoveRecipients {
  readonly moved: readonly RecipientGroup[];
  readonly gone: readonly RecipientGroup[];
}

/**
 * Returns the recipients of the event of a move. If the move is to another channel, they are the subscribers of the target
 * channel, and the following users who can read that channel: recipients of events in the source channel, the actor, and users
 * who received, flagged or reacted to one of the messages. Within a channel, the recipients are those of `recipientsOf`. Users
 * who lose access to the messages are in `gone`. They receive the event of a deletion instead.
 *
 * The caller must have locked the subscriptions of both channels.
 */
export async function recipientsOfMove(
  tx: Tx,
  { organization, now }: { readonly organization: Organization; readonly now: Date },
  moving: MovedMessages,
  actorId: number,
): Promise<MoveRecipients> {
  const { from, to, ids } = moving;
  if (from.id === to.id) {
    return {
      moved: await recipientsOf(tx, organization, { channel: from, conversation: null, ids }, actorId),
      gone: [],
    };
  }
  const involved = await involvedUsersOf(tx, organization.id, from.id, ids);
  const notified = new Set([...(await subscriberIds(tx, from)), ...(from.inviteOnly ? [] : involved)]);
  const others = new Set([...involved, actorId]);
  const readers = new Set(await userIdsReading(tx, organization, to, [...new Set([...notified, ...others])], now));
  const people = { notified, others, readers };
  return hasProtectedHistory(from) || hasProtectedHistory(to)
    ? guardedMove(tx, organization.id, moving, people)
    : openMove(moving, people);
}

interface People {
  /** Users who receive events about the messages as long as these are in the source channel. */
  readonly notified: ReadonlySet<number>;
  /** Other users, who receive the event of the move only if they can read the messages in the target channel. */
  readonly others: ReadonlySet<number>;
  /** Users in `notified` or `others` who can read the target channel. */
  readonly readers: ReadonlySet<number>;
}

/**
 * Computes the recipients of a move between channels without protected history. Where possible, the result is a rule such as
 * "subscribers of the channel" instead of a list of users, because such lists can be long.
 */
function openMove({ from, to, ids }: MovedMessages, { notified, others, readers }: People): MoveRecipients {
  const gone = [...notified].filter((id) => !readers.has(id));
  const named = (to.inviteOnly ? [...notified, ...others] : [...others]).filter((id) => readers.has(id));
  const arrived = either(subscribersOf(to.id), users(named));
  const audience = to.inviteOnly ? arrived : except(either(arrived, subscribersOf(from.id)), gone);
  return { moved: [{ audience, ids }], gone: gone.length === 0 ? [] : [{ audience: users(gone), ids }] };
}

/**
 * Computes the recipients of a move if the source or the target channel has protected history. Examines each user, because
 * access then depends on the messages that the user received.
 */
async function guardedMove(
  tx: Tx,
  organizationId: number,
  { from, to, ids }: MovedMessages,
  { notified, others, readers }: People,
): Promise<MoveRecipients> {
  const arrived = new Set(await subscriberIds(tx, to));
  const userIds = [...new Set([...notified, ...others, ...arrived])];
  const received = await readReceipts(tx, organizationId, ids, userIds);
  const [moved, gone] = [new Map<number, readonly number[]>(), new Map<number, readonly number[]>()];
  for (const userId of userIds) {
    const mine = received.get(userId) ?? NONE;
    const had = !notified.has(userId) ? NONE : hasProtectedHistory(from) ? mine : ids;
    const reads = readers.has(userId) || arrived.has(userId);
    const has = !reads ? NONE : hasProtectedHistory(to) ? mine : ids;
    moved.set(userId, arrived.has(userId) || others.has(userId) ? has : intersection(has, had));
    gone.set(userId, difference(had, has));
  }
  return { moved: byIds(moved), gone: byIds(gone) };
}

const NONE: readonly number[] = [];

// Most users received all of the messages or none. Users who received all messages share one array object. So the two functions
// below compare identities and lengths first.

function intersection(some: readonly number[], others: readonly number[]): readonly number[] {
  if (some === others || some.length === 0) return some;
  const known = new Set(others);
  return some.filter((id) => known.has(id));
}

function difference(some: readonly number[], others: readonly number[]): readonly number[] {
  if (some === others) return NONE;
  if (some.length === 0 || others.length === 0) return some;
  const known = new Set(others);
  return some.filter((id) => !known.has(id));
}

/** Groups users whose lists contain exactly the same message ids. Omits users whose list is empty. */
function byIds(idsOf: ReadonlyMap<number, readonly number[]>): RecipientGroup[] {
  const keys = new Map([...new Set(idsOf.values())].map((ids) => [ids, ids.join()]));
  const alike = Map.groupBy(idsOf, ([, ids]) => keys.get(ids));
  return [...alike.values()].flatMap((entries) => {
    const ids = entries[0]?.[1] ?? [];
    return ids.length === 0 ? [] : [{ audience: users(entries.map(([userId]) => userId)), ids }];
  });
}

async function subscriberIds(
  tx: Tx,
  { organizationId, id }: Pick<Channel, 'organizationId' | 'id'>,
): Promise<number[]> {
  const rows = await tx.$queryRaw<{ user_id: number }[]>`
    SELECT user_id FROM subscription WHERE realm_id = ${organizationId} AND channel_id = ${id} AND active`;
  return rows.map(({ user_id }) => user_id);
}

/**
 * Returns the users who received, flagged or reacted to one of the messages, but are not subscribed to the channel. Excludes
 * system users, and guests, because guests cannot read channels without a subscription.
 */
async function involvedUsersOf(
  tx: Tx,
  organizationId: number,
  channelId: number,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await tx.$queryRaw<{ id: number }[]>`
    WITH concerned AS (
      SELECT m.id, m.sender_id, m.sent_channel_id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.id = ANY(${[...ids]}::bigint[])
    ), present AS (
      SELECT user_id FROM subscription WHERE realm_id = ${organizationId} AND channel_id = ${channelId} AND active
    )
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${organizationId} AND u.role < ${GUEST} AND NOT u.is_system
      AND u.id NOT IN (SELECT user_id FROM present) AND u.id IN (
        SELECT sender_id FROM concerned
        UNION SELECT um.user_id FROM concerned c JOIN user_message um ON um.realm_id = ${organizationId} AND um.message_id = c.id
        UNION SELECT r.user_id FROM concerned c JOIN reaction r ON r.realm_id = ${organizationId} AND r.message_id = c.id
        UNION SELECT p.user_id FROM subscription_period p
          WHERE p.realm_id = ${organizationId} AND p.channel_id IN (SELECT sent_channel_id FROM concerned)
            AND p.user_id NOT IN (SELECT user_id FROM present)
            AND EXISTS (
              SELECT FROM concerned c WHERE c.sent_channel_id = p.channel_id AND p.began_message_id < c.id
                AND (p.ended_message_id IS NULL OR c.id <= p.ended_message_id)))`;
  return rows.map(({ id }) => id);
}

/**
 * Subscription period of a user in a channel, as a range of message ids: greater than `began` and at most `ended`. If `ended`
 * is null, the user is still subscribed.
 */
interface Period {
  readonly user_id: number;
  readonly channel_id: number;
  readonly began: bigint;
  readonly ended: bigint | null;
}

/**
 * Returns, for each user, the ids of those channel messages in `ids` that the user received, ascending. Equivalent to
 * `receivedBy` in messages/access.ts, but without comparing every user with every message. For a user who received all
 * messages, the result is the array `ids` itself.
 */
async function readReceipts(
  tx: Tx,
  organizationId: number,
  ids: readonly number[],
  userIds: readonly number[],
): Promise<Map<number, readonly number[]>> {
  const messages = await tx.$queryRaw<{ id: bigint; sender_id: number; sent_channel_id: number }[]>`
    SELECT id, sender_id, sent_channel_id FROM message
    WHERE realm_id = ${organizationId} AND id = ANY(${[...ids]}::bigint[]) ORDER BY id`;
  const numbers = (rows: readonly { id: bigint }[]) => rows.map(({ id }) => Number(id));
  const sentIn = new Map([...Map.groupBy(messages, (m) => m.sent_channel_id)].map(([id, rows]) => [id, numbers(rows)]));
  const sentBy = new Map([...Map.groupBy(messages, (m) => m.sender_id)].map(([id, rows]) => [id, numbers(rows)]));
  const periods = await tx.$queryRaw<Period[]>`
    SELECT user_id, channel_id, began_message_id AS began, ended_message_id AS ended FROM subscription_period
    WHERE realm_id = ${organizationId} AND channel_id = ANY(${[...sentIn.keys()]}) AND user_id = ANY(${[...userIds]})
    ORDER BY channel_id, began_event_id`;
  const periodsOf = Map.groupBy(periods, ({ user_id }) => user_id);
  // Lists of received message ids. The key of a list names the subscription periods in which the messages were sent. Most users
  // have the same periods, so they share one list.
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
 * Finds the messages that were sent to a channel during a subscription period. Returns a name for this set of messages, and a
 * function that returns their ids. Two periods with the same messages have the same name.
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
 * Returns the number of ids that are less than or equal to `id`.
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

/** Returns the union of the lists, ascending. If the union contains every id in `ids`, returns the array `ids` itself. */
function gather(ids: readonly number[], lists: readonly (readonly number[])[]): readonly number[] {
  const all = new Set(lists.flat());
  return all.size === ids.length ? ids : [...all].sort((a, b) => a - b);
}

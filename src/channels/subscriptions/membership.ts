import type { Person } from '../../access/permissions/membership.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { either, except, users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Channel, Subscription } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { requireWithin } from '../../platform/totals.ts';
import { seesChannel } from '../access.ts';
import { NO_ACTIVITY, readActivity } from '../activity.ts';
import { channelAudience, type OrganizationSettingsOf } from '../audience.ts';
import {
  channelsCreated,
  channelsDeleted,
  peersAdded,
  peersRemoved,
  subscriptionsAdded,
  subscriptionsRemoved,
} from '../events.ts';
import { afterLeaving, publishAccessChange } from '../hooks.ts';
import { countSubscribers, readSubscribers } from '../subscribers.ts';
import { toSnapshot, toWireChannel } from '../wire.ts';
import { nextColor } from './colors.ts';
import type { Subject } from './principals.ts';

/** The organization and the time of a change. */
export interface SubscriptionChangeContext {
  readonly organization: OrganizationSettingsOf & Person['organization'];
  readonly now: Date;
}

/** Users to subscribe to a channel. The caller must have locked the channel before reading it. */
export interface Joining {
  readonly channel: Channel;
  readonly subjects: readonly Subject[];
  /**
   * Color of the new subscriptions. Default: the color of the user's former subscription, otherwise the first palette color
   * that the user does not use.
   */
  readonly color?: string | undefined;
}

/** Ids of the users whose subscription began or ended, by channel id. */
export type Moved = ReadonlyMap<number, readonly number[]>;

/**
 * Subscribes users to channels. Emits events for the new subscribers, and for all other users who can see the channels. New
 * subscribers who could not see a channel before also receive the channel. Existing subscriptions stay unchanged. Users who
 * were subscribed before get the settings of their former subscription.
 *
 * @param announced True if the users to subscribe have already received the channels in an earlier event.
 * @returns The users whose subscription began.
 */
export async function join(
  tx: Tx,
  emit: Emit,
  context: SubscriptionChangeContext,
  joinings: readonly Joining[],
  { announced = false } = {},
): Promise<Moved> {
  const pairs = await newPairs(tx, context.organization.id, joinings);
  const joined = Map.groupBy(pairs, ({ channel }) => channel);
  if (!announced) await showToNewcomers(tx, emit, context, joined);
  const saved = await saveSubscriptions(tx, context.organization.id, pairs);
  if (saved.length > 0) await emitAdded(tx, emit, context, [...joined.keys()], pairs, saved);
  for (const [channel, newcomers] of joined) {
    const ids = newcomers.map(({ subject }) => subject.id);
    const audience = await channelAudience(tx, context.organization, channel, context.now);
    emit(peersAdded(channel, ids), except(audience, ids));
  }
  return new Map([...joined].map(([{ id }, newcomers]) => [id, newcomers.map(({ subject }) => subject.id)]));
}

interface Pair {
  readonly channel: Channel;
  readonly subject: Subject;
  readonly color: string;
}

interface SubscriptionRow {
  readonly user_id: number;
  readonly channel_id: number;
  readonly color: string;
  readonly active: boolean;
}

/**
 * Returns the pairs of user and channel for which a subscription begins, ascending by channel id, each with its color. Leaves
 * out users who are already subscribed.
 */
async function newPairs(tx: Tx, organizationId: number, joinings: readonly Joining[]): Promise<Pair[]> {
  const userIds = [...new Set(joinings.flatMap(({ subjects }) => subjects.map(({ id }) => id)))];
  const rows = await tx.$queryRaw<SubscriptionRow[]>`
    SELECT user_id, channel_id, color, active FROM subscription
    WHERE realm_id = ${organizationId} AND user_id = ANY(${userIds})`;
  const known = new Map(rows.map((row) => [`${row.user_id} ${row.channel_id}`, row]));
  const used = new Map(userIds.map((id) => [id, [] as string[]]));
  for (const { user_id, color, active } of rows) if (active) used.get(user_id)?.push(color);
  const ordered = joinings.toSorted((a, b) => a.channel.id - b.channel.id);
  return ordered.flatMap(({ channel, subjects, color: given }) =>
    subjects.flatMap((subject) => {
      const former = known.get(`${subject.id} ${channel.id}`);
      if (former?.active === true) return [];
      const colors = used.get(subject.id) ?? [];
      const color = given ?? former?.color ?? nextColor(colors);
      colors.push(color);
      return [{ channel, subject, color }];
    }),
  );
}

/** Sends each channel to its new subscribers who could not see it before. */
async function showToNewcomers(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  joined: Map<Channel, Pair[]>,
): Promise<void> {
  const groups = await systemGroups(tx, organization.id);
  const channels = [...joined.keys()];
  const countOf = await countSubscribers(
    tx,
    organization.id,
    channels.map(({ id }) => id),
  );
  const activityOf = await readActivity(tx, organization, channels, now);
  for (const [channel, pairs] of joined) {
    const newcomers = pairs
      .filter(({ subject }) => !seesChannel({ person: toPerson(subject, organization), groups, now }, channel, false))
      .map(({ subject }) => subject.id);
    if (newcomers.length === 0) continue;
    const [subscriberCount, activity] = [countOf(channel.id), activityOf(channel.id)];
    const wire = toWireChannel(channel, { groups, subscriberCount, activity });
    emit(channelsCreated([toSnapshot(channel, wire)]), users(newcomers));
  }
}

export const toPerson = (user: Subject, organization: Person['organization']): Person => ({
  id: user.id,
  role: user.role,
  organization,
  user,
});

function saveSubscriptions(tx: Tx, organizationId: number, pairs: readonly Pair[]): Promise<Subscription[]> {
  const rows = pairs.map(({ channel, subject, color }) => ({ user_id: subject.id, channel_id: channel.id, color }));
  return tx.$queryRaw<Subscription[]>`
    INSERT INTO subscription AS s (realm_id, user_id, channel_id, color)
    SELECT ${organizationId}, user_id, channel_id, color
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS p(user_id int, channel_id int, color text)
    ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET active = true, color = EXCLUDED.color
    RETURNING ${fieldsOf('s', 'Subscription')}`;
}

async function emitAdded(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  channels: readonly Channel[],
  pairs: readonly Pair[],
  saved: readonly Subscription[],
): Promise<void> {
  const ids = channels.map(({ id }) => id);
  const [groups, listOf] = [
    await systemGroups(tx, organization.id),
    await readSubscribers(tx, organization.id, ids, now),
  ];
  const activityOf = await readActivity(tx, organization, channels, now);
  const facts = channels.map((channel) => {
    const [list, activity] = [listOf(channel.id), activityOf(channel.id)];
    const wire = toWireChannel(channel, { groups, subscriberCount: list.subscribers.length, activity });
    return { ...toSnapshot(channel, wire), ...list };
  });
  const subjects = new Map(pairs.map(({ subject }) => [subject.id, subject]));
  const byUser = Map.groupBy(saved, ({ userId }) => userId);
  const subscribers = [...subjects.values()].map((user) => ({ user, rows: byUser.get(user.id) ?? [] }));
  emit(subscriptionsAdded(facts, subscribers), users([...subjects.keys()]), (id) =>
    beginPeriods(tx, organization.id, saved, id),
  );
}

/**
 * Begins the subscription periods of new subscribers. A subscription period is a range of the event log in which a user is
 * subscribed to a channel. From the event `eventId` on, the new subscribers receive the events for the channels' subscribers.
 *
 * If the channel received no message and no event after a user's last period, that period continues instead. So a user cannot
 * create any number of periods by leaving and joining. A message that was sent after the last period and then deleted also
 * begins a new period, because it can have been sent to this channel.
 *
 * @throws TotalReachedError if a user would have more than 1,000 periods in one channel.
 */
async function beginPeriods(
  tx: Tx,
  organizationId: number,
  saved: readonly Subscription[],
  eventId: number,
): Promise<void> {
  const rows = await tx.$queryRaw<{ joins: number }[]>`
    WITH joined AS MATERIALIZED (
      SELECT * FROM unnest(${saved.map(({ userId }) => userId)}::int[], ${saved.map(({ channelId }) => channelId)}::int[])
        AS j(user_id, channel_id)
    ), former AS MATERIALIZED (
      SELECT joined.user_id, joined.channel_id, past.joins, past.last_began, ended.ended_event_id, ended.ended_message_id
      FROM joined CROSS JOIN LATERAL (
        SELECT count(*)::int AS joins, max(p.began_event_id) AS last_began FROM subscription_period p
        WHERE p.realm_id = ${organizationId} AND p.user_id = joined.user_id AND p.channel_id = joined.channel_id
      ) AS past
      JOIN subscription_period ended ON ended.realm_id = ${organizationId} AND ended.user_id = joined.user_id
        AND ended.channel_id = joined.channel_id AND ended.began_event_id = past.last_began
    ), continued AS (
      UPDATE subscription_period p SET ended_event_id = NULL, ended_message_id = NULL FROM former
      WHERE p.realm_id = ${organizationId} AND p.user_id = former.user_id AND p.channel_id = former.channel_id
        AND p.began_event_id = former.last_began
        AND NOT EXISTS (
          SELECT FROM message m
          WHERE m.realm_id = ${organizationId} AND m.channel_id = former.channel_id AND m.id > former.ended_message_id OFFSET 0)
        AND NOT EXISTS (
          SELECT FROM message m
          WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = former.channel_id
            AND m.channel_id <> m.sent_channel_id AND m.id > former.ended_message_id OFFSET 0)
        AND NOT EXISTS (
          SELECT FROM deleted_message d WHERE d.realm_id = ${organizationId} AND d.id > former.ended_message_id OFFSET 0)
        AND NOT EXISTS (
          SELECT FROM event e
          WHERE e.realm_id = ${organizationId} AND e.channel_ids[1] = former.channel_id AND e.id > former.ended_event_id
            AND NOT e.except_user_ids @> ARRAY[former.user_id] OFFSET 0)
        AND NOT EXISTS (
          SELECT FROM event e
          WHERE e.realm_id = ${organizationId} AND e.channel_ids[2] = former.channel_id AND e.id > former.ended_event_id
            AND NOT e.except_user_ids @> ARRAY[former.user_id] OFFSET 0)
      RETURNING p.user_id, p.channel_id
    ), begun AS (
      INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id, began_message_id)
      SELECT ${organizationId}, user_id, channel_id, ${eventId},
             COALESCE((SELECT max(m.id) FROM message m WHERE m.realm_id = ${organizationId}), 0)
      FROM joined WHERE (user_id, channel_id) NOT IN (SELECT user_id, channel_id FROM continued)
      RETURNING user_id, channel_id
    )
    SELECT COALESCE(max(former.joins), 0) + 1 AS joins FROM begun JOIN former USING (user_id, channel_id)`;
  requireWithin('joins_per_user_and_channel', rows[0]?.joins ?? 1);
}

/** Users to unsubscribe from a channel. The caller must have locked the channel before reading it. */
export interface Leaving {
  readonly channel: Channel;
  readonly subjects: readonly Subject[];
}

/**
 * Unsubscribes users from channels. Emits events to these users, and to all other users who can see the channels. Users who can
 * no longer see a channel also receive its deletion. The settings of the subscriptions are kept for a later subscription.
 * Unread messages of the channels count as read.
 *
 * @returns The users who were subscribed.
 */
export async function leave(
  tx: Tx,
  emit: Emit,
  context: SubscriptionChangeContext,
  leavings: readonly Leaving[],
): Promise<Moved> {
  const removed = await endSubscriptions(tx, context.organization.id, leavings);
  const left = leavings
    .toSorted((a, b) => a.channel.id - b.channel.id)
    .flatMap(({ channel }) => {
      const rows = removed.filter(({ channel_id }) => channel_id === channel.id);
      const userIds = rows.map(({ user_id }) => user_id).sort((a, b) => a - b);
      return userIds.length === 0 ? [] : [{ channel, userIds }];
    });
  if (left.length === 0) return new Map();
  const readings = removed.map(({ user_id, channel_id }) => ({ userId: user_id, channelId: channel_id }));
  await afterLeaving.before(tx, context.organization.id, readings);
  const leaverIds = left.flatMap(({ userIds }) => userIds);
  await publishAccessChange(tx, emit, context, {
    channelIds: left.map(({ channel }) => channel.id),
    userIds: leaverIds,
  });
  emit(subscriptionsRemoved(left), users(leaverIds), async (id) => {
    await endPeriods(tx, context.organization.id, removed, id);
    await afterLeaving.atTheEnd(tx, context.organization.id, readings);
  });
  for (const { channel, userIds } of left) {
    const audience = await channelAudience(tx, context.organization, channel, context.now);
    emit(peersRemoved(channel, userIds), except(audience, userIds));
  }
  await hideFromLeavers(tx, emit, context, leavings, left);
  return new Map(left.map(({ channel, userIds }) => [channel.id, userIds]));
}

interface SubscriptionKey {
  readonly user_id: number;
  readonly channel_id: number;
}

/**
 * Ends the users' active subscriptions to the channels, and returns the keys of these subscriptions. The condition on user ids
 * is redundant, but without it the planner reads all users' subscriptions.
 */
function endSubscriptions(tx: Tx, organizationId: number, leavings: readonly Leaving[]): Promise<SubscriptionKey[]> {
  const rows = leavings.flatMap(({ channel, subjects }) =>
    subjects.map(({ id }) => ({ user_id: id, channel_id: channel.id })),
  );
  const userIds = [...new Set(rows.map(({ user_id }) => user_id))];
  return tx.$queryRaw<SubscriptionKey[]>`
    UPDATE subscription s SET active = false
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS p(user_id int, channel_id int)
    WHERE s.realm_id = ${organizationId} AND s.user_id = p.user_id AND s.channel_id = p.channel_id AND s.active
      AND s.user_id = ANY(${userIds})
    RETURNING s.user_id, s.channel_id`;
}

function endPeriods(
  tx: Tx,
  organizationId: number,
  rows: readonly SubscriptionKey[],
  eventId: number,
): Promise<unknown> {
  return tx.$executeRaw`
    UPDATE subscription_period p
    SET ended_event_id = ${eventId},
        ended_message_id = COALESCE((SELECT max(m.id) FROM message m WHERE m.realm_id = ${organizationId}), 0)
    FROM unnest(${rows.map(({ user_id }) => user_id)}::int[], ${rows.map(({ channel_id }) => channel_id)}::int[])
      AS ended(user_id, channel_id)
    WHERE p.realm_id = ${organizationId} AND p.user_id = ended.user_id AND p.channel_id = ended.channel_id
      AND p.ended_event_id IS NULL`;
}

async function hideFromLeavers(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  leavings: readonly Leaving[],
  left: readonly { channel: Channel; userIds: readonly number[] }[],
): Promise<void> {
  const groups = await systemGroups(tx, organization.id);
  const subjects = new Map(leavings.flatMap((leaving) => leaving.subjects.map((subject) => [subject.id, subject])));
  for (const { channel, userIds } of left) {
    const lost = userIds.filter((id) => {
      const subject = subjects.get(id);
      return (
        subject !== undefined && !seesChannel({ person: toPerson(subject, organization), groups, now }, channel, false)
      );
    });
    if (lost.length > 0) emit(channelsDeleted([channel]), users(lost));
  }
}

/** Sends a new channel to all users who can see it, and to `subjects`, who are about to be subscribed. */
export async function announceChannel(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  channel: Channel,
  subjects: readonly Subject[],
): Promise<void> {
  const groups = await systemGroups(tx, organization.id);
  const audience = either(await channelAudience(tx, organization, channel, now), users(subjects.map(({ id }) => id)));
  const wire = toWireChannel(channel, { groups, subscriberCount: 0, activity: NO_ACTIVITY });
  emit(channelsCreated([toSnapshot(channel, wire)]), audience);
}

import { LRUCache } from 'lru-cache';
import { type Channel, type Organization, Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { readRows } from '../platform/db/rows.ts';

/** The fields of a channel object that are computed from the channel's messages. */
export interface ChannelActivity {
  readonly firstMessageId: number | null;
  readonly isRecentlyActive: boolean;
  /** Average number of messages per week, rounded to two significant digits. Null if the channel is younger than 7 days. */
  readonly weeklyTraffic: number | null;
}

/** The activity of a channel that was just created. */
export const NO_ACTIVITY: ChannelActivity = { firstMessageId: null, isRecentlyActive: true, weeklyTraffic: null };

const DAY_MS = 86_400_000;
const RECENTLY_ACTIVE_MS = 180 * DAY_MS;
/** Minimum age of a channel, in days, for it to have a value for weekly traffic. In a younger channel, the value is null. */
const TRAFFIC_FROM_DAYS = 7;
/** Number of days over which weekly traffic is averaged. */
const TRAFFIC_DAYS = 28;

type OrganizationIdentity = Pick<Organization, 'id' | 'uuid'>;
type Aged = Pick<Channel, 'id' | 'createdAt'>;

/**
 * Reads the activity of channels of an organization. Runs one query, or two if the weekly traffic of some channels is not
 * cached, however many channels and messages there are.
 *
 * @returns A function that returns the activity of a channel by its id.
 */
export async function readActivity(
  db: SqlClient,
  organization: OrganizationIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<(id: number) => ChannelActivity> {
  if (channels.length === 0) return () => NO_ACTIVITY;
  const ends = await readEnds(db, organization, channels, now);
  const trafficOf = await readTraffic(db, organization, channels, now);
  const activities = new Map(
    channels.map((channel) => {
      const { first_id, last_sent_at } = ends.get(channel.id) ?? { first_id: null, last_sent_at: null };
      const newest = last_sent_at ?? channel.createdAt;
      const isRecentlyActive = now.getTime() - newest.getTime() < RECENTLY_ACTIVE_MS;
      const firstMessageId = first_id === null ? null : Number(first_id);
      return [channel.id, { firstMessageId, isRecentlyActive, weeklyTraffic: trafficOf(channel.id) }];
    }),
  );
  return (id) => activities.get(id) ?? NO_ACTIVITY;
}

interface Ends {
  readonly channel_id: number;
  readonly first_id: bigint | null;
  /**
   * Time of the last message. Null if there is none. Also null for a channel younger than 180 days, which counts as active in
   * any case.
   */
  readonly last_sent_at: Date | null;
}

/** Reads the id of the first and the time of the last message in each channel. Each value takes one index lookup. */
async function readEnds(
  db: SqlClient,
  organization: OrganizationIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<Map<number, Ends>> {
  const rows = await readRows<Ends>(
    db,
    Prisma.sql`
    SELECT c.id AS channel_id, first.id AS first_id, last.sent_at AS last_sent_at
    FROM channel c
    LEFT JOIN LATERAL (
      SELECT m.id FROM message m WHERE m.realm_id = ${organization.id} AND m.channel_id = c.id ORDER BY m.id LIMIT 1
    ) AS first ON true
    LEFT JOIN LATERAL (
      SELECT m.sent_at FROM message m
      WHERE m.realm_id = ${organization.id} AND m.channel_id = c.id AND c.created_at <= ${new Date(now.getTime() - RECENTLY_ACTIVE_MS)}
      ORDER BY m.id DESC LIMIT 1
    ) AS last ON true
    WHERE c.realm_id = ${organization.id} AND c.id = ANY(${channels.map(({ id }) => id)})`,
  );
  return new Map(rows.map((row) => [row.channel_id, row]));
}

/**
 * Maximum number of messages that are counted one by one in a channel. In a channel with more messages, the total is estimated
 * from the density of its newest messages. Only two digits of the result are shown, and a full count would hardly change them.
 */
const MAX_COUNTED = 500;
/**
 * Time in ms for which the weekly traffic of a channel is cached. Counting the messages would be the slowest part of the
 * registration of an event queue, and the traffic changes slowly.
 */
const TRAFFIC_LASTS_MS = 3_600_000;

/**
 * Maximum number of channels in the traffic cache, which then takes about 10 MB. The traffic of an evicted channel is counted
 * again.
 */
const MAX_CACHED = 50_000;

interface CachedTraffic {
  readonly at: number;
  readonly traffic: number;
}

/** Cached weekly traffic. The key contains the organization's UUID, because several services may run in one process. */
const known = new LRUCache<string, CachedTraffic>({ max: MAX_CACHED });

async function readTraffic(
  db: SqlClient,
  organization: OrganizationIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<(id: number) => number | null> {
  const ageOf = ({ createdAt }: Aged) => Math.floor((now.getTime() - createdAt.getTime()) / DAY_MS);
  const keyOf = (id: number) => `${organization.uuid} ${id}`;
  const old = channels.filter((channel) => ageOf(channel) >= TRAFFIC_FROM_DAYS);
  const trafficIn = new Map<number, number>();
  const outdated: Aged[] = [];
  for (const channel of old) {
    const { at, traffic } = known.get(keyOf(channel.id)) ?? { at: Number.NEGATIVE_INFINITY, traffic: 0 };
    if (Math.abs(now.getTime() - at) < TRAFFIC_LASTS_MS) trafficIn.set(channel.id, traffic);
    else outdated.push(channel);
  }
  const messagesIn = await countRecent(db, organization, outdated, now);
  for (const channel of outdated) {
    const traffic = weeklyTraffic(messagesIn(channel.id), ageOf(channel));
    trafficIn.set(channel.id, traffic);
    known.set(keyOf(channel.id), { at: now.getTime(), traffic });
  }
  return (id) => trafficIn.get(id) ?? null;
}

interface TrafficRow {
  readonly channel_id: number;
  /**
   * Number of counted messages, at most `MAX_COUNTED`. Counting starts at the newest message. `counted_from` is the id of the
   * oldest message that was counted.
   */
  readonly count: number;
  readonly counted_from: bigint;
  /** Highest message id that the organization had 28 days ago. `newest_id` is its highest message id now. */
  readonly old_id: bigint;
  readonly newest_id: bigint;
}

/**
 * Estimates the number of messages of the last 28 days in each channel, in one query. Message ids rise with time, so a binary
 * search finds the last id before these 28 days. Messages with higher ids are counted by an index-only scan.
 */
async function countRecent(
  db: SqlClient,
  organization: OrganizationIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<(id: number) => number> {
  if (channels.length === 0) return () => 0;
  const from = new Date(now.getTime() - TRAFFIC_DAYS * DAY_MS);
  const rows = await readRows<TrafficRow>(
    db,
    Prisma.sql`
    WITH RECURSIVE halving (old_id, newer_id) AS (
      SELECT 0::bigint, COALESCE(max(id), 0) FROM message WHERE realm_id = ${organization.id}
      UNION ALL
      SELECT CASE WHEN middle.sent_at < ${from} THEN middle.id ELSE old_id END,
             CASE WHEN middle.sent_at < ${from} THEN newer_id ELSE (old_id + newer_id) / 2 END
      FROM halving CROSS JOIN LATERAL (
        SELECT m.id, m.sent_at FROM message m
        WHERE m.realm_id = ${organization.id} AND m.id > (old_id + newer_id) / 2 ORDER BY m.id LIMIT 1
      ) AS middle
      WHERE old_id < newer_id
    ), span AS (
      SELECT max(old_id) AS old_id, max(newer_id) AS newest_id FROM halving
    )
    SELECT c.id AS channel_id, recent.*, span.* FROM span CROSS JOIN unnest(${channels.map(({ id }) => id)}::int[]) AS c(id)
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS count, min(counted.id) AS counted_from FROM (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organization.id} AND m.channel_id = c.id AND m.id > (SELECT old_id FROM span)
        ORDER BY m.id DESC LIMIT ${MAX_COUNTED}
      ) AS counted
    ) AS recent
    WHERE recent.count > 0`,
  );
  const counts = new Map(rows.map((row) => [row.channel_id, estimate(row)]));
  return (id) => counts.get(id) ?? 0;
}

/**
 * Returns the number of messages of a channel in the last 28 days. If `count` reached `MAX_COUNTED`, returns an estimate. It
 * assumes that the channel's share of the organization's messages was the same on all 28 days as since `counted_from`.
 */
function estimate({ count, counted_from, old_id, newest_id }: TrafficRow): number {
  if (count < MAX_COUNTED) return count;
  return (count * Number(newest_id - old_id)) / Number(newest_id - counted_from + 1n);
}

/**
 * Returns messages per week, rounded to two significant digits.
 *
 * @param messages Number of messages in the last 28 days.
 * @param days Age of the channel in days, at least 7.
 */
function weeklyTraffic(messages: number, days: number): number {
  if (messages === 0) return 0;
  const perWeek = Math.max(1, Math.floor((messages * 7) / Math.min(days, TRAFFIC_DAYS)));
  return Number(perWeek.toPrecision(2));
}

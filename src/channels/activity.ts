import { LRUCache } from 'lru-cache';
import { type Channel, Prisma, type Realm } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { readRows } from '../platform/db/rows.ts';

/** The part of a channel object that describes the messages of the channel. */
export interface ChannelActivity {
  readonly firstMessageId: number | null;
  readonly isRecentlyActive: boolean;
  /** Messages per week, rounded to two significant digits. Null if the channel is younger than 7 days. */
  readonly weeklyTraffic: number | null;
}

/** The activity of a channel that was just created. */
export const NO_ACTIVITY: ChannelActivity = { firstMessageId: null, isRecentlyActive: true, weeklyTraffic: null };

const DAY_MS = 86_400_000;
const RECENTLY_ACTIVE_MS = 180 * DAY_MS;
/** Minimum age of a channel with weekly traffic, in days. */
const TRAFFIC_FROM_DAYS = 7;
/** Period over which weekly traffic is averaged, in days. */
const TRAFFIC_DAYS = 28;

type RealmIdentity = Pick<Realm, 'id' | 'uuid'>;
type Aged = Pick<Channel, 'id' | 'createdAt'>;

/**
 * Reads the activity of channels of an organization. Runs one query, and a second one if weekly traffic is not cached,
 * regardless of the number of channels and messages.
 *
 * @returns A function that returns the activity of a channel by its id.
 */
export async function readActivity(
  db: SqlClient,
  realm: RealmIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<(id: number) => ChannelActivity> {
  if (channels.length === 0) return () => NO_ACTIVITY;
  const ends = await readEnds(db, realm, channels, now);
  const trafficOf = await readTraffic(db, realm, channels, now);
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
  /** Time of the last message. Null if there is none, or if the channel was created recently enough to count as active. */
  readonly last_sent_at: Date | null;
}

/** Reads the first and last message of each channel, by one index lookup each. */
async function readEnds(
  db: SqlClient,
  realm: RealmIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<Map<number, Ends>> {
  const rows = await readRows<Ends>(
    db,
    Prisma.sql`
    SELECT c.id AS channel_id, first.id AS first_id, last.sent_at AS last_sent_at
    FROM channel c
    LEFT JOIN LATERAL (
      SELECT m.id FROM message m WHERE m.channel_id = c.id ORDER BY m.id LIMIT 1
    ) AS first ON true
    LEFT JOIN LATERAL (
      SELECT m.sent_at FROM message m
      WHERE m.channel_id = c.id AND c.created_at <= ${new Date(now.getTime() - RECENTLY_ACTIVE_MS)}
      ORDER BY m.id DESC LIMIT 1
    ) AS last ON true
    WHERE c.realm_id = ${realm.id} AND c.id = ANY(${channels.map(({ id }) => id)})`,
  );
  return new Map(rows.map((row) => [row.channel_id, row]));
}

/**
 * Maximum number of messages that are counted one by one in each channel. In a busier channel, the density of these newest
 * messages serves as an estimate. Only two digits of the result are shown, and a full count would hardly change them.
 */
const MAX_COUNTED = 500;
/**
 * Lifetime of cached traffic. Weekly traffic changes slowly, and counting would be the slowest part of a registration.
 */
const TRAFFIC_LASTS_MS = 3_600_000;

/**
 * Capacity of the traffic cache: the channels of some very large organizations, in about 10 MB. Traffic of evicted
 * channels is counted again.
 */
const MAX_CACHED = 50_000;

interface CachedTraffic {
  readonly at: number;
  readonly traffic: number;
}

/** Cached traffic. The key contains the organization, because several services may run in one process. */
const known = new LRUCache<string, CachedTraffic>({ max: MAX_CACHED });

async function readTraffic(
  db: SqlClient,
  realm: RealmIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<(id: number) => number | null> {
  const ageOf = ({ createdAt }: Aged) => Math.floor((now.getTime() - createdAt.getTime()) / DAY_MS);
  const keyOf = (id: number) => `${realm.uuid} ${id}`;
  const old = channels.filter((channel) => ageOf(channel) >= TRAFFIC_FROM_DAYS);
  const trafficIn = new Map<number, number>();
  const outdated: Aged[] = [];
  for (const channel of old) {
    const { at, traffic } = known.get(keyOf(channel.id)) ?? { at: Number.NEGATIVE_INFINITY, traffic: 0 };
    if (Math.abs(now.getTime() - at) < TRAFFIC_LASTS_MS) trafficIn.set(channel.id, traffic);
    else outdated.push(channel);
  }
  const messagesIn = await countRecent(db, realm, outdated, now);
  for (const channel of outdated) {
    const traffic = weeklyTraffic(messagesIn(channel.id), ageOf(channel));
    trafficIn.set(channel.id, traffic);
    known.set(keyOf(channel.id), { at: now.getTime(), traffic });
  }
  return (id) => trafficIn.get(id) ?? null;
}

interface TrafficRow {
  readonly channel_id: number;
  /** Number of the newest messages that were counted. `counted_from` is the lowest id among these messages. */
  readonly count: number;
  readonly counted_from: bigint;
  /** Last message id before the period of 28 days. `newest_id` is the last message id of the organization. */
  readonly old_id: bigint;
  readonly newest_id: bigint;
}

/**
 * Estimates the number of messages of the last 28 days in each channel, in one query. Finds the first id of the period by
 * binary search, because ids rise with time. The messages are then counted by an index alone.
 */
async function countRecent(
  db: SqlClient,
  realm: RealmIdentity,
  channels: readonly Aged[],
  now: Date,
): Promise<(id: number) => number> {
  if (channels.length === 0) return () => 0;
  const from = new Date(now.getTime() - TRAFFIC_DAYS * DAY_MS);
  const rows = await readRows<TrafficRow>(
    db,
    Prisma.sql`
    WITH RECURSIVE halving (old_id, newer_id) AS (
      SELECT 0::bigint, COALESCE(max(id), 0) FROM message WHERE realm_id = ${realm.id}
      UNION ALL
      SELECT CASE WHEN middle.sent_at < ${from} THEN middle.id ELSE old_id END,
             CASE WHEN middle.sent_at < ${from} THEN newer_id ELSE (old_id + newer_id) / 2 END
      FROM halving CROSS JOIN LATERAL (
        SELECT m.id, m.sent_at FROM message m
        WHERE m.realm_id = ${realm.id} AND m.id > (old_id + newer_id) / 2 ORDER BY m.id LIMIT 1
      ) AS middle
      WHERE old_id < newer_id
    ), span AS (
      SELECT max(old_id) AS old_id, max(newer_id) AS newest_id FROM halving
    )
    SELECT c.id AS channel_id, recent.*, span.* FROM span CROSS JOIN unnest(${channels.map(({ id }) => id)}::int[]) AS c(id)
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS count, min(counted.id) AS counted_from FROM (
        SELECT m.id FROM message m WHERE m.channel_id = c.id AND m.id > (SELECT old_id FROM span)
        ORDER BY m.id DESC LIMIT ${MAX_COUNTED}
      ) AS counted
    ) AS recent
    WHERE recent.count > 0`,
  );
  const counts = new Map(rows.map((row) => [row.channel_id, estimate(row)]));
  return (id) => counts.get(id) ?? 0;
}

/**
 * Estimates the number of messages of a channel in the period. If `MAX_COUNTED` stopped the count, the channel's share of the
 * ids since `counted_from` is assumed for the whole period.
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

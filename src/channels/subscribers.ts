import { Prisma } from '../generated/prisma/client.ts';
import {
  isUserMatching,
  isUserWithin,
  type UserFilter,
  type UserPage,
  userKey,
  usersInOrder,
} from '../people/user-pages.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { type FetchedRowKey, type RowKey, rowKeyOf } from '../platform/db/keyset.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { partialSubscribers, WHOLE_LIST_BELOW } from './partial-subscribers.ts';
import type { SubscriberList } from './wire.ts';

/** Filter of a list of subscribers. Absent properties match all. */
export type SubscriberFilter = Pick<UserFilter, 'role' | 'nameContains'>;

/**
 * Counts the subscribers of each channel that match a filter, without deactivated users. Returns a function that returns the
 * count by channel id.
 */
export async function countSubscribers(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
  filter: SubscriberFilter = {},
): Promise<(id: number) => number> {
  const rows = await readRows<{ channel_id: number; count: number }>(
    db,
    Prisma.sql`
    SELECT s.channel_id, count(*)::int AS count
    FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    WHERE s.realm_id = ${organizationId} AND s.channel_id = ANY(${listOf('int', channelIds)}) AND s.active AND u.is_active
      AND ${isUserMatching(filter)}
    GROUP BY s.channel_id`,
  );
  const counts = new Map(rows.map(({ channel_id, count }) => [channel_id, count]));
  return (id) => counts.get(id) ?? 0;
}

/** The subscriber list of a channel without subscribers. */
export const NOBODY: SubscriberList = { subscribers: [], partial_subscribers: null };

/**
 * Reads the subscribers of each channel, without deactivated users. For a list of at least 250 users, `partial_subscribers`
 * contains the bots, and the users who joined the organization or polled an event queue in the last 14 days. Clients that
 * request partial lists receive these users.
 *
 * Runs at most two queries, regardless of the number of channels.
 *
 * @returns A function that returns the list by channel id.
 */
export async function readSubscribers(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
  now: Date,
): Promise<(id: number) => SubscriberList> {
  const whole = await readWholeLists(db, organizationId, channelIds);
  const isLong = (ids: readonly number[]) => ids.length >= WHOLE_LIST_BELOW;
  const long = [...whole].filter(([, ids]) => isLong(ids)).map(([id]) => id);
  const partial = await partialSubscribers(db, organizationId, long, now);
  return (id) => {
    const subscribers = whole.get(id);
    if (subscribers === undefined) return NOBODY;
    return { subscribers, partial_subscribers: isLong(subscribers) ? (partial.get(id) ?? []) : null };
  };
}

/**
 * Reads the complete subscriber list of each channel, without deactivated users. `partial_subscribers` is always null.
 *
 * Runs one query, regardless of the number of channels.
 *
 * @returns A function that returns the list by channel id.
 */
export async function readWholeSubscribers(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
): Promise<(id: number) => SubscriberList> {
  const whole = await readWholeLists(db, organizationId, channelIds);
  return (id) => ({ ...NOBODY, subscribers: whole.get(id) ?? [] });
}

async function readWholeLists(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
): Promise<Map<number, number[]>> {
  // Aggregated as JSON, because the driver parses JSON ten times faster than a PostgreSQL array.
  const rows = await readRows<{ channel_id: number; user_ids: number[] }>(
    db,
    Prisma.sql`
    SELECT s.channel_id, json_agg(s.user_id ORDER BY s.user_id) AS user_ids
    FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    WHERE s.realm_id = ${organizationId} AND s.channel_id = ANY(${listOf('int', channelIds)}) AND s.active AND u.is_active
    GROUP BY s.channel_id`,
  );
  return new Map(rows.map(({ channel_id, user_ids }) => [channel_id, user_ids]));
}

/** A page of a list of subscribers: its filter, bounds, order and size. */
export interface SubscriberPage extends UserPage {
  readonly filter: SubscriberFilter;
}

/**
 * Loads a page of the subscribers of each channel in one query. All pages have the same filter, bounds and order. Returns a
 * function that returns the page by channel id, in the sort order of the page.
 */
export async function readSubscriberPages(
  db: SqlClient,
  organizationId: number,
  channelIds: readonly number[],
  { filter, ...page }: SubscriberPage,
): Promise<(id: number) => readonly RowKey[]> {
  const rows = await readRows<FetchedRowKey & { readonly channel_id: number }>(
    db,
    Prisma.sql`
    SELECT c.id AS channel_id, page.id, page.key FROM unnest(${[...channelIds]}::int[]) AS c(id)
    CROSS JOIN LATERAL (
      SELECT u.id, ${userKey(page)} AS key, row_number() OVER (ORDER BY ${usersInOrder(page)}) AS place
      FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
      WHERE s.realm_id = ${organizationId} AND s.channel_id = c.id AND s.active AND u.is_active AND ${isUserMatching(filter)}
        AND ${isUserWithin(page)}
      ORDER BY place LIMIT ${page.limit}::bigint
    ) AS page
    ORDER BY page.place`,
  );
  const pages = Map.groupBy(rows, ({ channel_id }) => channel_id);
  return (id) => (pages.get(id) ?? []).map(rowKeyOf);
}

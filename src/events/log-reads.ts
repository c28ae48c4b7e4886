import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { readRows } from '../platform/db/rows.ts';
import { mayPass } from './define.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';

const EVENT_COLUMNS = Prisma.sql`id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids,
  public_channel_id, width, ephemeral, created_at, actor_id, octet_length(payload::text) AS bytes`;

interface EventRow {
  id: bigint;
  type: string;
  op: string | null;
  payload: unknown;
  max_role: number | null;
  channel_ids: number[];
  user_ids: number[];
  except_user_ids: number[];
  public_channel_id: number | null;
  width: number;
  ephemeral: boolean;
  created_at: Date;
  actor_id: number | null;
  bytes: number;
}

function fromRow(row: EventRow): StoredEvent {
  return {
    id: Number(row.id),
    type: row.type,
    op: row.op,
    payload: row.payload,
    audience: {
      maxRole: row.max_role,
      channelIds: row.channel_ids,
      userIds: row.user_ids,
      exceptUserIds: row.except_user_ids,
      publicChannelId: row.public_channel_id,
    },
    width: row.width,
    ephemeral: row.ephemeral,
    createdAt: row.created_at,
    actorId: row.actor_id,
    bytes: row.bytes,
  };
}

/** Returns the last id of an organization's log, and the id up to which it is pruned. */
export async function readCounter(
  db: SqlClient,
  organizationId: number,
): Promise<{ lastId: number; prunedThrough: number }> {
  const [row] = await readRows<{ last_id: bigint; pruned_through: bigint }>(
    db,
    Prisma.sql`
    SELECT last_id, pruned_through FROM event_counter WHERE realm_id = ${organizationId}`,
  );
  if (row === undefined) throw new Error(`Organization ${organizationId} has no event counter`);
  return { lastId: Number(row.last_id), prunedThrough: Number(row.pruned_through) };
}

/** Returns the last id of each organization's log, by organization id. */
export async function readCounters(db: SqlClient, organizationIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await readRows<{ realm_id: number; last_id: bigint }>(
    db,
    Prisma.sql`
    SELECT realm_id, last_id FROM event_counter WHERE realm_id = ANY(${[...organizationIds]})`,
  );
  return new Map(rows.map(({ realm_id, last_id }) => [realm_id, Number(last_id)]));
}

/**
 * Returns the last id of the organization's log, and its events after `after`, in order, at most `limit`. Both come from one
 * statement, so that no event up to the last id is missing.
 *
 * @param page `maxBytes`: once the events read so far have this many bytes, the read stops.
 * @returns `isWhole`: whether the returned events are all events up to `lastId`.
 */
export async function readLogAfter(
  db: SqlClient,
  organizationId: number,
  { after, limit, maxBytes }: { after: number; limit: number; maxBytes: number },
): Promise<{ lastId: number; events: StoredEvent[]; isWhole: boolean }> {
  const rows = await readRows<{ last_id: bigint } & (EventRow | { id: null })>(
    db,
    Prisma.sql`
    SELECT c.last_id, e.* FROM event_counter c
    LEFT JOIN LATERAL (
      SELECT * FROM (SELECT read.*, sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM (
        SELECT ${EVENT_COLUMNS} FROM event WHERE realm_id = ${organizationId} AND id > ${after} ORDER BY id LIMIT ${limit}
      ) AS read) AS summed WHERE bytes_before < ${maxBytes}
    ) AS e ON true
    WHERE c.realm_id = ${organizationId} ORDER BY e.id`,
  );
  const [first] = rows;
  if (first === undefined) throw new Error(`Organization ${organizationId} has no event counter`);
  const events = rows.flatMap((row) => (row.id === null ? [] : fromRow(row)));
  return { lastId: Number(first.last_id), events, isWhole: isWhole(events, { limit, maxBytes }) };
}

/** Returns whether the organization's log has an event of these types after `after`, or is pruned beyond `after`. */
export async function hasEventSince(
  db: SqlClient,
  organizationId: number,
  { after, types }: { after: number; types: readonly string[] },
): Promise<boolean> {
  const [row] = await readRows<{ found: boolean }>(
    db,
    Prisma.sql`
    SELECT pruned_through > ${after} OR EXISTS (
      SELECT FROM event WHERE realm_id = ${organizationId} AND id > ${after} AND type = ANY(${[...types]}::text[])
    ) AS found
    FROM event_counter WHERE realm_id = ${organizationId}`,
  );
  return row?.found !== false;
}

/**
 * A range of the log in which a user was subscribed to a channel: `began` <= id < `ended`. `ended` is null while subscribed.
 */
export interface SubscriptionStretch {
  readonly channelId: number;
  readonly began: number;
  readonly ended: number | null;
}

interface LoggedUser {
  readonly organizationId: number;
  readonly userId: number;
}

/**
 * Returns the ranges of event ids in which a user was subscribed to a channel. Only ranges that extend beyond the id `after`.
 */
export async function readStretches(
  db: SqlClient,
  { organizationId, userId }: LoggedUser,
  after: number,
): Promise<SubscriptionStretch[]> {
  const rows = await readRows<{ channel_id: number; began: bigint; ended: bigint | null }>(
    db,
    Prisma.sql`
    SELECT channel_id, began_event_id AS began, ended_event_id AS ended FROM subscription_period
    WHERE realm_id = ${organizationId} AND user_id = ${userId} AND (ended_event_id IS NULL OR ended_event_id > ${after})`,
  );
  return rows.map(({ channel_id, began, ended }) => ({
    channelId: channel_id,
    began: Number(began),
    ended: ended === null ? null : Number(ended),
  }));
}

/** Returns a user's role changes with event ids above `after`, in order. */
export async function readRoleChanges(db: SqlClient, { organizationId, userId }: LoggedUser, after: number) {
  const rows = await readRows<{ event_id: bigint; old_role: number; new_role: number }>(
    db,
    Prisma.sql`
    SELECT event_id, old_role, new_role FROM role_change
    WHERE realm_id = ${organizationId} AND user_id = ${userId} AND event_id > ${after}
    ORDER BY event_id`,
  );
  return rows.map(({ event_id, old_role, new_role }) => ({
    id: Number(event_id),
    oldRole: old_role,
    newRole: new_role,
  }));
}

/**
 * Returns events that may concern one user, after `after` and up to `through`, in order, at most `limit` rows. These are events
 * addressed to roles, to channels while the user was subscribed, or to the user: a superset of the events that the user
 * receives. The caller filters them with `receives`. Each branch of the UNION reads only its own part of an index, so the log
 * of an organization with many events is never scanned.
 *
 * @param user `types`: the only types of events to return; null for all. `narrow`: events that certainly do not pass this
 *   filter are omitted.
 * @param page `maxBytes`: once the rows read so far have this many bytes, the read stops. A thousand long rows need more memory
 *   than a small process has.
 * @returns `isWhole`: whether the read returned all such events up to `through`.
 */
export async function readLogFor(
  db: SqlClient,
  organizationId: number,
  user: {
    userId: number;
    stretches: readonly SubscriptionStretch[];
    allPublicChannels: boolean;
    types: readonly string[] | null;
    narrow: QueueOptions['narrow'];
  },
  { after, through, limit, maxBytes }: { after: number; through: number; limit: number; maxBytes: number },
): Promise<{ events: StoredEvent[]; isWhole: boolean }> {
  const wanted = [
    ...(user.types === null ? [] : [Prisma.sql`type = ANY(${[...user.types]}::text[])`]),
    ...mayPass(user.narrow, user.userId),
  ];
  const range = Prisma.join([Prisma.sql`id > ${after} AND id <= ${through}`, ...wanted], ' AND ');
  const page = Prisma.sql`ORDER BY id LIMIT ${limit}`;
  const stretches = JSON.stringify(user.stretches);
  const ofChannels = (place: Prisma.Sql) => Prisma.sql`
    SELECT e.id FROM jsonb_to_recordset(${stretches}::jsonb) AS s("channelId" int, began bigint, ended bigint),
    LATERAL (
      SELECT id FROM event WHERE realm_id = ${organizationId} AND ${range} AND ${place} = s."channelId"
        AND id >= s.began AND (s.ended IS NULL OR id < s.ended) ${page}
    ) AS e`;
  const publicMessages = user.allPublicChannels
    ? Prisma.sql`UNION (SELECT id FROM event
        WHERE realm_id = ${organizationId} AND ${range} AND public_channel_id IS NOT NULL ${page})`
    : Prisma.empty;
  const rows = await readRows<EventRow>(
    db,
    Prisma.sql`
    SELECT * FROM (SELECT read.*, sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM (
    SELECT ${EVENT_COLUMNS} FROM event JOIN (SELECT id AS wanted_id FROM (
      (SELECT id FROM event WHERE realm_id = ${organizationId} AND ${range} AND max_role IS NOT NULL ${page})
      UNION (SELECT id FROM event WHERE realm_id = ${organizationId} AND ${range} AND user_ids[1] = ${user.userId} ${page})
      UNION (SELECT id FROM event WHERE realm_id = ${organizationId} AND ${range} AND user_ids[2] = ${user.userId} ${page})
      UNION (SELECT id FROM event WHERE realm_id = ${organizationId} AND ${range} AND user_ids[3] IS NOT NULL
        AND user_ids @> ${[user.userId]}::int[] ${page})
      UNION (${ofChannels(Prisma.sql`channel_ids[1]`)})
      UNION (${ofChannels(Prisma.sql`channel_ids[2]`)})
      ${publicMessages}
    ) AS concerned ORDER BY id LIMIT ${limit}) AS wanted ON id = wanted_id
    WHERE realm_id = ${organizationId} OFFSET 0) AS read) AS summed
    WHERE bytes_before < ${maxBytes} ORDER BY id`,
  );
  return { events: rows.map(fromRow), isWhole: isWhole(rows, { limit, maxBytes }) };
}

/** Returns whether a read returned all rows that it could have returned, and did not stop at a limit. */
function isWhole(
  read: readonly { readonly bytes: number }[],
  { limit, maxBytes }: { limit: number; maxBytes: number },
): boolean {
  return read.length < limit && read.reduce((sum, { bytes }) => sum + bytes, 0) < maxBytes;
}

import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import type { Presence } from './wire.ts';

/** Default value of `historyDays`, in days. */
const DEFAULT_HISTORY_DAYS = 14;
/** Maximum number of users in one query for presence. Queries for more are refused with `ValidationError`. */
export const MAX_USERS = 500;

/** The selection of presence that a client requests. */
export interface PresenceQuery {
  /**
   * Value of `lastUpdateId` in an earlier response. If positive, only changes after that response are returned. Otherwise the
   * presence of all users is returned.
   */
  readonly newerThan?: number | undefined;
  /**
   * If all presence is requested, excludes users who were not seen for this many days. Default: 14. With 0, no presence is
   * returned.
   */
  readonly historyDays?: number | null | undefined;
  /** Ids of the users whose presence is returned, at most 500. Absent: all users. With ids, `historyDays` has no default. */
  readonly userIds?: readonly number[] | null | undefined;
}

/** The range of presence changes that one query reads, and their order. */
export interface PresencePage {
  /** Exclusive lower bound of `updateId`. */
  readonly above: number;
  /** Exclusive upper bound of `updateId`. */
  readonly below: number;
  readonly limit: number;
  /** Whether the latest change is the first item of the result. */
  readonly newestFirst: boolean;
}

const WHOLE: PresencePage = {
  above: Number.MIN_SAFE_INTEGER,
  below: Number.MAX_SAFE_INTEGER,
  limit: Number.MAX_SAFE_INTEGER,
  newestFirst: false,
};

/** Presence of users, sorted by the id of the last change: ascending, or descending for `newestFirst`. */
export interface Presences {
  readonly presences: readonly Presence[];
  /**
   * Value of `updateId` of the last item. If the list is empty, `newerThan` of this request (default: -1). In an ascending
   * list, this is the value of `newerThan` for the next request.
   */
  readonly lastUpdateId: number;
}

interface PresenceRow {
  readonly userId: number;
  readonly email: string;
  readonly visibility: number;
  /**
   * Time of the user's last activity, in ms since 1970. Times are read as numbers, because drivers create a string and a date
   * for each timestamp, which is slow for ten thousand rows.
   */
  readonly activeAt: number;
  readonly idleAt: number;
  readonly updateId: bigint;
}

/** Columns of a presence. For a user who was never active, the time of joining is used, because clients require a number. */
const COLUMNS = Prisma.sql`
  p.user_id AS "userId", u.email, COALESCE((u.settings->>'email_address_visibility')::int, ${VISIBLE_TO_EVERYONE})
  AS visibility, extract(epoch FROM COALESCE(p.active_at, u.joined_at))::float8 * 1000 AS "activeAt",
  extract(epoch FROM COALESCE(p.idle_at, u.joined_at))::float8 * 1000 AS "idleAt", p.update_id AS "updateId"`;

const SEEN = Prisma.sql`presence p JOIN user_account u ON u.realm_id = p.realm_id AND u.id = p.user_id AND u.is_active AND u.bot_type IS NULL`;

const toPresence = ({ userId, email, visibility, activeAt, idleAt, updateId }: PresenceRow): Presence => ({
  user: { id: userId, email, botType: null, emailAddressVisibility: visibility },
  activeAt: new Date(activeAt),
  idleAt: new Date(idleAt),
  updateId: Number(updateId),
});

/**
 * Returns the presence of the organization's active users, without bots. The ids of changes increase in commit order, so a
 * request with the last id of the previous response misses no change.
 *
 * @throws ValidationError if `historyDays` is negative, or if there are more than 500 user ids.
 */
export async function readPresences(
  db: SqlClient,
  organization: Organization,
  { newerThan = -1, ...query }: PresenceQuery,
  now: Date,
  { above, below, limit, newestFirst }: PresencePage = WHOLE,
): Promise<Presences> {
  const isListed = listed(organization, { newerThan, ...query }, now);
  if (isListed === null) return { presences: [], lastUpdateId: newerThan };
  const rows = await readRows<PresenceRow>(
    db,
    Prisma.sql`
    SELECT ${COLUMNS} FROM ${SEEN}
    WHERE p.realm_id = ${organization.id} AND ${isListed} AND p.update_id > ${BigInt(above)} AND p.update_id < ${BigInt(below)}
    ORDER BY p.update_id ${newestFirst ? Prisma.sql`DESC` : Prisma.empty} LIMIT ${BigInt(limit)}`,
  );
  const presences = rows.map(toPresence);
  return { presences, lastUpdateId: presences.at(-1)?.updateId ?? newerThan };
}

/**
 * Returns the number of presences that a query without bounds finds.
 *
 * @throws ValidationError if `historyDays` is negative, or if there are more than 500 user ids.
 */
export async function countPresences(
  db: SqlClient,
  organization: Organization,
  query: PresenceQuery,
  now: Date,
): Promise<number> {
  const isListed = listed(organization, query, now);
  if (isListed === null) return 0;
  const [row] = await readRows<{ count: number }>(
    db,
    Prisma.sql`SELECT count(*)::int AS count FROM ${SEEN}
      WHERE p.realm_id = ${organization.id} AND ${isListed}`,
  );
  return row?.count ?? 0;
}

/**
 * Builds the SQL condition for the presences of a query. Null if none can match.
 *
 * @throws ValidationError if `historyDays` is negative, or if there are more than 500 user ids.
 */
function listed(
  organization: Organization,
  { newerThan = -1, historyDays, userIds }: PresenceQuery,
  now: Date,
): Prisma.Sql | null {
  if (userIds != null && userIds.length > MAX_USERS) {
    const message = `userIds is too long (limit: ${MAX_USERS} items)`;
    throw new ValidationError(message, { parameter: 'userIds', maximum: MAX_USERS });
  }
  const days = historyDays ?? (userIds == null ? DEFAULT_HISTORY_DAYS : Number.POSITIVE_INFINITY);
  if (days < 0) {
    throw new ValidationError('history_limit_days is too small', {
      parameter: 'history_limit_days',
      minimum: 0,
      value: days,
      schemaMessage: 'The number of days cannot be negative.',
    });
  }
  if (days === 0 || organizationSetting(organization, 'presence_disabled')) return null;
  const since = new Date(Math.max(0, now.getTime() - days * 86_400_000));
  const isAmong =
    userIds == null ? Prisma.empty : Prisma.sql`AND p.user_id = ANY(${listOf('int', userIds.filter(isRowId))})`;
  return Prisma.sql`p.update_id > ${BigInt(newerThan)}
    AND (${newerThan > 0} OR p.idle_at >= ${since}) ${isAmong}`;
}

/** Returns the presence of these users of the viewer's organization. Users whose presence is not stored are absent. */
export async function presencesOf(
  { work: { db }, viewer: { organization } }: Pick<Ctx, 'work' | 'viewer'>,
  userIds: readonly number[],
): Promise<Map<number, Presence>> {
  if (organizationSetting(organization, 'presence_disabled')) return new Map();
  const rows = await db.$queryRaw<PresenceRow[]>`
    SELECT ${COLUMNS} FROM ${SEEN} WHERE p.realm_id = ${organization.id} AND p.user_id = ANY(${[...userIds]})`;
  return new Map(rows.map((row) => [row.userId, toPresence(row)]));
}

/**
 * Returns the presence of a user.
 *
 * @param named Id or email address of the user in the request, for the error message.
 * @throws NotFoundError if the user is deactivated, or has no presence.
 * @throws ValidationError if the user is a bot.
 */
export async function accessPresence(ctx: Ctx, user: User, named: number | string): Promise<Presence> {
  const parameter = typeof named === 'number' ? 'user_id' : 'email';
  if (!user.isActive) throw new NotFoundError('No such user', { type: 'User', parameter });
  if (user.botType !== null) throw new ValidationError('Presence is not supported for bot users.', { parameter });
  const presence = (await presencesOf(ctx, [user.id])).get(user.id);
  if (presence === undefined) {
    throw new NotFoundError(`No presence data for ${named}`, { type: 'UserPresence', parameter });
  }
  return presence;
}

import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { Prisma, type Realm, type User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { BadRequestError } from '../../platform/errors.ts';
import type { Presence } from './wire.ts';

/** Default age limit of presence, in days. */
const DEFAULT_HISTORY_DAYS = 14;

/** Presence that a client requests. */
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
}

/** A page of the result. */
export interface PresencePage {
  /** Exclusive lower bound of `updateId`. */
  readonly above: number;
  /** Exclusive upper bound of `updateId`. */
  readonly below: number;
  readonly limit: number;
  /** Whether the latest change comes first. */
  readonly newestFirst: boolean;
}

const WHOLE: PresencePage = {
  above: Number.MIN_SAFE_INTEGER,
  below: Number.MAX_SAFE_INTEGER,
  limit: Number.MAX_SAFE_INTEGER,
  newestFirst: false,
};

/** Presence of users, in the order of changes. */
export interface Presences {
  readonly presences: readonly Presence[];
  /** Value of `newerThan` for the next request. If there is no presence, the value of this request, or -1. */
  readonly lastUpdateId: number;
}

interface PresenceRow {
  readonly userId: number;
  readonly email: string;
  readonly visibility: number;
  /**
   * Milliseconds since 1970. Not text: for ten thousand rows, drivers would create a string and a date for each time.
   */
  readonly activeAt: number;
  readonly idleAt: number;
  readonly updateId: bigint;
}

/** Columns of a presence. For a user who was never active, the time is that of joining, because clients require a number. */
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
 * Returns the presence of the organization's active users, without bots. Ids of changes are assigned in commit order,
 * so a request for changes after the last response misses none.
 *
 * @throws BadRequestError if `historyDays` is negative.
 */
export async function readPresences(
  db: SqlClient,
  realm: Realm,
  { newerThan = -1, historyDays }: PresenceQuery,
  now: Date,
  { above, below, limit, newestFirst }: PresencePage = WHOLE,
): Promise<Presences> {
  const days = historyDays ?? DEFAULT_HISTORY_DAYS;
  if (days < 0) throw new BadRequestError('history_limit_days is too small');
  const nothing = { presences: [], lastUpdateId: newerThan };
  if (days === 0 || realmSetting(realm, 'presence_disabled')) return nothing;
  const since = new Date(Math.max(0, now.getTime() - days * 86_400_000));
  const rows = await readRows<PresenceRow>(
    db,
    Prisma.sql`
    SELECT ${COLUMNS} FROM ${SEEN}
    WHERE p.realm_id = ${realm.id} AND p.update_id > ${BigInt(Math.max(newerThan, above))} AND p.update_id < ${BigInt(below)}
      AND (${newerThan > 0} OR p.idle_at >= ${since})
    ORDER BY p.update_id ${newestFirst ? Prisma.sql`DESC` : Prisma.empty} LIMIT ${BigInt(limit)}`,
  );
  const presences = rows.map(toPresence);
  return { presences, lastUpdateId: presences.at(-1)?.updateId ?? newerThan };
}

/** Returns the presence of these users of the viewer's organization. Users whose presence is not stored are absent. */
export async function presencesOf(
  { app: { db }, viewer: { realm } }: Pick<Ctx, 'app' | 'viewer'>,
  userIds: readonly number[],
): Promise<Map<number, Presence>> {
  if (realmSetting(realm, 'presence_disabled')) return new Map();
  const rows = await db.$queryRaw<PresenceRow[]>`
    SELECT ${COLUMNS} FROM ${SEEN} WHERE p.realm_id = ${realm.id} AND p.user_id = ANY(${[...userIds]})`;
  return new Map(rows.map((row) => [row.userId, toPresence(row)]));
}

/**
 * Returns the presence of a user.
 *
 * @param named Name that the client used for the user, for the error message.
 * @throws BadRequestError if the user is a bot, is deactivated, or has no presence.
 */
export async function accessPresence(ctx: Ctx, user: User, named: number | string): Promise<Presence> {
  if (!user.isActive) throw new BadRequestError('No such user');
  if (user.botType !== null) throw new BadRequestError('Presence is not supported for bot users.');
  const presence = (await presencesOf(ctx, [user.id])).get(user.id);
  if (presence === undefined) throw new BadRequestError(`No presence data for ${named}`);
  return presence;
}

import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { Prisma, type Realm, type User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { BadRequestError } from '../../platform/errors.ts';
import type { Presence } from './wire.ts';

/** How far back presence goes without a wish of the client's. */
const DEFAULT_HISTORY_DAYS = 14;

/** What a client wants of presence. */
export interface PresenceQuery {
  /** What has changed since an answer with this `lastUpdateId`; 0 and less: everything. */
  readonly newerThan?: number | undefined;
  /** Leaves out who was not seen for longer, where everything is asked for; 0: no presence at all. 14 when absent. */
  readonly historyDays?: number | null | undefined;
}

/** A stretch of the answer. */
export interface PresencePage {
  /** `updateId` is above this. */
  readonly above: number;
  /** `updateId` is below this. */
  readonly below: number;
  readonly limit: number;
  /** Whether those that changed last come first. */
  readonly newestFirst: boolean;
}

const WHOLE: PresencePage = {
  above: Number.MIN_SAFE_INTEGER,
  below: Number.MAX_SAFE_INTEGER,
  limit: Number.MAX_SAFE_INTEGER,
  newestFirst: false,
};

/** Who was there when, in the order in which it changed. */
export interface Presences {
  readonly presences: readonly Presence[];
  /** What to ask for newer than this the next time; -1 when there is nothing. */
  readonly lastUpdateId: number;
}

interface PresenceRow {
  readonly userId: number;
  readonly email: string;
  readonly visibility: number;
  /** Milliseconds since 1970: of ten thousand times as texts, drivers make as many texts and times more. */
  readonly activeAt: number;
  readonly idleAt: number;
  readonly updateId: bigint;
}

/** Who was never seen doing anything counts from when they joined: clients take a number. */
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
 * The presence of the organisation's active people. Ids of changes are given in the order of commits, so that asking for
 * what is newer than the last answer misses nothing.
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

/** The presence of these users of the viewer's organisation, of those of them who have any. */
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
 * The presence of somebody.
 *
 * @param named What the client called them, for the refusal.
 * @throws BadRequestError for a bot, for who is deactivated, and when they have no presence.
 */
export async function accessPresence(ctx: Ctx, user: User, named: number | string): Promise<Presence> {
  if (!user.isActive) throw new BadRequestError('No such user');
  if (user.botType !== null) throw new BadRequestError('Presence is not supported for bot users.');
  const presence = (await presencesOf(ctx, [user.id])).get(user.id);
  if (presence === undefined) throw new BadRequestError(`No presence data for ${named}`);
  return presence;
}

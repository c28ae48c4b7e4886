import { LRUCache } from 'lru-cache';
import { lockKind } from '../platform/db/advisory-lock.ts';
import type { Database, SqlClient, Tx } from '../platform/db/client.ts';
import { ConflictError } from '../platform/errors.ts';
import { requireWithin, TOTALS } from '../platform/totals.ts';

/** A user's idempotency key, under which a change was made. */
interface Keyed {
  readonly organizationId: number;
  readonly userId: number;
  readonly key: string;
}

/**
 * Maximum length of a stored response, in bytes. A longer response is not stored: a repetition of its request is refused with
 * `ReplyNotKeptError`. Only responses to bulk changes can be longer.
 */
const MAX_REPLY_BYTES = 64 * 1024;
/**
 * Maximum number of bytes of stored responses per user: about 1,000 of the longest responses. A response beyond the limit is
 * not stored: a repetition of its request is refused with `ReplyNotKeptError`. Responses of up to a kilobyte do not count,
 * because the limit on idempotency keys bounds their number.
 */
const MAX_REPLIES_BYTES = 64 * 1024 * 1024;

/**
 * The error for a repeated request whose change was made, but whose response is not stored: it was too long, or message
 * retention has erased it.
 */
export class ReplyNotKeptError extends ConflictError {
  override readonly data = { reason: 'reply_not_kept' };

  constructor() {
    super('This request was already executed once, but its reply is not stored.');
  }
}

/**
 * If a user can add fewer idempotency keys than this, the keys of the user are counted under a lock. The number is larger than
 * the number of requests that a user can have in progress.
 */
const MARGIN = 1_000;

/**
 * Checks that a user does not have too many idempotency keys, after a key was inserted. Near the limit, requests of the user
 * wait for each other, so that concurrent requests cannot exceed the limit.
 *
 * @throws TotalReachedError if the user has too many keys.
 */
export async function requireRoomForKey(database: Database, tx: Tx, { organizationId, userId }: Keyed): Promise<void> {
  if (await hasAmpleRoom({ database, db: tx }, { organizationId, userId })) return;
  const { max } = TOTALS.idempotency_keys;
  if ((await countKeys(tx, { organizationId, userId }, max - MARGIN)) < max - MARGIN) return;
  await lockKind(tx, 'idempotency_keys', userId);
  requireWithin('idempotency_keys', await countKeys(tx, { organizationId, userId }, max + 1));
}

/**
 * Minimum number of idempotency keys that a user can still add if `hasAmpleRoom` returns true. No user can add so many within
 * `CACHED_MS`, for which the result is cached.
 */
const AMPLE_ROOM = 40_000;
/** Lifetime of a cached result of `hasAmpleRoom`, in milliseconds. */
const CACHED_MS = 10_000;
/**
 * Maximum number of users with a cached result of `hasAmpleRoom`. Beyond it, the result used least recently is dropped and
 * computed again when needed.
 */
const MAX_CACHED = 10_000;
const cachedChecks = new WeakMap<Database, LRUCache<number, true>>();

/**
 * Returns whether a user can add at least `AMPLE_ROOM` idempotency keys, so that the keys need not be counted for each new one.
 * Caches the result `true` for 10 s.
 */
export async function hasAmpleRoom(
  { database, db }: { readonly database: Database; readonly db: SqlClient },
  { organizationId, userId }: Pick<Keyed, 'organizationId' | 'userId'>,
): Promise<boolean> {
  const cached = cachedChecks.get(database) ?? new LRUCache<number, true>({ max: MAX_CACHED, ttl: CACHED_MS });
  cachedChecks.set(database, cached);
  if (cached.has(userId)) return true;
  const most = TOTALS.idempotency_keys.max - AMPLE_ROOM;
  if ((await countKeys(db, { organizationId, userId }, most)) >= most) return false;
  cached.set(userId, true);
  return true;
}

/** Counts the idempotency keys of a user. Stops counting at `limit`. */
async function countKeys(
  tx: SqlClient,
  { organizationId, userId }: Pick<Keyed, 'organizationId' | 'userId'>,
  limit: number,
): Promise<number> {
  const [held] = await tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT 1 FROM idempotency_record WHERE realm_id = ${organizationId} AND user_id = ${userId} LIMIT ${limit}) AS held`;
  return held?.count ?? 0;
}

/**
 * Stores the response of a change for its repetitions, as part of the change. If the response is too long, or exceeds the
 * user's limit, only the key is stored, so that the change is not made twice.
 *
 * @param reply JSON. Stored as text: a JSON column would reorder its fields.
 */
export async function keepReply(tx: Tx, { organizationId, userId, key }: Keyed, reply: string): Promise<void> {
  const bytes = Buffer.byteLength(reply);
  if (bytes > MAX_REPLY_BYTES) return;
  // Uses a single statement, because the change may already hold the event counter, for which other changes of the organization
  // wait. The index `idempotency_record_large` has the predicate `reply_bytes > 1024`.
  await tx.$executeRaw`
    UPDATE idempotency_record SET result = ${JSON.stringify(reply)}::jsonb, reply_bytes = ${bytes}
    WHERE realm_id = ${organizationId} AND user_id = ${userId} AND key = ${key} AND ${bytes} + (
      SELECT COALESCE(sum(reply_bytes), 0) FROM idempotency_record
      WHERE realm_id = ${organizationId} AND user_id = ${userId} AND reply_bytes > 1024) <= ${MAX_REPLIES_BYTES}`;
}

/**
 * The result that is stored under an idempotency key: the response, or the data of the change (`storedData`) from which the
 * response is rendered.
 */
export type KeptResult = { readonly reply: unknown } | { readonly storedData: object };

/**
 * Returns the result that was stored under an idempotency key. Nodes of the previous version stored responses only.
 *
 * @param record.result JSON: the response as a string, or data as an object.
 * @throws ReplyNotKeptError if the response was not stored.
 */
export function keptResult({ result }: { readonly result: unknown }): KeptResult {
  if (typeof result === 'string') return { reply: JSON.parse(result) };
  if (typeof result === 'object' && result !== null) return { storedData: result };
  throw new ReplyNotKeptError();
}

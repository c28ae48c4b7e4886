import { lockKind } from '../platform/db/advisory-lock.ts';
import type { Database, SqlClient, Tx } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { requireWithin, TOTALS } from '../platform/totals.ts';

/** A user's idempotency key, under which a change was made. */
interface Keyed {
  readonly realmId: number;
  readonly userId: number;
  readonly key: string;
}

/** Longest stored response, in bytes. The longest responses to single changes fit; those to bulk changes may not. */
const MAX_REPLY_BYTES = 64 * 1024;
/**
 * Maximum number of bytes of stored responses per user: about 250 of the longest. Responses up to a kilobyte are bounded by the
 * number of keys.
 */
const MAX_REPLIES_BYTES = 16 * 1024 * 1024;

/** The error for a repeated request whose change was made, but whose response was too long to store. */
export class ReplyNotKeptError extends BadRequestError {
  override readonly data = { reason: 'reply_not_kept' };

  constructor() {
    super('This request was already executed once, but its reply was too long to be stored.');
  }
}

/** Distance from the limit of keys at which keys are counted under a lock: more than one user's requests in progress. */
const MARGIN = 1_000;

/**
 * Checks the limit of keys after a key was inserted. Requests of a user wait for each other only near the limit, so that
 * concurrent requests cannot exceed it.
 *
 * @throws TotalReachedError if the user has too many keys.
 */
export async function requireRoomForKey(tx: Tx, { realmId, userId }: Keyed): Promise<void> {
  const { max } = TOTALS.idempotency_keys;
  if ((await countKeys(tx, { realmId, userId }, max - MARGIN)) < max - MARGIN) return;
  await lockKind(tx, 'idempotency_keys', userId);
  requireWithin('idempotency_keys', await countKeys(tx, { realmId, userId }, max + 1));
}

/** Lifetime of a cached check, in milliseconds. No user takes the remaining keys within this time. */
const BELIEVED_MS = 10_000;
/** Maximum number of users with a cached check. */
const MAX_BELIEVED = 10_000;
const believed = new WeakMap<Database, Map<number, number>>();

/** Returns whether a user has so few keys that one more need not be counted. A positive result is cached for a while. */
export async function hasAmpleRoom(
  { database, db }: { readonly database: Database; readonly db: SqlClient },
  { realmId, userId }: Pick<Keyed, 'realmId' | 'userId'>,
): Promise<boolean> {
  const untilByUser = believed.get(database) ?? new Map<number, number>();
  believed.set(database, untilByUser);
  const now = performance.now();
  if ((untilByUser.get(userId) ?? 0) > now) return true;
  const half = TOTALS.idempotency_keys.max / 2;
  if ((await countKeys(db, { realmId, userId }, half)) >= half) return false;
  if (untilByUser.size >= MAX_BELIEVED) untilByUser.clear();
  untilByUser.set(userId, now + BELIEVED_MS);
  return true;
}

/** Counts the keys of a user, at most up to `limit`. */
async function countKeys(
  tx: SqlClient,
  { realmId, userId }: Pick<Keyed, 'realmId' | 'userId'>,
  limit: number,
): Promise<number> {
  const [held] = await tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT 1 FROM idempotency_record WHERE realm_id = ${realmId} AND user_id = ${userId} LIMIT ${limit}) AS held`;
  return held?.count ?? 0;
}

/**
 * Stores the response of a change for its repetitions, as part of the change. If the response is too long, or exceeds the
 * user's limit, only the key is stored, so that the change is not made twice.
 *
 * @param reply JSON. Stored as text: a JSON column would reorder its fields.
 */
export async function keepReply(tx: Tx, { realmId, userId, key }: Keyed, reply: string): Promise<void> {
  const bytes = Buffer.byteLength(reply);
  if (bytes > MAX_REPLY_BYTES) return;
  // Uses a single statement, because the change may already hold the event counter, for which other changes of the organization
  // wait. The index `idempotency_record_large` has the predicate `reply_bytes > 1024`.
  await tx.$executeRaw`
    UPDATE idempotency_record SET result = ${JSON.stringify(reply)}::jsonb, reply_bytes = ${bytes}
    WHERE realm_id = ${realmId} AND user_id = ${userId} AND key = ${key} AND ${bytes} + (
      SELECT COALESCE(sum(reply_bytes), 0) FROM idempotency_record
      WHERE realm_id = ${realmId} AND user_id = ${userId} AND reply_bytes > 1024) <= ${MAX_REPLIES_BYTES}`;
}

/** The result that is stored under a key: the response, or the facts of the change from which the response is rendered. */
export type KeptResult = { readonly reply: unknown } | { readonly facts: object };

/**
 * Returns the result that was stored under a key. Nodes of the previous version stored responses only.
 *
 * @param record.result JSON: the response as a string, or facts as an object.
 * @throws ReplyNotKeptError if the response was not stored.
 */
export function keptResult({ result }: { readonly result: unknown }): KeptResult {
  if (typeof result === 'string') return { reply: JSON.parse(result) };
  if (typeof result === 'object' && result !== null) return { facts: result };
  throw new ReplyNotKeptError();
}

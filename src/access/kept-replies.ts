import { lockKind } from '../platform/db/advisory-lock.ts';
import type { Database, SqlClient, Tx } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { requireWithin, TOTALS } from '../platform/totals.ts';

/** A change that was made under an idempotency key, of one user. */
interface Keyed {
  readonly realmId: number;
  readonly userId: number;
  readonly key: string;
}

/** Our choice: the longest replies of changes that clients make one by one fit; those to bulk changes may not. */
const MAX_REPLY_BYTES = 64 * 1024;
/** Our choice, of one user: some hundred of the longest. What is kept in up to a kilobyte is bounded by the keys. */
const MAX_REPLIES_BYTES = 16 * 1024 * 1024;

/** Up to here replies are not counted, as an index has it: that there are so many keys and no more bounds them. */
const FEW_BYTES = 1024;

/** The change was made, and its reply was more than is kept. */
export class ReplyNotKeptError extends BadRequestError {
  override readonly data = { reason: 'reply_not_kept' };

  constructor() {
    super('This request was carried out before, once; its reply was too long to be kept.');
  }
}

/** More requests than one user can have under way. */
const MARGIN = 1_000;

/**
 * Refuses a key that was just taken when the user holds as many as there may be. Requests wait for each other only when
 * the user is near the limit, so that together they cannot exceed it.
 *
 * @throws TotalReachedError
 */
export async function requireRoomForKey(tx: Tx, { realmId, userId }: Keyed): Promise<void> {
  const { max } = TOTALS.idempotency_keys;
  if ((await countKeys(tx, { realmId, userId }, max - MARGIN)) < max - MARGIN) return;
  await lockKind(tx, 'idempotency_keys', userId);
  requireWithin('idempotency_keys', await countKeys(tx, { realmId, userId }, max + 1));
}

/** Our choice: in this time nobody uses so many keys that are left to them. */
const BELIEVED_MS = 10_000;
/** Our choice: users of whom it is known at once. */
const MAX_BELIEVED = 10_000;
const believed = new WeakMap<Database, Map<number, number>>();

/** Whether a user holds so few keys that one more need not be counted. Asked of the database now and then. */
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

/** Not counted further than to `limit`. */
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

/** Whether a reply is so short that there is always room for it. */
export const isHardlyAnything = (reply: string): boolean => Buffer.byteLength(reply) <= FEW_BYTES;

/**
 * Keeps the reply of a change for its repetitions, as a part of the change. Of one that is too long, or for which the
 * user has no room left, it is kept only that there was one: the change is not made twice for that.
 *
 * @param reply JSON. Kept as a text: a JSON column would put its fields in another order.
 */
export async function keepReply(tx: Tx, { realmId, userId, key }: Keyed, reply: string): Promise<void> {
  const bytes = Buffer.byteLength(reply);
  if (bytes > MAX_REPLY_BYTES) return;
  // One statement, because the change may hold the event counter by now, for which the organisation's other changes
  // wait.
  await tx.$executeRaw`
    UPDATE idempotency_record SET result = ${JSON.stringify(reply)}::jsonb, reply_bytes = ${bytes}
    WHERE realm_id = ${realmId} AND user_id = ${userId} AND key = ${key} AND ${bytes} + (
      SELECT COALESCE(sum(reply_bytes), 0) FROM idempotency_record
      WHERE realm_id = ${realmId} AND user_id = ${userId} AND reply_bytes > 1024) <= ${MAX_REPLIES_BYTES}`;
}

/**
 * The reply that was kept under a key.
 *
 * @throws ReplyNotKeptError when it was not.
 */
export function keptReply({ result }: { readonly result: unknown }): unknown {
  if (typeof result !== 'string') throw new ReplyNotKeptError();
  return JSON.parse(result);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Ctx } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Db, SqlClient } from '../../platform/db/client.ts';

const { sql } = Prisma;

/**
 * Maximum number of messages of each kind that one transaction indexes: new, changed, and older than the index. Further
 * messages are indexed by the next transaction. Writing an index entry takes about 0.3 ms, and longer for long messages, so
 * `index_messages` also limits the size of their texts. Deletions of these messages wait for the transaction.
 */
const AT_ONCE = 128;
/**
 * Maximum size of the messages without a current index entry that a search compares one by one, in bytes. If there are more,
 * the search first waits until they are indexed. A comparison takes up to 1.5 µs for each byte, and the embedded database runs
 * no other statement during the search.
 */
const UNINDEXED_BYTES = 32_768;
/**
 * Maximum time that a search waits for index entries, in milliseconds: in all, and while only other transactions index its
 * organization. Afterwards, the search compares the messages without entries one by one.
 */
const [MAX_WAIT_MS, MAX_IDLE_MS] = [30_000, 2_000];
/** Pause of a search while another transaction indexes the organization, in milliseconds. */
const PAUSE_MS = 20;

/**
 * Indexes some messages of an organization. Returns whether more are left, and the time in milliseconds that the database took.
 * Returns that none are left while another transaction indexes the organization.
 */
export async function indexSome(db: SqlClient, organizationId: number): Promise<{ isMore: boolean; tookMs: number }> {
  const [row] = await db.$queryRaw<{ is_more: boolean; took: number }[]>`
    SELECT index_messages(${organizationId}::int, ${AT_ONCE}::int) AS is_more,
           EXTRACT(EPOCH FROM clock_timestamp() - statement_timestamp())::float AS took`;
  return { isMore: row?.is_more ?? false, tookMs: (row?.took ?? 0) * 1000 };
}

/**
 * Builds SQL for the size in bytes of the messages of an organization that are new or changed since they were indexed. At most
 * `AT_ONCE` messages of each kind are read. If there are so many, the size is more than `UNINDEXED_BYTES`.
 */
export const unindexedBytes = (organizationId: number): Prisma.Sql => sql`(
  SELECT COALESCE(sum(kind.bytes + CASE WHEN kind.messages = ${AT_ONCE} THEN ${UNINDEXED_BYTES + 1} ELSE 0 END), 0)
  FROM (
    SELECT count(*) AS messages, sum(octet_length(one.content)) AS bytes FROM (
      SELECT m.content FROM message m
      WHERE m.realm_id = ${organizationId} AND m.id > COALESCE(
        (SELECT p.through_id FROM search_progress p WHERE p.realm_id = ${organizationId}), 0)
      ORDER BY m.id LIMIT ${AT_ONCE}
    ) AS one
    UNION ALL
    SELECT count(*), sum(octet_length(m.content)) FROM (
      SELECT s.message_id FROM search_stale s WHERE s.realm_id = ${organizationId} ORDER BY s.id LIMIT ${AT_ONCE}
    ) AS stale JOIN message m ON m.realm_id = ${organizationId} AND m.id = stale.message_id
  ) AS kind)`;

/** The organizations that this process indexes before searches, by database client. */
const indexing = new WeakMap<Db, Map<number, Promise<void>>>();

/**
 * Indexes messages of an organization before a search reads them, until it has to compare at most `UNINDEXED_BYTES` one by one.
 * Many short statements replace a long one, so that other requests wait less. Concurrent searches wait for the same statements.
 *
 * Does nothing in a transaction or snapshot, because the lock on the index would last until its end. Failures are logged: the
 * results of the search do not depend on the index.
 *
 * @param unindexed Current size, from `unindexedBytes`.
 */
export async function indexBeforeSearch({ work, organizationId }: Ctx, unindexed: number): Promise<void> {
  if (unindexed <= UNINDEXED_BYTES || !('app' in work) || work.db !== work.app.db) return;
  const { db, log } = work.app;
  const ofDb = indexing.get(db) ?? new Map<number, Promise<void>>();
  indexing.set(db, ofDb);
  const current =
    ofDb.get(organizationId) ??
    indexMost(db, organizationId)
      .catch((err: unknown) => log.warn({ err, organization: organizationId }, 'indexing before a search failed'))
      .finally(() => ofDb.delete(organizationId));
  ofDb.set(organizationId, current);
  await current;
}

async function indexMost(db: Db, organizationId: number): Promise<void> {
  const startedAt = performance.now();
  let progressAt = startedAt;
  for (let bytes = Number.POSITIVE_INFINITY; bytes > UNINDEXED_BYTES; ) {
    const now = performance.now();
    if (now - startedAt > MAX_WAIT_MS || now - progressAt > MAX_IDLE_MS) return;
    const { isMore } = await indexSome(db, organizationId);
    if (isMore) progressAt = performance.now();
    else await sleep(PAUSE_MS);
    const [row] = await db.$queryRaw<{ bytes: bigint }[]>`SELECT ${unindexedBytes(organizationId)} AS bytes`;
    bytes = Number(row?.bytes ?? 0);
  }
}

import type { App } from '../../access/context.ts';
import type { BackgroundReader } from '../../events/background-reader.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Db, Tx } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { isHere } from '../../platform/db/organization-moves.ts';
import { readRows } from '../../platform/db/rows.ts';

// Messages with links are found in the event log, by a background reader, as notifications are. So sending takes no additional
// statement, and a process that is killed loses no message. The jobs are a queue that any number of nodes read.

/** Maximum number of events that one transaction reads. */
const AT_ONCE = 1_000;
/** Lease of a claimed job, in milliseconds. Longer than an attempt: waiting for permits, reading pages and storing them. */
const LEASE_MS = 60_000;
/** Number of attempts after which a job is deleted. An attempt fails if the process or the database does, or under overload. */
const MAX_ATTEMPTS = 5;

/**
 * Deletes the positions of organizations that have disabled previews. If they enable them again, the messages that were sent
 * meanwhile get no previews.
 */
export async function deleteUnusedPositions({ db }: Pick<App, 'db'>): Promise<void> {
  await db.$executeRaw`
    DELETE FROM link_preview_progress p WHERE ${isHere(Prisma.sql`p.realm_id`)} AND EXISTS (
      SELECT FROM realm r WHERE r.id = p.realm_id
        AND NOT COALESCE((r.settings->>'inline_url_embed_preview')::boolean, false) OFFSET 0)`;
}

/**
 * Returns the reader that queues the messages of people that were sent or edited and have links, in organizations that show
 * previews. If an organization has no position, previews were enabled since the last run: the position is the event of that
 * change, so that earlier messages get no previews.
 */
export const linkReader = (app: Pick<App, 'now'>): BackgroundReader => ({
  table: 'link_preview_progress',
  condition: Prisma.sql`(r.settings->>'inline_url_embed_preview')::boolean`,
  start: (organizationId) => Prisma.sql`COALESCE((
    SELECT max(e.id) FROM event e WHERE e.realm_id = ${organizationId} AND e.type = 'realm'
      AND e.payload->'data' @> '{"inline_url_embed_preview": true}'::jsonb), c.last_id)`,
  atOnce: AT_ONCE,
  failure: 'messages with links of an organization could not be queued, retrying',
  async read(tx, { organizationId, throughId, lastId, atOnce }) {
    const end = throughId + BigInt(atOnce);
    const toId = end < lastId ? end : lastId;
    const queued = await tx.$executeRaw`
      INSERT INTO link_preview_job AS j (realm_id, message_id, next_attempt_at)
      SELECT DISTINCT m.realm_id, m.id, ${app.now()}::timestamptz
      FROM event e
      JOIN message m ON m.realm_id = e.realm_id AND m.id = (e.payload->>'id')::bigint AND m.has_link
      JOIN user_account u ON u.realm_id = m.realm_id AND u.id = m.sender_id AND u.bot_type IS NULL AND NOT u.is_system
      WHERE e.realm_id = ${organizationId} AND e.id > ${throughId} AND e.id <= ${toId}
        AND (e.type = 'message' OR (e.type = 'update_message' AND jsonb_typeof(e.payload->'content') = 'object'))
      ON CONFLICT (realm_id, message_id) DO UPDATE SET attempts = 0, next_attempt_at = excluded.next_attempt_at`;
    return { throughId: toId, isDue: queued > 0 };
  },
});

/** A job that this node has claimed. */
export interface Job {
  readonly organizationId: number;
  readonly messageId: bigint;
}

/**
 * Claims the job that has been due the longest. Undefined if none is due.
 *
 * @param passedOver Organizations whose jobs are not claimed.
 */
export async function claimJob(
  { db, now }: Pick<App, 'db' | 'now'>,
  passedOver: readonly number[] = [],
): Promise<Job | undefined> {
  const time = now();
  const [claimed] = await readRows<Job>(
    db,
    Prisma.sql`
    WITH due AS (
      SELECT j.realm_id, j.message_id FROM link_preview_job j
      WHERE j.next_attempt_at <= ${time}::timestamptz AND j.attempts < ${MAX_ATTEMPTS}
        AND NOT j.realm_id = ANY (${listOf('int', passedOver)}) AND ${isHere(Prisma.sql`j.realm_id`)}
      ORDER BY j.next_attempt_at LIMIT 1 FOR UPDATE OF j SKIP LOCKED
    )
    UPDATE link_preview_job c
    SET attempts = c.attempts + 1, next_attempt_at = ${new Date(time.getTime() + LEASE_MS)}::timestamptz
    FROM due d WHERE c.realm_id = d.realm_id AND c.message_id = d.message_id
    RETURNING c.realm_id AS "organizationId", c.message_id AS "messageId"`,
  );
  return claimed;
}

/** Deletes the jobs whose last attempt has failed, and logs their number by organization. */
export async function giveUpJobs({ db, log, now }: Pick<App, 'db' | 'log' | 'now'>): Promise<void> {
  const rows = await readRows<{ organization: number; count: number }>(
    db,
    Prisma.sql`
    WITH deleted AS (
      DELETE FROM link_preview_job j
      WHERE j.next_attempt_at <= ${now()}::timestamptz AND j.attempts >= ${MAX_ATTEMPTS}
        AND ${isHere(Prisma.sql`j.realm_id`)}
      RETURNING j.realm_id
    )
    SELECT d.realm_id AS organization, count(*)::int AS count FROM deleted d GROUP BY d.realm_id ORDER BY d.realm_id`,
  );
  for (const { organization, count } of rows) {
    log.warn({ organization, count, attempts: MAX_ATTEMPTS }, 'previews of links were given up after failed attempts');
  }
}

/** Deletes a job: the message has its previews, or is to have none. */
export async function deleteJob(db: Pick<Tx, '$executeRaw'>, { organizationId, messageId }: Job): Promise<void> {
  await db.$executeRaw`DELETE FROM link_preview_job WHERE realm_id = ${organizationId} AND message_id = ${messageId}`;
}

/** Makes a claimed job due again after its attempt was aborted. The attempt does not count. */
export async function releaseJob(
  { db, now }: Pick<App, 'db' | 'now'>,
  { organizationId, messageId }: Job,
): Promise<void> {
  await db.$executeRaw`
    UPDATE link_preview_job SET attempts = attempts - 1, next_attempt_at = ${now()}::timestamptz
    WHERE realm_id = ${organizationId} AND message_id = ${messageId} AND attempts > 0`;
}

/**
 * Ends the leases of all claimed jobs. Call it at the start of the only process that uses the database: attempts of the previous
 * process have ended.
 */
export async function endLeases({ db, now }: Pick<App, 'db' | 'now'>): Promise<void> {
  await db.$executeRaw`UPDATE link_preview_job SET next_attempt_at = ${now()}::timestamptz WHERE attempts > 0`;
}

/** Deletes the stored data of pages that has expired. */
export async function purgePages(db: Db, now: Date): Promise<void> {
  await db.$executeRaw`
    DELETE FROM link_preview p WHERE p.expires_at < ${now}::timestamptz
      AND ${isHere(Prisma.sql`p.realm_id`)}`;
}

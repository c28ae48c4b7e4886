import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { readRows } from '../platform/db/rows.ts';
import { TOTALS } from '../platform/totals.ts';

/**
 * SQL aggregate for the total size, in bytes, of the Markdown and HTML in rows of `message_edit`. The database computes the
 * size without loading the texts.
 */
export const SUM_OF_VERSIONS = Prisma.sql`
  COALESCE(sum(octet_length(prev_content) + octet_length(prev_rendered_content)), 0)::float8`;

/** Approximate size of an entry of an edit history without its texts, in bytes. */
export const ENTRY_BYTES = 200;

/**
 * A stored edit or move of a message. Fields that begin with `prev` have values before the change, and are null for unchanged
 * values.
 */
export interface StoredEdit {
  readonly id: bigint;
  readonly messageId: bigint;
  readonly editorId: number;
  readonly editedAt: Date;
  /** Markdown before the edit. Null if the edit did not change the content. */
  readonly prevContent: string | null;
  /** HTML before the edit. Null if the edit did not change the content, or if the HTML was not read. */
  readonly prevRenderedContent: string | null;
  readonly prevTopic: string | null;
  readonly prevChannelId: number | null;
}

/**
 * Reads the stored edits of messages, in any order. If a history exceeds the limits in `TOTALS`, only its first version and the
 * newest versions within the limits are returned.
 *
 * @param readsHtml Whether to read the HTML of earlier versions. Lists of messages do not contain that HTML.
 */
export function readEdits(
  db: SqlClient,
  organizationId: number,
  messageIds: readonly (number | bigint)[],
  { readsHtml }: { readonly readsHtml: boolean },
): Promise<StoredEdit[]> {
  const { versions_per_message, versions_per_message_total_bytes } = TOTALS;
  return readRows<StoredEdit>(
    db,
    Prisma.sql`
      SELECT id, message_id AS "messageId", editor_id AS "editorId", edited_at AS "editedAt",
             prev_content AS "prevContent", prev_topic AS "prevTopic", prev_channel_id AS "prevChannelId",
             ${readsHtml ? Prisma.sql`prev_rendered_content` : Prisma.sql`NULL::text`} AS "prevRenderedContent"
      FROM (
        SELECT *, row_number() OVER (PARTITION BY message_id, prev_content IS NULL ORDER BY id) = 1 AS "isFirst",
               row_number() OVER newest AS number, sum(octet_length(prev_content)::bigint
                 + octet_length(prev_rendered_content)) OVER newest AS bytes
        FROM message_edit WHERE realm_id = ${organizationId} AND message_id = ANY(${messageIds.map(BigInt)}::bigint[])
        WINDOW newest AS (PARTITION BY message_id, prev_content IS NULL ORDER BY id DESC)
      ) AS edit
      WHERE "isFirst" OR (number <= ${versions_per_message.max}
        AND COALESCE(bytes, 0) <= ${versions_per_message_total_bytes.max})`,
  );
}

/**
 * Returns an upper bound, in bytes, for the total size of the earlier versions that `readEdits` would return for the messages.
 */
export async function bytesOfEdits(
  db: SqlClient,
  organizationId: number,
  messageIds: readonly bigint[],
): Promise<number> {
  const [sum] = await readRows<{ bytes: number }>(
    db,
    Prisma.sql`
      SELECT COALESCE(sum(LEAST(bytes, ${TOTALS.versions_per_message_total_bytes.max}::float8)), 0) AS bytes FROM (
        SELECT ${SUM_OF_VERSIONS} AS bytes FROM message_edit
        WHERE realm_id = ${organizationId} AND message_id = ANY(${[...messageIds]}::bigint[]) GROUP BY message_id
      ) AS each_message`,
  );
  return sum?.bytes ?? 0;
}

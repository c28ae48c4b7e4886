import { type Attachment, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { LinkedAttachment } from './wire.ts';

/** Maximum number of messages that are named for an attachment, newest first. */
export const MAX_NAMED_MESSAGES = 100;

/** Reads complete attachments, ascending by id, each with the ids of the newest messages that link to it. */
export async function linkedAttachments(
  db: Pick<Tx, 'attachment' | '$queryRaw'>,
  where: Prisma.AttachmentWhereInput & { readonly organizationId: number },
): Promise<LinkedAttachment[]> {
  const rows = await db.attachment.findMany({ where: { ...where, isComplete: true }, orderBy: { id: 'asc' } });
  const messagesOf = await messageIdsOf(db, where.organizationId, rows);
  return rows.map((row) => ({ ...row, messageIds: messagesOf(row.id) }));
}

/** Returns a function from the id of an attachment to the ids of the newest messages that link to it. */
export async function messageIdsOf(
  db: SqlClient,
  organizationId: number,
  attachments: readonly Pick<Attachment, 'id'>[],
): Promise<(attachmentId: number) => readonly number[]> {
  if (attachments.length === 0) return () => [];
  const ids = attachments.map(({ id }) => id);
  const rows = await readRows<{ attachment_id: number; message_id: bigint }>(
    db,
    Prisma.sql`
    SELECT a.id AS attachment_id, l.message_id FROM unnest(${listOf('int', ids)}) AS a (id)
    CROSS JOIN LATERAL (
      SELECT message_id FROM attachment_link WHERE realm_id = ${organizationId} AND attachment_id = a.id
      ORDER BY message_id DESC LIMIT ${MAX_NAMED_MESSAGES}
    ) AS l`,
  );
  const byId = Map.groupBy(rows, (row) => row.attachment_id);
  return (id) => (byId.get(id) ?? []).map((row) => Number(row.message_id));
}

/** Returns the size of all complete files of a user, or of the whole organization, in bytes. */
export async function spaceUsedBy(
  db: SqlClient,
  { organizationId, ownerId }: { readonly organizationId: number; readonly ownerId: number | null },
): Promise<number> {
  const [row] = await readRows<{ size: bigint | null }>(
    db,
    Prisma.sql`
    SELECT sum(size)::bigint AS size FROM attachment
    WHERE realm_id = ${organizationId} AND is_complete AND (${ownerId}::int IS NULL OR owner_id = ${ownerId}::int)`,
  );
  return Number(row?.size ?? 0);
}

/**
 * Returns the number of a user's or an organization's files, and the space that they need, in bytes. Counts uploads that are not
 * complete, with the size that they are going to have.
 *
 * @param completingId Id of an upload that is being completed. Neither it nor incomplete uploads that began later are counted, so
 *   that of several uploads to the last space the first one succeeds.
 */
export async function spaceReservedBy(
  db: SqlClient,
  {
    organizationId,
    ownerId,
    completingId,
  }: { organizationId: number; ownerId: number | null; completingId: number | null },
): Promise<{ readonly files: number; readonly bytes: number }> {
  const [row] = await readRows<{ files: bigint; bytes: bigint | null }>(
    db,
    Prisma.sql`
    SELECT count(*) AS files,
           sum(CASE WHEN is_complete THEN size ELSE greatest(size, declared_size) END)::bigint AS bytes
    FROM attachment
    WHERE realm_id = ${organizationId} AND (${ownerId}::int IS NULL OR owner_id = ${ownerId}::int)
      AND (${completingId}::int IS NULL OR id < ${completingId}::int OR (is_complete AND id <> ${completingId}::int))`,
  );
  return { files: Number(row?.files ?? 0), bytes: Number(row?.bytes ?? 0) };
}

/**
 * Locks attachments until the end of the transaction, in the order of their ids. Call it before the transaction logs an event.
 *
 * @returns The ids of those that exist.
 */
export async function lockAttachments(
  tx: SqlClient,
  organizationId: number,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return [];
  const rows = await readRows<{ id: number }>(
    tx,
    Prisma.sql`
    SELECT id FROM attachment WHERE realm_id = ${organizationId} AND id = ANY(${listOf('int', ids)})
    ORDER BY id FOR NO KEY UPDATE`,
  );
  return rows.map(({ id }) => id);
}

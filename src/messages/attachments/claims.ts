import type { Runtime } from '../../access/context.ts';
import type { Emit } from '../../events/log.ts';
import { type Attachment, Prisma } from '../../generated/prisma/client.ts';
import type { DirectoryUpload } from '../../markdown/types.ts';
import type { Tx } from '../../platform/db/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ANIMATED_PREVIEW_FORMAT, PREVIEW_FORMAT } from '../../platform/images/thumbnails.ts';
import { type FileReader, mayReadFile } from './access.ts';
import { emitLinksChanged } from './events.ts';
import { attachmentUrl, thumbnailUrl, tokensIn } from './names.ts';
import { lockAttachments } from './queries.ts';

/** Maximum number of files to which a text can give access. Links to further files give its readers no access. */
const MAX_LINKED = 50;
const ATTACHMENT = fieldsOf('a', 'Attachment');

/**
 * Loads the files whose addresses are in a text and that its author can read.
 *
 * @returns A function from the target of a link to the file. Undefined for other links.
 */
export async function loadUploads(
  db: Pick<Tx, 'userGroup' | '$queryRaw'>,
  app: Pick<Runtime, 'now'>,
  author: FileReader,
  text: string,
): Promise<(url: string) => DirectoryUpload | undefined> {
  const tokens = tokensIn(text).slice(0, MAX_LINKED);
  if (tokens.length === 0) return () => undefined;
  const organizationId = author.organization.id;
  const rows = await readRows<Attachment>(
    db,
    Prisma.sql`
    SELECT ${ATTACHMENT} FROM attachment a
    WHERE a.realm_id = ${organizationId} AND a.token = ANY(${listOf('text', tokens)}) AND a.is_complete`,
  );
  const byToken = new Map<string, DirectoryUpload>();
  for (const row of rows) if (await mayReadFile(db, app, author, row)) byToken.set(row.token, uploadOf(row));
  return (url) => {
    if (!/^\/?user_uploads\//.test(url)) return undefined;
    const [token, ...others] = tokensIn(url);
    return token === undefined || others.length > 0 ? undefined : byToken.get(token);
  };
}

function uploadOf(attachment: Attachment): DirectoryUpload {
  const { id, name, mediaType, width, height, isAnimated } = attachment;
  const file = { id, url: attachmentUrl(attachment), name, mediaType };
  if (width === null || height === null) return { ...file, image: null };
  const url = thumbnailUrl(attachment, isAnimated ? ANIMATED_PREVIEW_FORMAT : PREVIEW_FORMAT);
  return { ...file, image: { url, width, height, isAnimated } };
}

/**
 * Records that a message links to attachments, in the transaction that sends or edits the message. Emits no event: call
 * `emitLinksChanged` too.
 */
export async function claim(
  tx: Pick<Tx, '$executeRaw'>,
  organizationId: number,
  messageId: number | bigint,
  attachmentIds: readonly number[],
): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO attachment_link (realm_id, message_id, attachment_id)
    SELECT ${organizationId}::int, ${messageId}::bigint, a.id FROM attachment a
    WHERE a.realm_id = ${organizationId} AND a.id = ANY(${listOf('int', attachmentIds)}) ORDER BY a.id
    ON CONFLICT (realm_id, message_id, attachment_id) DO NOTHING`;
  await tx.$executeRaw`
    UPDATE attachment SET unclaimed_since = NULL
    WHERE realm_id = ${organizationId} AND id = ANY(${listOf('int', attachmentIds)}) AND unclaimed_since IS NOT NULL`;
}

/** Reads and locks the attachments that messages link. Returns their ids. */
async function lockLinked(tx: Tx, organizationId: number, messageIds: readonly (number | bigint)[]): Promise<number[]> {
  if (messageIds.length === 0) return [];
  const rows = await readRows<{ attachment_id: number }>(
    tx,
    Prisma.sql`
    SELECT DISTINCT attachment_id FROM attachment_link
    WHERE realm_id = ${organizationId} AND message_id = ANY(${listOf('bigint', messageIds.map(Number))})`,
  );
  const ids = rows.map((row) => row.attachment_id);
  return lockAttachments(tx, organizationId, ids);
}

/** Stores the time since which no message links to attachments. Attachments with a link in a message are not changed. */
async function markUnclaimed(tx: Tx, organizationId: number, ids: readonly number[], since: Date): Promise<void> {
  await tx.$executeRaw`
    UPDATE attachment a SET unclaimed_since = ${since}
    WHERE a.realm_id = ${organizationId} AND a.id = ANY(${listOf('int', ids)}) AND a.unclaimed_since IS NULL
      AND NOT EXISTS (
        SELECT FROM attachment_link l WHERE l.realm_id = ${organizationId} AND l.attachment_id = a.id)`;
}

/**
 * Replaces the links of an edited message, and emits events to the owners of the files concerned. The caller has locked the
 * message.
 *
 * @returns The ids of the attachments that the message linked before and does not link now.
 */
export async function replaceClaims(
  tx: Tx,
  emit: Emit,
  { organizationId, id }: { readonly organizationId: number; readonly id: bigint },
  attachmentIds: readonly number[],
  now: Date,
): Promise<number[]> {
  const before = await lockLinked(tx, organizationId, [id]);
  const kept = new Set(attachmentIds);
  const gone = before.filter((attachmentId) => !kept.has(attachmentId));
  const had = new Set(before);
  const added = await lockAttachments(
    tx,
    organizationId,
    attachmentIds.filter((attachmentId) => !had.has(attachmentId)),
  );
  if (gone.length > 0) {
    await tx.$executeRaw`
      DELETE FROM attachment_link WHERE realm_id = ${organizationId} AND message_id = ${id}
        AND attachment_id = ANY(${listOf('int', gone)})`;
    await markUnclaimed(tx, organizationId, gone, now);
  }
  if (added.length > 0) await claim(tx, organizationId, id, added);
  emitLinksChanged(emit, organizationId, [...gone, ...added]);
  return gone;
}

/**
 * Removes the links of messages before they are deleted, and emits events to the owners of the files. Files that no other
 * message links are deleted later: after the usual time, or with the next run of the worker if `isErased` is true.
 */
export async function releaseClaims(
  tx: Tx,
  emit: Emit,
  {
    organizationId,
    now,
    isErased,
  }: { readonly organizationId: number; readonly now: Date; readonly isErased: boolean },
  messageIds: readonly (number | bigint)[],
): Promise<void> {
  const ids = await lockLinked(tx, organizationId, messageIds);
  if (ids.length === 0) return;
  await tx.$executeRaw`
    DELETE FROM attachment_link
    WHERE realm_id = ${organizationId} AND message_id = ANY(${listOf('bigint', messageIds.map(Number))})`;
  await markUnclaimed(tx, organizationId, ids, isErased ? new Date(0) : now);
  emitLinksChanged(emit, organizationId, ids);
}

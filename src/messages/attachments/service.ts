import { randomBytes } from 'node:crypto';
import { type Ctx, chargedAccountOf } from '../../access/context.ts';
import { transferFile } from '../../access/file-transfers.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { administersOrganization } from '../../access/roles.ts';
import { requireHarmless } from '../../access/scanned-uploads.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { users } from '../../events/audience.ts';
import { type ChangeWork, requireLive } from '../../events/context.ts';
import { transact } from '../../events/log.ts';
import type { Attachment, Organization, Prisma } from '../../generated/prisma/client.ts';
import { lockOrganization, lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { imageTypeOf } from '../../platform/images/formats.ts';
import { MAX_DECODED_BYTES, prepareUpload } from '../../platform/images/thumbnails.ts';
import { MAX_FILE_SIZES_MIB } from '../../platform/limits.ts';
import { objectStoreOf } from '../../platform/object-store.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import {
  CHUNK_BYTES,
  contentLength,
  deleteStaged,
  inChunks,
  readChunks,
  readContent,
  replaceContent,
  stagedKeyOf,
  writeChunk,
  writeContent,
} from './content.ts';
import { UploadQuotaError } from './errors.ts';
import { attachmentAdded, attachmentRemoved } from './events.ts';
import { detectMediaType, SNIFFED_BYTES } from './media-type.ts';
import { cleanName, newToken, pathNameOf } from './names.ts';
import { claimObjects, expireObjects, type StoredContent, storeObjects } from './objects.ts';
import { linkedAttachments, lockAttachments, spaceReservedBy, spaceUsedBy } from './queries.ts';
import type { LinkedAttachment } from './wire.ts';

export const MIB = 1024 * 1024;
/** Maximum size of a file in bytes. */
export const MAX_FILE_BYTES = MAX_FILE_SIZES_MIB.upload * MIB;

/** Returns the filter for the attachments that the viewer can see in lists: the complete files that they uploaded. */
export const visibleTo = ({ viewer }: Ctx): Prisma.AttachmentWhereInput & { readonly organizationId: number } => ({
  organizationId: viewer.organization.id,
  ownerId: viewer.id,
  isComplete: true,
});

/** A file whose content was stored. It becomes visible with `completeUpload`. */
export interface StoredFile {
  readonly organizationId: number;
  readonly id: number;
  /** Number of bytes that were received. */
  readonly size: number;
  readonly content: PreparedContent;
}

/** The content of a file after processing, in the form in which it will be served. */
export interface PreparedContent {
  readonly mediaType: string;
  /** Size in bytes. It differs from the received one if metadata was removed. */
  readonly size: number;
  readonly image?: { readonly width: number; readonly height: number; readonly isAnimated: boolean };
  /** Id of the attempt under which an image without metadata and its thumbnails are staged. Absent: nothing is staged. */
  readonly attempt?: string;
  /** Objects with the content in the bucket. Absent: no bucket is configured, and the content stays in the database. */
  readonly objects?: readonly StoredContent[];
}

type UploadKey = Pick<StoredFile, 'organizationId' | 'id'>;

/** Returns the error for a file that is larger than the limit. */
export const tooLarge = (): BadRequestError =>
  new BadRequestError(
    `File is larger than this server's configured maximum upload size (${MAX_FILE_SIZES_MIB.upload} MiB).`,
    { parameter: 'file' },
  );

/**
 * Uploads a file and notifies the viewer's clients. The response is sent only after the whole file was committed, so an
 * acknowledged file is never lost. A file that was not acknowledged is never listed or served.
 *
 * @param name Name as the client sent it.
 * @param content The file in parts of any length. Each part is stored before the next one is read.
 * @throws BadRequestError if the file is larger than 100 MiB, or `content` fails.
 * @throws UploadQuotaError if the organization's files would need more space than its quota.
 * @throws TotalReachedError if the viewer would have too many files, or too many bytes in them.
 * @throws RequestTimeoutError if the database is unavailable, or too many images are waiting. Nothing was stored.
 */
export async function uploadFile(
  ctx: Ctx,
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<LinkedAttachment> {
  const stored = await storeUpload(ctx, name, content);
  return completeOrDiscard(ctx, stored);
}

/** Maximum length of a name in code points, before it is shortened. */
const MAX_GIVEN_NAME_LENGTH = 255;

/** Uploads a file that is already in memory. If the request has a transaction, the content is stored outside of it. */
export async function uploadBytes(ctx: Ctx, given: string, file: Uint8Array): Promise<LinkedAttachment> {
  const name = requireText('name', given, { max: MAX_GIVEN_NAME_LENGTH });
  const stored = await runOutsideTransaction(ctx.work, 'upload', (work) =>
    storeUpload({ ...ctx, work }, name, partsOf(file)),
  );
  return completeOrDiscard(ctx, stored);
}

async function* partsOf(file: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < file.length; start += CHUNK_BYTES) yield file.subarray(start, start + CHUNK_BYTES);
}

async function completeOrDiscard(ctx: Ctx, stored: StoredFile): Promise<LinkedAttachment> {
  try {
    return await completeUpload(ctx, stored);
  } catch (error) {
    if (ctx.work.transaction === undefined) await discardUpload(ctx, stored);
    throw error;
  }
}

/**
 * Stores the content of a new file, and for images the thumbnails, outside of any transaction. The caller must then call
 * `completeUpload` or `discardUpload`. If the process is killed before, the worker deletes the stored parts.
 *
 * @throws BadRequestError if the file is larger than 100 MiB, or `content` fails.
 * @throws UploadQuotaError, TotalReachedError if there is no space left. Checked again when the upload is completed.
 */
export async function storeUpload(ctx: Ctx, name: string, content: AsyncIterable<Uint8Array>): Promise<StoredFile> {
  const { app } = requireLive(ctx.work);
  await requireSpace(app.db, ctx.viewer.organization, ctx.viewer.id, 1);
  const { organizationId, id } = await beginUpload(ctx, name);
  const key = { organizationId, attachmentId: id, variant: '' };
  const receive = async () => {
    let size = 0;
    let place = 0;
    for await (const part of inChunks(content)) {
      size += part.length;
      if (size > MAX_FILE_BYTES) throw tooLarge();
      const at = place++;
      await app.database.permits.run(organizationId, () => writeChunk(app.db, key, at, part));
    }
    return size;
  };
  try {
    const size = await app.accountLimiter.outside(receive);
    return { organizationId, id, size, content: await prepareContent(ctx, { organizationId, id, size }) };
  } catch (error) {
    await discardUpload(ctx, { organizationId, id });
    throw error;
  }
}

/**
 * Creates the row of a file that is being uploaded.
 *
 * @param declaredSize Size in bytes of a resumable upload. Null for other uploads.
 */
export function beginUpload(ctx: Ctx, given: string, declaredSize: number | null = null): Promise<Attachment> {
  const { app } = requireLive(ctx.work);
  const { organizationId, viewer } = ctx;
  const [name, now] = [cleanName(given), app.now()];
  const data = {
    ...{ organizationId, ownerId: viewer.id, token: newToken(), name, pathName: pathNameOf(name) },
    ...{ mediaType: 'application/octet-stream', size: 0, declaredSize, createdAt: now, unclaimedSince: now },
  };
  return app.database.permits.run(organizationId, () => app.db.attachment.create({ data }));
}

/**
 * Prepares received content: scans it for viruses, detects its media type, and stages thumbnails and a copy of an image without
 * private metadata. If a bucket is configured, stores all of them in it. The received file stays unchanged until
 * `completeUpload`, so this function can be repeated.
 *
 * @throws InfectedFileError if the virus scanner finds malware. @throws ScannerUnavailableError
 * @throws StoreUnavailableError if the bucket does not confirm the content.
 */
export async function prepareContent(ctx: Ctx, file: Omit<StoredFile, 'content'>): Promise<PreparedContent> {
  const { app } = requireLive(ctx.work);
  const received = { organizationId: file.organizationId, attachmentId: file.id, variant: '' };
  await requireHarmless(ctx, 'file', () => readChunks(app.db, received));
  const { attempt, variants, ...content } = await decodeContent(ctx, file);
  const staged = { ...content, ...(attempt !== undefined && { attempt }) };
  const store = objectStoreOf(app.config);
  if (store === undefined) return staged;
  const key = { organizationId: file.organizationId, attachmentId: file.id };
  const contents = variants.map((variant) => {
    const own = { ...key, variant };
    return { from: attempt === undefined ? own : stagedKeyOf(own, attempt), variant };
  });
  try {
    return { ...staged, objects: await transferFile(ctx, () => storeObjects(app, store, contents)) };
  } catch (error) {
    if (attempt !== undefined) await deleteStaged(app.db, key, attempt);
    throw error;
  }
}

/** Deletes what `prepareContent` stored for a file that was not completed. */
export async function discardContent(
  { work }: Pick<Ctx, 'work'>,
  { organizationId, id, content: { attempt, objects = [] } }: StoredFile,
): Promise<void> {
  const { app } = requireLive(work);
  await expireObjects(app, organizationId, objects);
  if (attempt !== undefined) await deleteStaged(app.db, { organizationId, attachmentId: id }, attempt);
}

/** Detects the media type of received content, and stages an image and its thumbnails. Returns the variants of the file, too. */
async function decodeContent(
  ctx: Ctx,
  { organizationId, id, size }: Omit<StoredFile, 'content'>,
): Promise<PreparedContent & { readonly variants: readonly string[] }> {
  const { app } = requireLive(ctx.work);
  const key = { organizationId, attachmentId: id, variant: '' };
  const variants = [''];
  const start = size === 0 ? new Uint8Array() : await startOf(ctx, key);
  const mediaType = detectMediaType(start);
  if (imageTypeOf(start) === undefined || size > MAX_DECODED_BYTES) return { mediaType, size, variants };
  const prepared = await prepareUpload(() => readContent(app.db, key), chargedAccountOf(ctx.viewer));
  // A file that looks like an image but cannot be decoded is downloaded, not shown.
  if (prepared === undefined) return { mediaType: 'application/octet-stream', size, variants };
  const { bytes, thumbnails, ...image } = prepared;
  const attempt = randomBytes(9).toString('base64url');
  const files = [{ name: '', bytes }, ...thumbnails];
  for (const file of files) {
    const staged = stagedKeyOf({ ...key, variant: file.name }, attempt);
    await app.database.permits.run(organizationId, () => writeContent(app.db, staged, file.bytes));
  }
  return { mediaType, size: bytes.length, image, attempt, variants: files.map(({ name }) => name) };
}

async function startOf(ctx: Ctx, key: { organizationId: number; attachmentId: number }): Promise<Uint8Array> {
  const { app } = requireLive(ctx.work);
  const rows = await app.db.$queryRaw<{ start: Uint8Array }[]>`
    SELECT substring(bytes FROM 1 FOR ${SNIFFED_BYTES}::int) AS start FROM attachment_chunk
    WHERE realm_id = ${key.organizationId} AND attachment_id = ${key.attachmentId} AND variant = '' AND place = 0`;
  return rows[0]?.start ?? new Uint8Array();
}

/**
 * Deletes the stored parts of a failed upload, and its objects. Does not throw: if this fails, the worker deletes them later.
 */
export async function discardUpload(
  { work }: Pick<Ctx, 'work'>,
  { organizationId, id, content }: UploadKey & Partial<Pick<StoredFile, 'content'>>,
): Promise<void> {
  const { app } = requireLive(work);
  await expireObjects(app, organizationId, content?.objects ?? []);
  try {
    const where = { organizationId, id, isComplete: false };
    await app.database.permits.run(organizationId, () => app.db.attachment.deleteMany({ where }));
  } catch (err) {
    app.log.warn({ err, attachment: id }, 'failed upload could not be deleted');
  }
}

/**
 * Makes a stored file visible, in one transaction with its event.
 *
 * @throws UploadQuotaError, TotalReachedError if there is no space left.
 * @throws NotFoundError if the stored content is gone or incomplete.
 */
export function completeUpload(ctx: Ctx, { organizationId, id, size, content }: StoredFile): Promise<LinkedAttachment> {
  return transact(ctx, async (tx, emit) => {
    // The quota of the organization is read under its lock, so that concurrent uploads cannot exceed it.
    if (organizationSetting(ctx.viewer.organization, 'upload_quota_mib') !== null) {
      await lockOrganization(tx, organizationId);
    }
    await lockUser(tx, ctx.viewer.user);
    const { viewer } = await asOfNow(tx, ctx);
    await requireSpace(tx, viewer.organization, viewer.id, content.size, id);
    await lockAttachments(tx, organizationId, [id]);
    if ((await contentLength(tx, { organizationId, attachmentId: id, variant: '' })) !== size) throw noSuchFile(id);
    const where = { organizationId, id, ownerId: viewer.id, isComplete: false };
    const { mediaType, image, attempt, objects } = content;
    const data = { ...image, mediaType, size: content.size, isComplete: true, unclaimedSince: ctx.app.now() };
    const [saved] = await tx.attachment.updateManyAndReturn({ where, data });
    if (saved === undefined) throw noSuchFile(id);
    await replaceContent(tx, { organizationId, attachmentId: id }, attempt);
    if (objects !== undefined) await claimObjects(tx, { organizationId, attachmentId: id }, objects, ctx.app.now());
    const attachment = { ...saved, messageIds: [] };
    emit(attachmentAdded(attachment, await spaceUsedBy(tx, saved)), users([viewer.id]));
    return attachment;
  });
}

const noSuchFile = (id: number): NotFoundError =>
  new NotFoundError('Invalid attachment', { type: 'Attachment', id, parameter: 'attachment_id' });

/**
 * Checks that a user can upload a file of `size` bytes. Uploads that are not complete count too.
 *
 * @param completingId Id of the upload that is being completed. Incomplete uploads that began later do not count then.
 */
export async function requireSpace(
  db: Pick<Tx, '$queryRaw'>,
  organization: Organization,
  ownerId: number,
  size: number,
  completingId: number | null = null,
): Promise<void> {
  const organizationId = organization.id;
  const own = await spaceReservedBy(db, { organizationId, ownerId, completingId });
  requireWithin('attachments_total_mib', Math.ceil((own.bytes + size) / MIB));
  requireWithin('attachments', own.files + 1);
  const quotaMib = organizationSetting(organization, 'upload_quota_mib');
  if (quotaMib === null) return;
  const all = await spaceReservedBy(db, { organizationId, ownerId: null, completingId });
  if (all.bytes + size > quotaMib * MIB) throw new UploadQuotaError();
}

/** Returns the viewer's attachments with the messages that link to them, oldest first, at most `TOTALS.attachments`. */
export const listAttachments = (ctx: Ctx): Promise<LinkedAttachment[]> =>
  linkedAttachments(ctx.work.db, visibleTo(ctx));

/** Returns those of the viewer's attachments with these ids that no message links. */
export async function detachedFiles(ctx: Ctx, ids: readonly number[]): Promise<LinkedAttachment[]> {
  if (ids.length === 0) return [];
  const found = await linkedAttachments(ctx.work.db, { ...visibleTo(ctx), id: { in: [...ids] } });
  return found.filter(({ messageIds }) => messageIds.length === 0);
}

/** Returns the size of the viewer's files in bytes. */
export const ownSpaceUsed = ({ work, organizationId, viewer }: Ctx): Promise<number> =>
  spaceUsedBy(work.db, { organizationId, ownerId: viewer.id });

/** Returns the size of the files of all users of the organization in bytes. Null unless the viewer is an administrator. */
export async function organizationSpaceUsed(ctx: Ctx): Promise<number | null> {
  if (!administersOrganization(ctx)) return null;
  return spaceUsedBy(ctx.work.db, { organizationId: ctx.organizationId, ownerId: null });
}

/**
 * Deletes one of the viewer's files, and notifies the viewer's clients. Links to it in messages stay, but no longer work.
 *
 * @throws NotFoundError if no file has this id, or it belongs to another user.
 */
export async function deleteAttachment(ctx: Ctx, id: number): Promise<void> {
  if (!isRowId(id)) throw noSuchFile(id);
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const { viewer, organizationId } = ctx;
    const where = { ...visibleTo(ctx), id };
    await lockAttachments(tx, organizationId, [id]);
    const { count } = await tx.attachment.deleteMany({ where });
    if (count === 0) throw noSuchFile(id);
    emit(attachmentRemoved(id, await spaceUsedBy(tx, { organizationId, ownerId: viewer.id })), users([viewer.id]));
  });
}

/** Time for which a file is kept that no message, draft or scheduled message links, in milliseconds: two weeks. */
export const UNCLAIMED_MS = 14 * 86_400_000;
/** Time for which an upload that was not completed is kept, in milliseconds: a day. */
export const INCOMPLETE_MS = 86_400_000;
/** Maximum number of files that one transaction deletes. */
const DELETED_AT_ONCE = 20;

type Sweeper = ChangeWork['app'];

/**
 * Deletes files without links to them, and remains of failed uploads, in all organizations. Links count in messages, and in
 * drafts and scheduled messages of the owner.
 *
 * @param isOver Returns true if the run should end.
 */
export async function deleteUnclaimed(work: ChangeWork, isOver: () => boolean = () => false): Promise<number> {
  const { app } = work;
  const organizations = await app.db.organization.findMany({ select: { id: true }, orderBy: { id: 'asc' } });
  let deleted = 0;
  for (const { id } of organizations) {
    for (let count = DELETED_AT_ONCE; count === DELETED_AT_ONCE && !isOver(); deleted += count) {
      count = await deleteSome(work, app, id);
    }
  }
  return deleted;
}

async function deleteSome(work: ChangeWork, app: Sweeper, organizationId: number): Promise<number> {
  const now = app.now().getTime();
  const [unclaimed, incomplete] = [new Date(now - UNCLAIMED_MS), new Date(now - INCOMPLETE_MS)];
  return transact({ work, organizationId }, async (tx, emit) => {
    const rows = await tx.$queryRaw<{ id: number; ownerId: number; isComplete: boolean }[]>`
      SELECT a.id, a.owner_id AS "ownerId", a.is_complete AS "isComplete" FROM attachment a
      WHERE a.realm_id = ${organizationId}
        AND a.unclaimed_since < CASE WHEN a.is_complete THEN ${unclaimed}::timestamptz ELSE ${incomplete}::timestamptz END
        AND NOT EXISTS (SELECT FROM draft d
          WHERE d.realm_id = ${organizationId} AND d.author_id = a.owner_id AND strpos(d.content, a.token) > 0)
        AND NOT EXISTS (SELECT FROM scheduled_message s
          WHERE s.realm_id = ${organizationId} AND s.owner_id = a.owner_id AND s.state <> 'delivered'
            AND strpos(s.content, a.token) > 0)
      ORDER BY a.id LIMIT ${DELETED_AT_ONCE} FOR NO KEY UPDATE OF a SKIP LOCKED`;
    if (rows.length === 0) return 0;
    await tx.attachment.deleteMany({ where: { organizationId, id: { in: rows.map(({ id }) => id) } } });
    for (const { id, ownerId, isComplete } of rows) {
      if (!isComplete) continue;
      emit(attachmentRemoved(id, await spaceUsedBy(tx, { organizationId, ownerId })), users([ownerId]));
    }
    return rows.length;
  });
}

/**
 * Makes the worker delete the files of a user that no message links, at its next run. One transaction that deleted them would
 * lock the user's row for as long as gigabytes take.
 */
export async function expireUnclaimed(
  tx: Tx,
  { organizationId, id }: { organizationId: number; id: number },
): Promise<void> {
  const where = { organizationId, ownerId: id, unclaimedSince: { not: null } };
  await tx.attachment.updateMany({ where, data: { unclaimedSince: new Date(0) } });
}

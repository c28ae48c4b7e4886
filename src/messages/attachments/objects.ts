import { randomUUID } from 'node:crypto';
import type { App } from '../../access/context.ts';
import type { LogContext } from '../../events/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import {
  type ObjectStore,
  objectStoreOf,
  StoreRefusedError,
  StoreUnavailableError,
} from '../../platform/object-store.ts';
import { type ContentKey, contentLength, readChunks } from './content.ts';

// Storage of file content in the bucket. Content is first received in rows of the database, as without a bucket. Then it is
// copied to an object, and the transaction that makes the file visible deletes the rows. An upload that fails or is killed
// leaves rows, or an object without a file. The worker deletes both.

/** Time after which an object is deleted whose upload was not completed, in milliseconds: a day. */
const INCOMPLETE_MS = 86_400_000;
/**
 * Time after which an object is deleted that the store did not confirm, in milliseconds: an hour. The store can still complete a
 * request that has timed out, so an object that is deleted at once could appear later.
 */
const UNCONFIRMED_MS = 3_600_000;
/** Maximum number of objects that are deleted in one step. */
const DELETED_AT_ONCE = 100;
/** Number of consecutive objects for which the store does not answer. After this number, a run ends. */
const MAX_UNANSWERED = 3;

/** An object that was stored for a file or thumbnail. `variant` is as in `ContentKey`. */
export interface StoredContent {
  readonly id: string;
  readonly variant: string;
}

type StorageContext = Pick<LogContext, 'config' | 'database' | 'db' | 'now'>;

const keyOf = (organizationId: number, id: string): string => `${organizationId}/${id}`;

/** Returns the object store. @throws StoreUnavailableError if it is not configured, but the database names an object in it. */
function requireStore({ config }: Pick<App, 'config'>): ObjectStore {
  const store = objectStoreOf(config);
  if (store === undefined)
    throw new StoreUnavailableError(new Error('A file is in a bucket, but S3_BUCKET is not set'));
  return store;
}

/**
 * Copies content from the database to new objects, and checks that the store has them. Not in a transaction, because this can
 * take long. The objects are deleted after a day, unless `claimObjects` is called.
 *
 * @param contents The contents, with the variant that each is going to have.
 * @throws StoreUnavailableError if the store does not confirm an object.
 */
export async function storeObjects(
  app: StorageContext,
  store: ObjectStore,
  contents: readonly { readonly from: ContentKey; readonly variant: string }[],
): Promise<StoredContent[]> {
  const stored: StoredContent[] = [];
  try {
    for (const { from, variant } of contents) {
      const size = await contentLength(app.db, from);
      if (size === 0) continue;
      const id = randomUUID();
      const { organizationId } = from;
      const expiresAt = new Date(app.now().getTime() + INCOMPLETE_MS);
      await app.database.permits.run(organizationId, () =>
        app.db.storedObject.create({ data: { organizationId, id, variant, size, expiresAt } }),
      );
      stored.push({ id, variant });
      await store.put(keyOf(organizationId, id), size, () => readChunks(app.db, from));
    }
    return stored;
  } catch (error) {
    const [first] = contents;
    const expiresAt = new Date(app.now().getTime() + UNCONFIRMED_MS);
    if (first !== undefined) await expireObjects(app, first.from.organizationId, stored, expiresAt);
    throw error;
  }
}

/**
 * Makes the worker delete objects that no file claimed. Does not throw: otherwise they are deleted after a day.
 *
 * @param expiresAt Time from which they are deleted. Default: now.
 */
export async function expireObjects(
  { db, database }: Pick<StorageContext, 'database' | 'db'>,
  organizationId: number,
  objects: readonly StoredContent[],
  expiresAt = new Date(0),
): Promise<void> {
  if (objects.length === 0) return;
  const where = { organizationId, id: { in: objects.map(({ id }) => id) }, attachmentId: null };
  try {
    await database.permits.run(organizationId, () => db.storedObject.updateMany({ where, data: { expiresAt } }));
  } catch {
    // They expire by themselves.
  }
}

/**
 * Makes objects the content of a file, in place of its rows and of earlier objects. Must be called in the transaction that
 * changes the file, which has locked it.
 *
 * @throws RequestTimeoutError if an object has expired.
 */
export async function claimObjects(
  tx: Pick<Tx, '$executeRaw'>,
  { organizationId, attachmentId }: Pick<ContentKey, 'organizationId' | 'attachmentId'>,
  objects: readonly StoredContent[],
  now: Date,
): Promise<void> {
  await releaseObjects(tx, { organizationId, attachmentId });
  const ids = objects.map(({ id }) => id);
  const claimed = await tx.$executeRaw`
    UPDATE stored_object SET attachment_id = ${attachmentId}
    WHERE realm_id = ${organizationId} AND id = ANY(${listOf('text', ids)}::uuid[]) AND attachment_id IS NULL AND expires_at > ${now}`;
  if (claimed !== objects.length) throw new RequestTimeoutError();
  await tx.$executeRaw`
    DELETE FROM attachment_chunk WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId}`;
}

/** Makes the worker delete the objects of a file. */
export async function releaseObjects(
  tx: Pick<Tx, '$executeRaw'>,
  { organizationId, attachmentId }: Pick<ContentKey, 'organizationId' | 'attachmentId'>,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE stored_object SET attachment_id = NULL, expires_at = 'epoch'
    WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId}`;
}

/** An object of a file or thumbnail, with its size in bytes. */
export interface StoredObjectRef {
  readonly id: string;
  readonly size: number;
}

/** Finds the object of a file or thumbnail. Undefined if its content is in the database, or does not exist. */
export async function objectOf(
  db: SqlClient,
  { organizationId, attachmentId, variant }: ContentKey,
): Promise<StoredObjectRef | undefined> {
  const [row] = await readRows<{ id: string; size: bigint }>(
    db,
    Prisma.sql`
    SELECT id::text AS id, size FROM stored_object
    WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId} AND variant = ${variant}`,
  );
  return row === undefined ? undefined : { id: row.id, size: Number(row.size) };
}

/** Reads a range of an object. @throws StoreUnavailableError, NoObjectError */
export const readObject = (
  app: Pick<App, 'config'>,
  organizationId: number,
  id: string,
  range: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, undefined> => requireStore(app).read(keyOf(organizationId, id), range);

/** Result of a run that deletes objects. */
interface Deletion {
  /** Number of deleted objects. */
  deleted: number;
  /** Number of objects that the store refused to delete, for example because they are retained by law. */
  refused: number;
  /** Number of objects, the last ones of the run, for which the store did not answer. */
  unansweredInARow: number;
  /** The last error of a store that did not answer. */
  failure?: StoreUnavailableError;
}

const newDeletion = (): Deletion => ({ deleted: 0, refused: 0, unansweredInARow: 0 });

/** The parts of a service that the deletion of objects needs. */
type DeletionContext = Pick<LogContext, 'config' | 'database' | 'db' | 'log' | 'now'>;

/**
 * Deletes the objects of an organization that belong to no file, and then their rows. If the store does not delete an object, its
 * row stays, and the next run repeats it after the others.
 *
 * @param before Objects that expired before this time are deleted.
 * @param run Result of the run, to which the objects are added.
 * @throws StoreUnavailableError if the store does not answer several times in a row, or no bucket is configured.
 */
async function deleteUnusedObjects(
  app: DeletionContext,
  organizationId: number,
  { before, run, isOver = () => false }: { before: Date; run: Deletion; isOver?: () => boolean },
): Promise<void> {
  for (let count = DELETED_AT_ONCE; count === DELETED_AT_ONCE && !isOver(); ) {
    // From now on no transaction can claim these objects.
    const ids = await app.database.permits.run(organizationId, () => expireDue(app.db, organizationId, before));
    for (const id of ids) {
      const where = { organizationId, id, attachmentId: null };
      const isDeleted = await deleteObject(requireStore(app), keyOf(organizationId, id), run);
      await app.database.permits.run(organizationId, () =>
        isDeleted
          ? app.db.storedObject.deleteMany({ where })
          : // No further step of this run selects the object. It still counts as expired.
            app.db.storedObject.updateMany({ where, data: { expiresAt: before } }),
      );
      if (run.failure !== undefined && run.unansweredInARow >= MAX_UNANSWERED) throw run.failure;
    }
    count = ids.length;
  }
}

/** Deletes an object, and adds the outcome to the result of the run. Returns whether the object is deleted. */
async function deleteObject(store: ObjectStore, key: string, run: Deletion): Promise<boolean> {
  try {
    await store.delete(key);
    run.deleted++;
    run.unansweredInARow = 0;
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    if (error instanceof StoreRefusedError) {
      run.refused++;
      run.unansweredInARow = 0;
    } else {
      run.unansweredInARow++;
      run.failure = error;
    }
    return false;
  }
}

/**
 * Deletes the objects of all organizations that belong to no file. Continues after objects that the store does not delete.
 *
 * @returns Number of deleted objects.
 * @throws StoreUnavailableError if the store did not answer for an object, or no bucket is configured. The next run repeats it.
 */
export async function deleteUnused(app: DeletionContext, isOver: () => boolean = () => false): Promise<number> {
  const organizations = await app.db.organization.findMany({ select: { id: true }, orderBy: { id: 'asc' } });
  const [run, before] = [newDeletion(), app.now()];
  try {
    for (const { id } of organizations) {
      if (isOver()) break;
      await deleteUnusedObjects(app, id, { before, run, isOver });
    }
  } finally {
    const { deleted, refused } = run;
    if (refused > 0) app.log.warn({ deleted, refused }, 'object store refused to delete objects');
  }
  if (run.failure !== undefined) throw run.failure;
  return run.deleted;
}

async function expireDue(db: SqlClient, organizationId: number, before: Date): Promise<string[]> {
  const rows = await readRows<{ id: string }>(
    db,
    Prisma.sql`
    UPDATE stored_object SET expires_at = 'epoch' WHERE realm_id = ${organizationId} AND id IN (
      SELECT id FROM stored_object
      WHERE realm_id = ${organizationId} AND attachment_id IS NULL AND expires_at < ${before}
      ORDER BY expires_at LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED)
    RETURNING id::text AS id`,
  );
  return rows.map(({ id }) => id);
}

/** Number of objects that one statement releases. */
const RELEASED_AT_ONCE = 2_000;

/**
 * Deletes all objects of an organization that is being erased, before its rows. Objects that the store refuses to delete stay in
 * the bucket, and a warning contains their number.
 *
 * @throws StoreUnavailableError if the store did not answer, or the credentials do not permit to delete. Call it again later.
 */
export async function deleteObjectsOf(app: DeletionContext, organizationId: number): Promise<void> {
  for (let count = RELEASED_AT_ONCE; count === RELEASED_AT_ONCE; ) {
    count = await app.db.$executeRaw`
      UPDATE stored_object SET attachment_id = NULL, expires_at = 'epoch' WHERE realm_id = ${organizationId} AND id IN (
        SELECT id FROM stored_object WHERE realm_id = ${organizationId} AND attachment_id IS NOT NULL
        LIMIT ${RELEASED_AT_ONCE})`;
  }
  const before = new Date(app.now().getTime() + 2 * INCOMPLETE_MS);
  const run = newDeletion();
  await deleteUnusedObjects(app, organizationId, { before, run });
  if (run.failure !== undefined) throw run.failure;
  if (run.refused === 0) return;
  // Fails if the credentials permit no deletion. Otherwise the store retains these objects.
  await requireStore(app).delete(keyOf(organizationId, randomUUID()));
  const { deleted, refused } = run;
  const left = { organization: organizationId, prefix: keyOf(organizationId, ''), deleted, refused };
  app.log.warn(left, 'object store retains objects of an erased organization');
}

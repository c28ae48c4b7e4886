import { randomBytes } from 'node:crypto';
import type { App } from '../../access/context.ts';
import { transact } from '../../events/log.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ValidationError } from '../../platform/errors.ts';
import { NoObjectError, type ObjectStore, objectStoreOf } from '../../platform/object-store.ts';
import {
  type ContentKey,
  contentLength,
  deleteStaged,
  inChunks,
  replaceContent,
  stagedKeyOf,
  writeChunk,
} from './content.ts';
import {
  claimObjects,
  deleteUnused,
  expireObjects,
  objectOf,
  readObject,
  releaseObjects,
  type StoredObjectRef,
  storeObjects,
} from './objects.ts';
import { lockAttachments } from './queries.ts';

/** Names of the stores of file content: the bucket and the database. */
export type FileStore = 's3' | 'database';

/** The result of `moveFiles`. */
export interface MovedFiles {
  readonly to: FileStore;
  /** Number of files that were moved. */
  readonly files: number;
  /** Number of files whose object does not exist in the bucket. They were left as they are. */
  readonly missing: number;
}

/** A complete file, with the names of its thumbnails and "" for the file itself. */
interface MovingFile {
  readonly organizationId: number;
  readonly attachmentId: number;
  readonly variants: readonly string[];
}

/** Maximum number of files that are read from the list at once. */
const LISTED_AT_ONCE = 100;

/**
 * Moves the content of all complete files to the bucket or to the database, one file after the other, while the service is in
 * use. At any time, each file is complete in the bucket or in the database. If the command is interrupted, the next call
 * continues.
 *
 * @throws ValidationError if no bucket is configured.
 * @throws StoreUnavailableError if the store does not answer. Files that were moved before stay where they are.
 */
export async function moveFiles(app: App, to: FileStore): Promise<MovedFiles> {
  const store = objectStoreOf(app.config);
  if (store === undefined) {
    throw new ValidationError(
      'No bucket is configured: set S3_ENDPOINT, S3_BUCKET and the credentials of the service.',
    );
  }
  const organizations = await app.db.organization.findMany({ select: { id: true }, orderBy: { id: 'asc' } });
  let [files, missing] = [0, 0];
  for (const { id } of organizations) {
    for await (const file of filesToMove(app, id, to)) {
      const outcome = to === 's3' ? await toBucket(app, store, file) : await toDatabase(app, file);
      if (outcome === 'moved') files++;
      if (outcome === 'missing') missing++;
    }
  }
  await deleteUnused(app);
  return { to, files, missing };
}

async function* filesToMove(app: App, organizationId: number, to: FileStore): AsyncGenerator<MovingFile> {
  for (let after = 0, count = LISTED_AT_ONCE; count === LISTED_AT_ONCE; ) {
    const rows = await readRows<{ id: number; variants: string[] }>(
      app.db,
      to === 's3'
        ? Prisma.sql`
        SELECT a.id, array_agg(c.variant) AS variants FROM attachment a
        JOIN attachment_chunk c ON c.realm_id = a.realm_id AND c.attachment_id = a.id AND c.place = 0
        WHERE a.realm_id = ${organizationId} AND a.is_complete AND a.id > ${after} AND c.variant NOT LIKE '%/%'
        GROUP BY a.id ORDER BY a.id LIMIT ${LISTED_AT_ONCE}`
        : Prisma.sql`
        SELECT o.attachment_id AS id, array_agg(o.variant) AS variants FROM stored_object o
        WHERE o.realm_id = ${organizationId} AND o.attachment_id > ${after}
        GROUP BY o.attachment_id ORDER BY o.attachment_id LIMIT ${LISTED_AT_ONCE}`,
    );
    for (const { id, variants } of rows) yield { organizationId, attachmentId: id, variants };
    after = rows.at(-1)?.id ?? after;
    count = rows.length;
  }
}

/** "gone": another process has deleted or moved the file meanwhile. */
type Outcome = 'moved' | 'missing' | 'gone';

async function toBucket(app: App, store: ObjectStore, file: MovingFile): Promise<Outcome> {
  const { variants, ...key } = file;
  const contents = variants.map((variant) => ({ from: { ...key, variant }, variant }));
  const objects = await storeObjects(app, store, contents);
  try {
    return await changing(app, file, async (tx) => {
      // Another process can have moved or deleted the rows meanwhile.
      for (const { from } of contents) if ((await contentLength(tx, from)) === 0) return 'gone';
      if (objects.length !== contents.length) return 'gone';
      await claimObjects(tx, key, objects, app.now());
      return 'moved';
    });
  } finally {
    // Changes nothing if the file has claimed them.
    await expireObjects(app, key.organizationId, objects);
  }
}

async function toDatabase(app: App, file: MovingFile): Promise<Outcome> {
  const { variants, ...key } = file;
  const attempt = randomBytes(9).toString('base64url');
  const objects = new Map<string, StoredObjectRef>();
  try {
    for (const variant of variants) {
      const object = await objectOf(app.db, { ...key, variant });
      if (object === undefined) return 'gone';
      objects.set(variant, object);
      await stage(app, stagedKeyOf({ ...key, variant }, attempt), object);
    }
    return await changing(app, file, async (tx) => {
      // Another process can have moved the objects meanwhile.
      for (const [variant, { id }] of objects) {
        if ((await objectOf(tx, { ...key, variant }))?.id !== id) return 'gone';
      }
      await replaceContent(tx, key, attempt);
      for (const [variant, { size }] of objects) {
        if ((await contentLength(tx, { ...key, variant })) !== size)
          throw new Error('A part of the file was not stored');
      }
      await releaseObjects(tx, key);
      return 'moved';
    });
  } catch (error) {
    if (!(error instanceof NoObjectError)) throw error;
    app.log.warn({ attachment: key.attachmentId }, 'content of a file is missing');
    return 'missing';
  } finally {
    await deleteStaged(app.db, key, attempt);
  }
}

/** Copies an object to rows of the database. */
async function stage(app: App, staged: ContentKey, { id, size }: StoredObjectRef): Promise<void> {
  const { organizationId } = staged;
  let place = 0;
  for await (const part of inChunks(readObject(app, organizationId, id, { start: 0, end: size - 1 }))) {
    const at = place++;
    await app.database.permits.run(organizationId, () => writeChunk(app.db, staged, at, part));
  }
}

/** Locks a file and runs a change of it. */
function changing(
  app: App,
  { organizationId, attachmentId }: MovingFile,
  change: (tx: Tx) => Promise<Outcome>,
): Promise<Outcome> {
  return transact({ work: app.work, organizationId }, async (tx) => {
    const found = await lockAttachments(tx, organizationId, [attachmentId]);
    return found.length === 0 ? 'gone' : change(tx);
  });
}

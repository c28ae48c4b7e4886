import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';

/**
 * Length of each part of a file except the last, in bytes. A node holds one part for each upload and download in progress. With
 * larger parts, each statement occupies the embedded database longer.
 */
export const CHUNK_BYTES = 256 * 1024;

/** A file or thumbnail. `variant` is the name of the thumbnail's format, or empty for the file itself. */
export interface ContentKey {
  readonly organizationId: number;
  readonly attachmentId: number;
  readonly variant: string;
}

type Writer = Pick<Tx, '$executeRaw' | '$queryRaw'>;

/**
 * Stores the next part of a file. A part that is stored again replaces the previous one, so a failed statement can be repeated.
 */
export async function writeChunk(db: Writer, key: ContentKey, place: number, bytes: Uint8Array): Promise<void> {
  // The ORM would encode the bytes as base64 and decode them again.
  await readRows(
    db,
    Prisma.sql`
    INSERT INTO attachment_chunk (realm_id, attachment_id, variant, place, bytes)
    VALUES (${key.organizationId}, ${key.attachmentId}, ${key.variant}, ${place}, ${bytes})
    ON CONFLICT (realm_id, attachment_id, variant, place) DO UPDATE SET bytes = EXCLUDED.bytes RETURNING place`,
  );
}

/** Stores a whole file or thumbnail, in place of the previous one. */
export async function writeContent(db: Writer, key: ContentKey, bytes: Uint8Array): Promise<void> {
  let place = 0;
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    await writeChunk(db, key, place++, bytes.subarray(start, start + CHUNK_BYTES));
  }
  await db.$executeRaw`
    DELETE FROM attachment_chunk WHERE realm_id = ${key.organizationId} AND attachment_id = ${key.attachmentId}
      AND variant = ${key.variant} AND place >= ${place}`;
}

/** Returns the length of a file or thumbnail in bytes. 0 if it does not exist. */
export async function contentLength(db: SqlClient, key: ContentKey): Promise<number> {
  const [row] = await readRows<{ size: bigint | null }>(
    db,
    Prisma.sql`
    SELECT sum(octet_length(bytes))::bigint AS size FROM attachment_chunk
    WHERE realm_id = ${key.organizationId} AND attachment_id = ${key.attachmentId} AND variant = ${key.variant}`,
  );
  return Number(row?.size ?? 0);
}

/** Reads one part. Undefined if there is none at this position. */
export async function readChunk(db: SqlClient, key: ContentKey, place: number): Promise<Uint8Array | undefined> {
  const [row] = await readRows<{ bytes: Uint8Array }>(
    db,
    Prisma.sql`
    SELECT bytes FROM attachment_chunk WHERE realm_id = ${key.organizationId} AND attachment_id = ${key.attachmentId}
      AND variant = ${key.variant} AND place = ${place}`,
  );
  return row?.bytes;
}

/** Reads the parts of a file or thumbnail in their order. */
export async function* readChunks(db: SqlClient, key: ContentKey): AsyncGenerator<Uint8Array, void, undefined> {
  for (let place = 0; ; place++) {
    const part = await readChunk(db, key, place);
    if (part === undefined) return;
    yield part;
  }
}

/** Reads a whole file or thumbnail. The caller has checked that it is not too large. */
export async function readContent(db: SqlClient, key: ContentKey): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await contentLength(db, key));
  let at = 0;
  for (let place = 0; at < bytes.length; place++) {
    const part = await readChunk(db, key, place);
    if (part === undefined) throw new Error('A part of the file is missing');
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Returns the key under which a processed file or thumbnail is staged until `replaceContent` publishes it.
 *
 * @param attempt Random id of the attempt to process the file, without `/`.
 */
export const stagedKeyOf = (key: ContentKey, attempt: string): ContentKey => ({
  ...key,
  variant: `${attempt}/${key.variant}`,
});

/**
 * Replaces the received file by the staged file and thumbnails of an attempt. Deletes the staged content of other attempts.
 *
 * @param attempt Id of the attempt. Undefined: the received file stays, and has no thumbnails.
 */
export async function replaceContent(
  tx: Writer,
  { organizationId, attachmentId }: Pick<ContentKey, 'organizationId' | 'attachmentId'>,
  attempt: string | undefined,
): Promise<void> {
  if (attempt !== undefined) {
    await tx.$executeRaw`
      DELETE FROM attachment_chunk WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId} AND variant = ''`;
    await tx.$executeRaw`
      UPDATE attachment_chunk SET variant = split_part(variant, '/', 2)
      WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId} AND split_part(variant, '/', 1) = ${attempt}
        AND variant LIKE '%/%'`;
  }
  await tx.$executeRaw`
    DELETE FROM attachment_chunk
    WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId} AND variant LIKE '%/%'`;
}

/** Deletes the staged file and thumbnails of an attempt. */
export async function deleteStaged(
  db: Writer,
  { organizationId, attachmentId }: Pick<ContentKey, 'organizationId' | 'attachmentId'>,
  attempt: string,
): Promise<void> {
  await db.$executeRaw`
    DELETE FROM attachment_chunk WHERE realm_id = ${organizationId} AND attachment_id = ${attachmentId}
      AND variant LIKE '%/%' AND split_part(variant, '/', 1) = ${attempt}`;
}

/** Collects bytes into parts of `CHUNK_BYTES`. The last part can be shorter. */
export async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let filled = 0;
  for await (const part of content) {
    for (let at = 0; at < part.length; ) {
      const taken = Math.min(part.length - at, CHUNK_BYTES - filled);
      chunk.set(part.subarray(at, at + taken), filled);
      at += taken;
      filled += taken;
      if (filled === CHUNK_BYTES) {
        yield chunk;
        chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

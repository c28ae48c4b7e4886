import type { App } from '../../access/context.ts';
import { streamOf } from '../../platform/byte-stream.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { NoObjectError } from '../../platform/object-store.ts';
import { CHUNK_BYTES, type ContentKey, contentLength, readChunk } from './content.ts';
import { objectOf, readObject } from './objects.ts';

type StorageContext = Pick<App, 'config' | 'db'>;

/** A range of bytes, both ends inclusive. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Thrown if the content of a file is neither in the database nor in the bucket, for example because it was deleted. */
export class NoContentError extends Error {
  override name = 'NoContentError';
}

/** Returns the length of a file or thumbnail in bytes, wherever it is stored. 0 if it does not exist. */
export async function storedLength(db: SqlClient, key: ContentKey): Promise<number> {
  const length = await contentLength(db, key);
  return length > 0 ? length : ((await objectOf(db, key))?.size ?? 0);
}

/** Number of times that content is looked up again if it was in neither store, because another process can be moving it. */
const MAX_MISSES = 2;

/**
 * Reads a range of a file from the database or the bucket. If the content is moved during the read, continues at its new
 * location.
 */
export async function* readRange(
  app: StorageContext,
  key: ContentKey,
  { start, end }: Range,
): AsyncGenerator<Uint8Array, void, undefined> {
  let at = start;
  for (let misses = 0; at <= end; ) {
    const part = await partInRows(app.db, key, { start: at, end });
    if (part !== undefined) {
      at += part.length;
      misses = 0;
      yield part;
      continue;
    }
    const object = await objectOf(app.db, key);
    if (object !== undefined) {
      try {
        for await (const bytes of readObject(app, key.organizationId, object.id, { start: at, end })) {
          at += bytes.length;
          yield bytes;
        }
        continue;
      } catch (error) {
        if (!(error instanceof NoObjectError)) throw error;
      }
    }
    if (++misses > MAX_MISSES) throw new NoContentError('A part of the file is missing');
  }
}

async function partInRows(db: SqlClient, key: ContentKey, { start, end }: Range): Promise<Uint8Array | undefined> {
  const place = Math.floor(start / CHUNK_BYTES);
  const part = await readChunk(db, key, place);
  const bytes = part?.subarray(start - place * CHUNK_BYTES, end + 1 - place * CHUNK_BYTES);
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
}

/**
 * Returns a stream of a range of a file, when its first bytes were read. Reads on when the client has received most of them, so
 * each download holds one or two parts in memory.
 *
 * The stream fails if the file is deleted meanwhile: the client then receives fewer bytes than announced.
 *
 * @throws NoContentError if there is no content. @throws StoreUnavailableError if the bucket cannot be read.
 */
export async function openContent(
  app: StorageContext,
  key: ContentKey,
  range: Range,
): Promise<ReadableStream<Uint8Array>> {
  const parts = readRange(app, key, range);
  return streamOf(parts, await parts.next());
}

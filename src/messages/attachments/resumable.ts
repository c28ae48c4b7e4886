import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { DataStore, ERRORS, Server, Upload } from '@tus/server';
import { type App, type Ctx, signedIn } from '../../access/context.ts';
import { InfectedFileError } from '../../access/scanned-uploads.ts';
import { retryAfterHeader } from '../../api/bare-answer.ts';
import { countRequest } from '../../api/rate-limits.ts';
import { API_PREFIX, type Web } from '../../api/rest/router.ts';
import { receiveSlowly } from '../../api/rest/upload.ts';
import { signInBy } from '../../api/sessions.ts';
import { requireLive } from '../../events/context.ts';
import type { Attachment } from '../../generated/prisma/client.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { requireScopes } from '../../platform/errors.ts';
import { CHUNK_BYTES, readChunk } from './content.ts';
import { attachmentUrl } from './names.ts';
import {
  beginUpload,
  completeUpload,
  discardContent,
  discardUpload,
  MAX_FILE_BYTES,
  type PreparedContent,
  prepareContent,
  requireSpace,
} from './service.ts';

/** Paths of resumable uploads: that of the protocol, and that of the REST interface. */
const PATHS = ['/tus', `${API_PREFIX}/tus`] as const;

/** The request for which the upload library calls the store. The library does not pass it as an argument. */
interface Acting {
  readonly ctx: Ctx;
  readonly isHead: boolean;
  /** Time in seconds after which a failed request can be repeated. Set with the error. */
  retryAfter?: number;
}

const acting = new AsyncLocalStorage<Acting>();

function actingRequest(): Acting {
  const found = acting.getStore();
  if (found === undefined) throw new Error('A resumable upload has no viewer');
  return found;
}

const actor = (): Ctx => actingRequest().ctx;

/**
 * Adds the routes of resumable uploads, with the tus protocol 1.0. The parts are stored like those of other uploads, so any node
 * can receive the next part. The response to the last part contains the address of the file, as JSON.
 *
 * @see https://tus.io/protocols/resumable-upload
 */
export function addResumableUploads(web: Web, app: App): void {
  for (const path of PATHS) {
    const server = serverAt(path);
    const handle = async (
      request: Request,
      env: { incoming: Parameters<typeof receiveSlowly>[0]; outgoing: unknown },
    ) => {
      const { incoming } = env;
      const answer = env.outgoing as ServerResponse;
      const counting = { answer, onBudget: () => {} };
      const signIn = () => signInBy(app, incoming, { allowBearer: true, answer });
      const ctx = signedIn(await countRequest(app, incoming, signIn, counting));
      requireScopes(ctx.viewer, 'write');
      const end = receiveSlowly(incoming);
      try {
        const act: Acting = { ctx, isHead: incoming.method === 'HEAD' };
        const response = await acting.run(act, () => server.handleWeb(request));
        if (act.retryAfter !== undefined) response.headers.set('Retry-After', retryAfterHeader(act.retryAfter));
        return response;
      } finally {
        end();
      }
    };
    web.all(path, ({ req, env }) => handle(req.raw, env));
    web.all(`${path}/*`, ({ req, env }) => handle(req.raw, env));
  }
}

function serverAt(path: string): Server {
  return new Server({
    path,
    datastore: new AttachmentStore(),
    maxSize: MAX_FILE_BYTES,
    relativeLocation: true,
    // The service sets the CORS headers of allowed origins itself.
    allowedOrigins: () => false,
    disableTerminationForFinishedUploads: true,
    onUploadFinish: async (_request, { id }) => {
      const attachment = await finish(actor(), id);
      const body = JSON.stringify({ url: attachmentUrl(attachment), filename: attachment.name });
      return { status_code: 200, headers: { 'Content-Type': 'application/json' }, body };
    },
    onResponseError: (_request, error) => {
      const known = error instanceof Error ? expectedError(error) : undefined;
      if (known === undefined) return undefined;
      const { status, message, code, data } = known;
      const { 'retry-after': wait } = data;
      if (typeof wait === 'number') actingRequest().retryAfter = wait;
      return { status_code: status, body: JSON.stringify({ result: 'error', msg: message, code, ...data }) };
    },
  });
}

/** Uploads that are being finished by this node, by their tokens. */
const finishing = new Map<string, Promise<Attachment>>();

/**
 * Makes a completely received file visible. If this was done already, returns the file. Concurrent requests share one attempt:
 * each request with an empty part at the end of the file asks for it.
 */
async function finish(ctx: Ctx, token: string): Promise<Attachment> {
  const found = await ownUpload(ctx, token);
  if (found.isComplete) return found;
  const current = finishing.get(token);
  if (current !== undefined) return current;
  const attempt = finishReceived(ctx, found).finally(() => finishing.delete(token));
  finishing.set(token, attempt);
  return attempt;
}

async function finishReceived(ctx: Ctx, { organizationId, id, size, token }: Attachment): Promise<Attachment> {
  const stored = { organizationId, id, size: Number(size) };
  let content: PreparedContent | undefined;
  try {
    content = await prepareContent(ctx, stored);
    return await completeUpload(ctx, { ...stored, content });
  } catch (error) {
    if (content !== undefined) await discardContent(ctx, { ...stored, content });
    if (error instanceof InfectedFileError) {
      // Another attempt would have the same result.
      await discardUpload(ctx, stored);
      throw error;
    }
    // A repeated request can have completed the file meanwhile.
    const now = await ownUpload(ctx, token);
    if (now.isComplete) return now;
    throw error;
  }
}

/** Reads one of the viewer's resumable uploads, complete or not. */
async function ownUpload({ work, organizationId, viewer }: Ctx, token: string): Promise<Attachment> {
  const { app } = requireLive(work);
  const where = { organizationId, token, ownerId: viewer.id, declaredSize: { not: null } };
  const found = await app.db.attachment.findFirst({ where });
  if (found === null) throw ERRORS.FILE_NOT_FOUND;
  return found;
}

/** Stores the parts of resumable uploads in the database. */
class AttachmentStore extends DataStore {
  constructor() {
    super();
    this.extensions = ['creation', 'creation-with-upload', 'termination'];
  }

  override async create(upload: Upload): Promise<Upload> {
    const ctx = actor();
    const size = upload.size ?? 0;
    await requireSpace(requireLive(ctx.work).app.db, ctx.viewer.organization, ctx.viewer.id, size);
    const { token, createdAt } = await beginUpload(ctx, upload.metadata?.['filename'] ?? '', size);
    upload.id = token;
    upload.creation_date = createdAt.toISOString();
    return upload;
  }

  override async getUpload(id: string): Promise<Upload> {
    const { ctx, isHead } = actingRequest();
    let found = await ownUpload(ctx, id);
    // Clients whose last part was received, but not its response, take an offset that equals the length as success.
    if (isHead && !found.isComplete && found.size === found.declaredSize) {
      await finish(ctx, id);
      found = await ownUpload(ctx, id);
    }
    const { size, declaredSize, isComplete, name, createdAt } = found;
    // Removing metadata from an image has changed its size.
    const offset = Number(isComplete ? declaredSize : size);
    const metadata = { filename: name };
    return new Upload({ id, size: Number(declaredSize), offset, metadata, creation_date: createdAt.toISOString() });
  }

  override async remove(id: string): Promise<void> {
    const { organizationId, work, viewer } = actor();
    const { app } = requireLive(work);
    const where = { organizationId, token: id, ownerId: viewer.id, isComplete: false, declaredSize: { not: null } };
    const { count } = await app.database.permits.run(organizationId, () => app.db.attachment.deleteMany({ where }));
    if (count === 0) throw ERRORS.FILE_NOT_FOUND;
  }

  /**
   * Stores a part that begins at `offset`. If the connection breaks, the bytes received before are stored.
   *
   * @returns The new offset.
   */
  override async write(stream: Readable, id: string, offset: number): Promise<number> {
    const ctx = actor();
    const { id: attachmentId, organizationId } = await ownUpload(ctx, id);
    const { app } = requireLive(ctx.work);
    const key = { organizationId, attachmentId, variant: '' };
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    let stored = offset;
    let filled = offset % CHUNK_BYTES;
    if (filled > 0)
      chunk.set((await readChunk(app.db, key, Math.floor(offset / CHUNK_BYTES)))?.subarray(0, filled) ?? []);
    const flush = async () => {
      const place = Math.floor(stored / CHUNK_BYTES);
      const next = place * CHUNK_BYTES + filled;
      if (next === stored) return;
      await append(ctx, key, { place, from: stored, to: next, bytes: Buffer.from(chunk.subarray(0, filled)) });
      stored = next;
      if (filled === CHUNK_BYTES) filled = 0;
    };
    try {
      for await (const part of stream as AsyncIterable<Buffer>) {
        for (let at = 0; at < part.length; ) {
          const taken = Math.min(part.length - at, CHUNK_BYTES - filled);
          chunk.set(part.subarray(at, at + taken), filled);
          at += taken;
          filled += taken;
          if (filled === CHUNK_BYTES) await flush();
        }
      }
    } finally {
      await flush();
    }
    return stored;
  }
}

interface Part {
  readonly place: number;
  /** Size of the stored file before and after. */
  readonly from: number;
  readonly to: number;
  readonly bytes: Uint8Array;
}

/**
 * Stores a chunk, if the file still has the expected size. So of two requests that write at the same offset, even on different
 * nodes, only one succeeds.
 */
async function append(
  ctx: Ctx,
  { organizationId, attachmentId }: { readonly organizationId: number; readonly attachmentId: number },
  { place, from, to, bytes }: Part,
): Promise<void> {
  const { app } = requireLive(ctx.work);
  const rows = await app.database.permits.run(
    organizationId,
    () =>
      app.db.$queryRaw<{ place: number }[]>`
      WITH grown AS (
        UPDATE attachment SET size = ${to}, unclaimed_since = ${app.now()}
        WHERE realm_id = ${organizationId} AND id = ${attachmentId} AND size = ${from} AND NOT is_complete RETURNING id
      )
      INSERT INTO attachment_chunk (realm_id, attachment_id, variant, place, bytes)
      SELECT ${organizationId}::int, grown.id, '', ${place}::int, ${bytes}::bytea FROM grown
      ON CONFLICT (realm_id, attachment_id, variant, place) DO UPDATE SET bytes = EXCLUDED.bytes
      RETURNING place`,
  );
  if (rows.length === 0) throw ERRORS.INVALID_OFFSET;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type App, chargedAccountOf, signedIn } from '../../access/context.ts';
import { findOrganization } from '../../access/sign-in.ts';
import { countRefusal } from '../../api/rate-limits.ts';
import type { Web } from '../../api/rest/router.ts';
import { signInBy } from '../../api/sessions.ts';
import { hasTag } from '../../api/shared-file.ts';
import type { Attachment } from '../../generated/prisma/client.ts';
import {
  BadRequestError,
  InsufficientScopeError,
  NonexistentSubdomainError,
  requireScopes,
} from '../../platform/errors.ts';
import { THUMBNAILS } from '../../platform/images/thumbnails.ts';
import { accessFile, fileAt } from './access.ts';
import { isShown } from './media-type.ts';
import { TOKEN } from './names.ts';
import { NoContentError, openContent, storedLength } from './reading.ts';
import { isTemporary } from './temporary.ts';

/** Path of an uploaded file. */
const FILE = `/user_uploads/:organization{[0-9]+}/:shard{[A-Za-z0-9_-]{2}}/:token{${TOKEN}}/:name`;
const THUMBNAIL = `/user_uploads/thumbnail/:organization{[0-9]+}/:shard{[A-Za-z0-9_-]{2}}/:token{${TOKEN}}/:name/:format`;

/**
 * Headers of all files. If a browser opens a file as a page, it runs no scripts and loads no resources. Other sites cannot embed
 * files. Browsers cache files, but revalidate them before each use, because access can end at any time. Files are not compressed,
 * because clients can request ranges of them.
 */
const SAFE = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; media-src 'self'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-site',
  'Cache-Control': 'private, no-cache, no-transform',
  'Referrer-Policy': 'no-referrer',
} as const;

/** Returns whether requests for a path are counted as requests for files, of which a page needs many. */
export const isFilePath = (path: string): boolean => path.startsWith('/user_uploads/');

/**
 * Adds the routes of uploaded files and their thumbnails. A reader authenticates by session cookie or API key, or has a temporary
 * address. A reader without access gets the same response as for a file that does not exist.
 */
export function addFiles(web: Web, app: App): void {
  web.get(FILE, async ({ req, env }) => {
    const path = pathIn((name) => req.param(name));
    const [until, signature] = [req.query('until'), req.query('signature')];
    const isOpen = until !== undefined && signature !== undefined;
    const file = isOpen
      ? await temporaryFile(app, req.header('host'), path, { until, signature })
      : await readableFile(app, env.incoming, env.outgoing as ServerResponse, path);
    if (file === null) return noFile();
    const { mediaType, token } = file;
    const headers = {
      ...SAFE,
      ...(isOpen && {
        'Cache-Control': 'private, no-store, no-transform',
        'Cross-Origin-Resource-Policy': 'cross-origin',
      }),
      'Content-Type': mediaType === 'text/plain' ? 'text/plain; charset=utf-8' : mediaType,
      'Content-Disposition': disposition(file, req.query('download') !== undefined),
      ETag: `"${token}"`,
      'Last-Modified': file.createdAt.toUTCString(),
    };
    return send(app, env.incoming, file, { variant: '', size: Number(file.size), headers });
  });
  web.get(THUMBNAIL, async ({ req, env }) => {
    const path = pathIn((name) => req.param(name));
    const format = THUMBNAILS.find(({ name }) => name === req.param('format'));
    const file =
      format === undefined ? null : await readableFile(app, env.incoming, env.outgoing as ServerResponse, path);
    if (file === null || format === undefined) return noFile();
    const key = { organizationId: file.organizationId, attachmentId: file.id, variant: format.name };
    const size = await storedLength(app.db, key);
    if (size === 0) return noFile();
    const headers = { ...SAFE, 'Content-Type': 'image/webp', ETag: `"${file.token}-${format.name}"` };
    return send(app, env.incoming, file, { variant: format.name, size, headers });
  });
}

const pathIn = (param: (name: string) => string | undefined): string =>
  ['organization', 'shard', 'token', 'name'].map((name) => param(name) ?? '').join('/');

const noFile = (): Response =>
  new Response('File not found\n', {
    status: 404,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private, no-store' },
  });

/** Reads the file at a path for the user who sends the request. Null if there is none, or if the user cannot read it. */
async function readableFile(
  app: App,
  incoming: IncomingMessage,
  answer: ServerResponse,
  path: string,
): Promise<Attachment | null> {
  try {
    const signingIn = signInBy(app, incoming, { allowBearer: true, answer });
    const request = await signingIn.catch((error: unknown) => countRefusal(app, incoming, error));
    if (request.viewer === null) return null;
    const ctx = signedIn(request);
    requireScopes(ctx.viewer, 'read');
    // The unread bytes of a download count as outbound backlog of the account, like those of other responses.
    app.outboundBacklog.hold(chargedAccountOf(ctx.viewer), answer);
    return await accessFile(ctx, path);
  } catch (error) {
    if (error instanceof InsufficientScopeError) throw error;
    if (error instanceof NonexistentSubdomainError || error instanceof BadRequestError) return null;
    throw error;
  }
}

async function temporaryFile(
  app: App,
  host: string | undefined,
  path: string,
  shown: { readonly until: string; readonly signature: string },
): Promise<Attachment | null> {
  try {
    const organization = await findOrganization(app, host);
    const isActive = organization?.deactivatedAt === null;
    const file = organization !== null && isActive ? await fileAt(app.db, organization.id, path) : null;
    return file !== null && isTemporary(app, file, shown) ? file : null;
  } catch (error) {
    if (error instanceof NonexistentSubdomainError) return null;
    throw error;
  }
}

/** Returns the Content-Disposition of a file, with its name as ASCII and as UTF-8. */
function disposition({ name, mediaType }: Attachment, isDownload: boolean): string {
  const kind = isShown(mediaType) && !isDownload ? 'inline' : 'attachment';
  const ascii = name
    .normalize('NFKD')
    .replace(/[^\x20-\x7e]/g, '')
    .replace(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${kind}; filename="${ascii.trim() === '' ? 'file' : ascii}"; filename*=UTF-8''${encoded}`;
}

interface Sent {
  readonly variant: string;
  readonly size: number;
  readonly headers: Readonly<Record<string, string>> & { readonly ETag: string };
}

/** Returns the response with the whole content or the requested range. */
async function send(
  app: App,
  { method, headers: asked }: IncomingMessage,
  file: Attachment,
  sent: Sent,
): Promise<Response> {
  const { size, headers } = sent;
  if (hasTag(asked['if-none-match'], headers.ETag)) {
    const { 'Content-Type': _, 'Content-Disposition': __, ...others } = headers;
    return new Response(null, { status: 304, headers: others });
  }
  const isCurrent = asked['if-range'] === undefined || asked['if-range'] === headers.ETag;
  const range = isCurrent ? rangeIn(asked.range, size) : undefined;
  if (range === null) {
    return new Response(null, { status: 416, headers: { ...SAFE, 'Content-Range': `bytes */${size}` } });
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  const all = {
    ...headers,
    'Accept-Ranges': 'bytes',
    'Content-Length': String(end - start + 1),
    ...(range !== undefined && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
  };
  const status = range === undefined ? 200 : 206;
  const key = { organizationId: file.organizationId, attachmentId: file.id, variant: sent.variant };
  if (method === 'HEAD' || size === 0) return new Response(null, { status, headers: all });
  try {
    return new Response(await openContent(app, key, { start, end }), { status, headers: all });
  } catch (error) {
    if (!(error instanceof NoContentError)) throw error;
    // The file was deleted meanwhile, or its object was deleted in the bucket.
    app.log.warn({ attachment: file.id, variant: sent.variant }, 'content of a file is missing');
    return noFile();
  }
}

/**
 * Returns the range that a Range header asks for. Undefined for the whole file: without a header, for several ranges, and for
 * other units. Null if the range begins behind the end of the file.
 */
export function rangeIn(header: string | undefined, size: number): { start: number; end: number } | undefined | null {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? null : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? null : { start, end };
}

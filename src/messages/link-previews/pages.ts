import { createHash } from 'node:crypto';
import type { App } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { getFrom } from '../../platform/outgoing.ts';
import type { OutgoingLimiter } from '../../platform/outgoing-limiter.ts';
import { isPage, type PageData, readPage } from './page.ts';

/** Maximum number of bytes that are read of a page. Its title and its description are at the beginning. */
const MAX_BYTES = 512 * 1024;
/** Maximum time for reading a page, in milliseconds. It includes redirects. */
const FETCH_MS = 10_000;
/** Time for which a page is stored, in milliseconds: a day. */
const KEPT_MS = 86_400_000;
/** Time for which it is stored that a page has no preview, in milliseconds: an hour. */
const FAILURE_KEPT_MS = 3_600_000;

type PagesApp = Pick<App, 'config' | 'db' | 'log' | 'now'>;

/** The limiter of requests, and the signal that aborts them when the service stops. */
interface Requesting {
  readonly limiter: OutgoingLimiter;
  readonly signal: AbortSignal;
}

const NOTHING: PageData = { title: null, description: null, imageUrl: null };
const hashOf = (url: string): Buffer => createHash('sha256').update(url).digest();

/**
 * Returns the data of pages by their URLs. Requests the pages for which no data is stored, and stores their data.
 *
 * @throws RequestTimeoutError if a page was not requested, because too many requests are waiting. The data of the other pages
 *   is stored.
 * @throws Error if `signal` aborts.
 */
export async function pagesAt(
  app: PagesApp,
  requesting: Requesting,
  organizationId: number,
  urls: readonly string[],
): Promise<Map<string, PageData>> {
  const known = await storedPages(app, organizationId, urls);
  const missing = urls.filter((url) => !known.has(url));
  const read = await Promise.allSettled(
    missing.map(async (url) => {
      const data = await requesting.limiter.run({ organizationId, url }, () => fetchPage(app, requesting, url));
      await storePage(app, organizationId, url, data);
      return [url, data] as const;
    }),
  );
  const failed = read.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return new Map([...known, ...read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))]);
}

async function storedPages(
  { db, now }: PagesApp,
  organizationId: number,
  urls: readonly string[],
): Promise<Map<string, PageData>> {
  const byHash = new Map(urls.map((url) => [hashOf(url).toString('hex'), url]));
  const rows = await readRows<PageData & { readonly hash: string }>(
    db,
    Prisma.sql`
    SELECT encode(p.url_hash, 'hex') AS hash, p.title, p.description, p.image_url AS "imageUrl"
    FROM unnest(${listOf('text', [...byHash.keys()])}) AS asked(hash)
    JOIN link_preview p ON p.realm_id = ${organizationId} AND p.url_hash = decode(asked.hash, 'hex')
    WHERE p.expires_at > ${now()}::timestamptz`,
  );
  return new Map(rows.map(({ hash, ...data }) => [byHash.get(hash) as string, data]));
}

async function storePage({ db, now }: PagesApp, organizationId: number, url: string, data: PageData): Promise<void> {
  const { title, description, imageUrl } = data;
  const expiresAt = new Date(now().getTime() + (title === null ? FAILURE_KEPT_MS : KEPT_MS));
  await db.$executeRaw`
    INSERT INTO link_preview (realm_id, url_hash, title, description, image_url, expires_at)
    SELECT r.id, ${hashOf(url)}, ${title}::text, ${description}::text, ${imageUrl}::text, ${expiresAt}::timestamptz
    FROM realm r WHERE r.id = ${organizationId}
    ON CONFLICT (realm_id, url_hash) DO UPDATE SET title = excluded.title, description = excluded.description,
      image_url = excluded.image_url, expires_at = excluded.expires_at`;
}

/** Requests a page. A page that cannot be read has no data. @throws Error if `signal` aborts. */
async function fetchPage(
  { config, log }: PagesApp,
  { signal }: Pick<Requesting, 'signal'>,
  url: string,
): Promise<PageData> {
  try {
    const fetched = await getFrom(config, url, {
      accept: 'text/html,application/xhtml+xml',
      maxBytes: MAX_BYTES,
      cutsBody: true,
      acceptsType: isPage,
      signal: AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]),
    });
    return readPage(fetched);
  } catch (err) {
    if (signal.aborted) throw err;
    log.debug({ err, url }, 'linked page could not be read');
    return NOTHING;
  }
}

import { LRUCache } from 'lru-cache';
import type { App } from '../../access/context.ts';
import { type SharedFile, sharedFile } from '../../api/shared-file.ts';
import { getFrom } from '../../platform/outgoing.ts';
import { OutgoingLimiter } from '../../platform/outgoing-limiter.ts';
import { detectMediaType } from '../attachments/media-type.ts';

/** Maximum size of an image in bytes. */
const MAX_BYTES = 10 * 1024 * 1024;
/** Maximum time for reading an image, in milliseconds. It includes redirects. */
const FETCH_MS = 10_000;
/**
 * Maximum size of the cached images of this process, in bytes. The cache is in memory, and each node has its own: an image can be
 * read again at any time, so it is not worth space in the database and its backups.
 */
const CACHE_BYTES = 32 * 1024 * 1024;
/** Maximum number of cached results, including failures. */
const CACHE_ENTRIES = 5_000;
/** Time for which an image is cached, in milliseconds. Websites can replace images. */
const KEPT_MS = 3_600_000;
/** Time for which a failure is cached, in milliseconds. */
const FAILURE_KEPT_MS = 60_000;
/** Maximum number of images that this process reads at the same time. Their bodies are in memory. */
const MAX_RUNNING = 12;

/** The formats that are served. Browsers run no scripts in any of them, which excludes SVG. */
const SHOWN: ReadonlySet<string> = new Set([
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
]);

/** An image of another website. */
export interface ExternalImage {
  readonly mediaType: string;
  readonly file: SharedFile;
}

/**
 * Reads images of other websites, and caches them. The images are not decoded, so an image with an extreme number of pixels costs
 * this process no more than its file.
 */
export class ExternalImages {
  readonly #app: Pick<App, 'config' | 'log'>;
  readonly #cache = new LRUCache<string, { readonly image: ExternalImage | null }>({
    max: CACHE_ENTRIES,
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ image }) => 500 + (image?.file.bytes.length ?? 0),
  });
  /** Results that are not known yet. Concurrent requests for an image share one. */
  readonly #pending = new Map<string, Promise<ExternalImage | null>>();
  readonly #limiter = new OutgoingLimiter(MAX_RUNNING);

  constructor(app: Pick<App, 'config' | 'log'>) {
    this.#app = app;
  }

  /**
   * Returns the image at a URL. Null if it cannot be read, is too large, or is not an image.
   *
   * @throws RequestTimeoutError if too many images of the organization or of the host are being read.
   */
  read(organizationId: number, url: string): Promise<ExternalImage | null> {
    // By organization, so that the time of a response does not reveal what another organization reads.
    const key = `${organizationId} ${url}`;
    const known = this.#cache.get(key);
    if (known !== undefined) return Promise.resolve(known.image);
    const pending = this.#pending.get(key) ?? this.#readInTurn(organizationId, url, key);
    this.#pending.set(key, pending);
    return pending;
  }

  async #readInTurn(organizationId: number, url: string, key: string): Promise<ExternalImage | null> {
    try {
      const image = await this.#limiter.run({ organizationId, url }, () => this.#fetch(url));
      this.#cache.set(key, { image }, { ttl: image === null ? FAILURE_KEPT_MS : KEPT_MS });
      return image;
    } finally {
      this.#pending.delete(key);
    }
  }

  async #fetch(url: string): Promise<ExternalImage | null> {
    try {
      const { body } = await getFrom(this.#app.config, url, {
        accept: 'image/avif,image/webp,image/png,image/jpeg,image/gif,image/bmp',
        maxBytes: MAX_BYTES,
        signal: AbortSignal.timeout(FETCH_MS),
      });
      // The declared type is not used: a page that claims to be an image must not be served as one.
      const mediaType = detectMediaType(body);
      return SHOWN.has(mediaType) ? { mediaType, file: sharedFile(new Uint8Array(body)) } : null;
    } catch (err) {
      this.#app.log.debug({ err, url }, 'external image could not be read');
      return null;
    }
  }
}

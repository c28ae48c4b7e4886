import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { tracedFetch } from '../../platform/tracing.ts';

/** An image of the avatar provider. */
interface HostedImage {
  readonly mediaType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const PATIENCE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
/** Maximum number of concurrent fetches. While that many are running, other images count as missing. */
const AT_ONCE = 8;
const KEPT_BYTES = 16 * 1024 * 1024;
const KEPT_MS = 3_600_000;
const FAILED_MS = 60_000;
/** Weight in bytes of a cache entry, in addition to the bytes of its image. An entry for a failed fetch has no image. */
const FAILED_BYTES = 1_000;

const TYPES = /^image\/(png|jpeg|gif|webp)(?=;|$)/;

const kept = new LRUCache<string, { readonly image: HostedImage | undefined }>({
  maxSize: KEPT_BYTES,
  sizeCalculation: ({ image }) => FAILED_BYTES + (image?.bytes.length ?? 0),
});
const underWay = new Map<string, Promise<HostedImage | undefined>>();

/**
 * Fetches a user's image from the avatar provider. The server fetches the image, so that clients never receive the hash of an
 * email address. An image is cached for an hour, a failure for a minute.
 *
 * @param provider URL as configured. The SHA-256 of the email address is appended to its path.
 * @param pixels Requested size, sent as the query parameter `s` (as in Gravatar's interface).
 * @returns Undefined if the provider has no image, sends anything but an image of at most 1 MiB, or takes over 5 s. Also
 *   undefined if 8 other images are being fetched.
 */
export async function hostedImage(provider: string, email: string, pixels: number): Promise<HostedImage | undefined> {
  const url = new URL(provider);
  url.pathname += createHash('sha256').update(email.trim().toLowerCase()).digest('hex');
  url.searchParams.set('s', String(pixels));
  const { href } = url;
  const known = kept.get(href);
  if (known !== undefined) return known.image;
  const fetching = underWay.get(href);
  if (fetching !== undefined) return fetching;
  if (underWay.size >= AT_ONCE) return undefined;
  // If the provider cannot be reached, the image counts as missing.
  const made = fetched(href).catch(() => undefined);
  underWay.set(href, made);
  const image = await made;
  underWay.delete(href);
  kept.set(href, { image }, { ttl: image === undefined ? FAILED_MS : KEPT_MS });
  return image;
}

async function fetched(url: string): Promise<HostedImage | undefined> {
  // Redirects are refused, because a redirect could lead into the internal network of the service.
  const response = await tracedFetch(url, { redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS) });
  const mediaType = TYPES.exec(response.headers.get('content-type') ?? '')?.[0];
  if (!response.ok || mediaType === undefined || response.body === null) {
    await response.body?.cancel();
    return undefined;
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body) {
    size += piece.length;
    if (size > MAX_BYTES) return undefined;
    pieces.push(piece);
  }
  return { mediaType, bytes: new Uint8Array(Buffer.concat(pieces)) };
}
